-- Messages that vendors took per device, channel and day, for vendors that drop marketing messages above a daily number. One row has
-- the counts of 256 devices, one byte each: a batch of a broadcast writes four rows instead of a thousand.
CREATE TABLE daily_count (
  day     date NOT NULL,
  channel text NOT NULL,
  -- Device id / 256.
  block   bigint NOT NULL,
  counts  bytea NOT NULL,
  PRIMARY KEY (day, channel, block)
) WITH (fillfactor = 50);

-- The day for which the pending recipients of the batch are counted; a repeated attempt does not count them again.
ALTER TABLE batch ADD COLUMN counted_on date;

-- Adds `amount` to the counts of devices, which must be in ascending order. A device with `max` messages or more is left as it is; its
-- position in `devices`, from 1, is returned. Blocks are locked in ascending order, so that two calls cannot deadlock.
CREATE FUNCTION count_daily(of_day date, of_channel text, devices bigint[], amount integer, max integer) RETURNS integer[]
LANGUAGE plpgsql AS $$
DECLARE
  refused integer[] := '{}';
  current bigint;
  bytes   bytea;
  count   integer;
BEGIN
  FOR i IN 1 .. coalesce(array_length(devices, 1), 0) LOOP
    IF current IS DISTINCT FROM devices[i] >> 8 THEN
      IF current IS NOT NULL THEN
        UPDATE daily_count SET counts = bytes WHERE day = of_day AND channel = of_channel AND block = current;
      END IF;
      current := devices[i] >> 8;
      INSERT INTO daily_count (day, channel, block, counts)
        VALUES (of_day, of_channel, current, decode(repeat('00', 256), 'hex')) ON CONFLICT DO NOTHING;
      SELECT d.counts INTO bytes FROM daily_count d WHERE d.day = of_day AND d.channel = of_channel AND d.block = current FOR UPDATE;
    END IF;
    count := get_byte(bytes, (devices[i] & 255)::integer);
    IF amount > 0 AND count >= max THEN
      refused := refused || i;
    ELSE
      bytes := set_byte(bytes, (devices[i] & 255)::integer, least(255, greatest(0, count + amount)));
    END IF;
  END LOOP;
  IF current IS NOT NULL THEN
    UPDATE daily_count SET counts = bytes WHERE day = of_day AND channel = of_channel AND block = current;
  END IF;
  RETURN refused;
END
$$;
