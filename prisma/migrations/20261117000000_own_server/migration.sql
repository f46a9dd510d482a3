-- What an application's own server knows about its devices. Constant defaults: no row is rewritten.
ALTER TABLE device
  ADD COLUMN locale      text,
  ADD COLUMN timezone    text,
  ADD COLUMN app_version text,
  ADD COLUMN attributes  jsonb,
  -- False: the device receives nothing.
  ADD COLUMN enabled     boolean NOT NULL DEFAULT true,
  -- When the device was last heard of, exact to an hour: it is written only when it is older than that.
  ADD COLUMN last_seen   timestamptz;
