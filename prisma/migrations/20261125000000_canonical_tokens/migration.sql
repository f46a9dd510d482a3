-- Tokens are stored in one form: those of APNs in lower case, those of Xiaomi without white space around them. Earlier releases stored them as
-- they were typed. A device that binds a token takes it from the one that has it, which is found by its text: with two forms both devices
-- would keep it, and the phone would get every message twice.

-- No other form of a token may be bound in between. Sends read on.
LOCK TABLE binding IN SHARE ROW EXCLUSIVE MODE;

CREATE FUNCTION canonical_token(channel text, token text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN channel = 'apns' AND token !~ '[^0-9a-fA-F]' THEN lower(token)
    WHEN channel = 'xiaomi' THEN btrim(token, E' \t\n\f\r\x0B')
    ELSE token
  END
$$;

-- Of several devices with forms of one token the last that bound it keeps it; from the others it has moved.
WITH odd AS MATERIALIZED (
  SELECT app_id, channel, canonical_token(channel, token) AS form, device_id, registered_at FROM binding
  WHERE canonical_token(channel, token) <> token
), same AS (
  SELECT * FROM odd
  UNION ALL
  SELECT b.app_id, b.channel, b.token, b.device_id, b.registered_at FROM (SELECT DISTINCT app_id, channel, form FROM odd) o
  JOIN binding b ON b.token = o.form AND b.channel = o.channel AND b.app_id = o.app_id
), numbered AS (
  SELECT *, row_number() OVER (PARTITION BY app_id, channel, form ORDER BY registered_at DESC, device_id DESC) AS nth FROM same
), gone AS (
  DELETE FROM binding b USING numbered n WHERE n.nth > 1 AND b.device_id = n.device_id AND b.channel = n.channel
  RETURNING b.app_id, b.channel, n.form AS token, b.device_id, b.environment, b.bundle_id, b.region, b.registered_at
)
INSERT INTO retired_token (app_id, channel, token, device_id, environment, bundle_id, region, registered_at, reason)
SELECT DISTINCT ON (app_id, channel, token) app_id, channel, token, device_id, environment, bundle_id, region, registered_at, 'moved'
FROM gone ORDER BY app_id, channel, token, registered_at DESC, device_id DESC
ON CONFLICT (app_id, channel, token) DO UPDATE SET device_id = excluded.device_id, environment = excluded.environment,
  bundle_id = excluded.bundle_id, region = excluded.region, registered_at = excluded.registered_at, retired_at = now(), reason = excluded.reason;

-- What is bound is not retired from the same device.
WITH kept AS (
  UPDATE binding SET token = canonical_token(channel, token) WHERE canonical_token(channel, token) <> token
  RETURNING app_id, channel, token, device_id
)
DELETE FROM retired_token r USING kept k
WHERE r.app_id = k.app_id AND r.channel = k.channel AND r.token = k.token AND r.device_id = k.device_id;

DROP FUNCTION canonical_token(text, text);
