-- The app of the device is in the background: its connection is open, but a push goes to its vendor at once. Constant defaults: no row is
-- rewritten.
ALTER TABLE presence ADD COLUMN away boolean NOT NULL DEFAULT false;
-- The message went to the vendor of a device whose app was in the background, and waits here too. Such a row is no target of the native
-- channel: its sent_at is set from the start, so nothing waits for it and nothing counts it.
ALTER TABLE inbox ADD COLUMN is_copy boolean NOT NULL DEFAULT false;
