-- An application's own sign-in, more settings per application, and secrets that overlap while they are rotated.

-- How the sign-in tokens of an application are checked: by one public key, or by the key set at an address.
CREATE TABLE identity (
  app_id     text PRIMARY KEY REFERENCES application (id) ON DELETE CASCADE,
  issuer     text NOT NULL,
  audience   text NOT NULL,
  user_claim text NOT NULL,
  -- PEM. Null: the keys are those at jwks_url.
  public_key text,
  jwks_url   text,
  -- The keys that were last read from jwks_url. Stored, because they must work while the issuer is down, also after a restart.
  key_set    jsonb,
  -- When a process last began to read jwks_url, and when a read last ended. The first bounds the reads of all processes together.
  asked_at   timestamptz,
  read_at    timestamptz,
  updated_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((public_key IS NULL) <> (jwks_url IS NULL))
);

-- Users of an application's own sign-in have no password.
ALTER TABLE app_user ALTER COLUMN password_hash DROP NOT NULL;

-- Null: the default.
ALTER TABLE application_setting
  ADD COLUMN default_strategy text,
  ADD COLUMN default_ttl integer,
  ADD COLUMN per_device_per_day smallint;

-- The secret before the last rotation, good until then.
ALTER TABLE application
  ADD COLUMN old_secret_hash bytea,
  ADD COLUMN old_secret_until timestamptz;
