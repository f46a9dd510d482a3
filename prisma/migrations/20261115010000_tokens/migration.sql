-- Push tokens and callback keys can no longer be read from the database, and push tokens can be replaced.

-- Until when processes of the release before may run. They read tokens in clear text, so both forms are written until then.
CREATE TABLE upgrade_window (
  name  text PRIMARY KEY,
  until timestamptz NOT NULL
);
INSERT INTO upgrade_window (name, until)
SELECT 'clear-tokens', now() + interval '1 hour'
WHERE EXISTS (SELECT 1 FROM device) OR EXISTS (SELECT 1 FROM certificate);

-- The key by which a push token is found: its first 6 characters (the second in which it was made, so that new tokens are next to
-- each other in the index) and half of its SHA-256. Without convert_to(), which is not immutable. The program computes the same.
CREATE FUNCTION push_token_hash(token text) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT replace(left(token, 6), '\', '\\')::bytea || substring(sha256(replace(token, '\', '\\')::bytea) FROM 1 FOR 16)
$$;

ALTER TABLE device
  -- Clear text of a process of the release before; the planner replaces it by the columns below.
  ALTER COLUMN push_token DROP NOT NULL,
  ADD COLUMN push_token_hash bytea,
  -- A token of the release before, which is random: sealed with the instance key, so that it can be shown again.
  ADD COLUMN legacy_push_token bytea,
  -- Part of what newer tokens are derived from. Raised when the token is replaced; gateways compare it.
  ADD COLUMN token_generation integer NOT NULL DEFAULT 0;
-- Finds rows in both forms, so no look-up waits for the planner. Unique because push_token is.
CREATE UNIQUE INDEX device_token_hash ON device (COALESCE(push_token_hash, push_token_hash(push_token)));

ALTER TABLE certificate
  ALTER COLUMN callback_key DROP NOT NULL,
  ADD COLUMN callback_key_hash bytea,
  -- Sealed with the master key.
  ADD COLUMN callback_key_sealed bytea;

-- A row exists once an admin has changed a setting.
CREATE TABLE application_setting (
  app_id           text PRIMARY KEY REFERENCES application (id) ON DELETE CASCADE,
  -- Whether devices may register without a user, and how many per day (UTC).
  register         boolean NOT NULL DEFAULT false,
  register_per_day integer NOT NULL DEFAULT 10000,
  registered_on    date,
  registered       integer NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
