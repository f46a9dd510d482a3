-- Badges of 256 devices in one row: a broadcast changes 4 rows per 1,000 devices instead of 1,000.

-- Of the devices from block * 256 to block * 256 + 255; that of device d is counts[(d & 255) + 1]. A device without a row has the badge in the
-- table `badge`, or 0. Half of each page is free, so that new versions of a row stay on its page and the index is not touched.
CREATE TABLE badge_block (
  block  bigint PRIMARY KEY,
  counts integer[] NOT NULL CHECK (cardinality(counts) = 256)
) WITH (fillfactor = 50);

-- Programs of the release before use the table `badge`. It is used until they have ended; then each block takes its rows over when it is
-- first changed. At once if there is nothing to keep.
INSERT INTO upgrade_window (name, until)
SELECT 'badge-rows', now() + interval '1 hour' WHERE EXISTS (SELECT 1 FROM application);

-- Sets the badges of devices, or adds to them, and returns the new numbers in the order of `devices`, which must be ascending and unique.
-- Blocks are locked in ascending order, so that overlapping broadcasts wait for each other instead of deadlocking. Without sequential
-- scans: the plans are kept, and one made for a small table would read it whole when it has grown.
CREATE FUNCTION show_badges(devices bigint[], numbers integer[], is_added boolean) RETURNS integer[]
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  -- The largest badge: it must fit into a client's 32-bit integer, also the sum of two.
  most    CONSTANT integer := 999999999;
  shown   integer[] := '{}';
  part    integer[];
  present integer[];
  line    record;
  slot    integer;
BEGIN
  IF EXISTS (SELECT 1 FROM upgrade_window w WHERE w.name = 'badge-rows' AND w.until > now()) THEN
    WITH changed AS (
      INSERT INTO badge AS b (device_id, value) SELECT u.device, LEAST(u.number, most) FROM unnest(devices, numbers) AS u (device, number)
      ON CONFLICT (device_id) DO UPDATE SET value = CASE WHEN is_added THEN LEAST(b.value + excluded.value, most) ELSE excluded.value END
      RETURNING b.device_id, b.value
    )
    SELECT array_agg(changed.value ORDER BY changed.device_id) INTO shown FROM changed;
    RETURN shown;
  END IF;
  FOR line IN
    SELECT u.device >> 8 AS block, min(u.nth)::integer AS first, max(u.nth)::integer AS last,
      (min(u.device) & 255)::integer + 1 AS low, (max(u.device) & 255)::integer + 1 AS high
    FROM unnest(devices) WITH ORDINALITY AS u (device, nth) GROUP BY 1 ORDER BY 1
  LOOP
    IF line.high - line.low = line.last - line.first THEN
      -- Devices without a gap, or one alone.
      LOOP
        UPDATE badge_block b SET counts[line.low:line.high] = ARRAY(
          SELECT LEAST(CASE WHEN is_added THEN u.count ELSE 0 END + LEAST(u.number, most), most)
          FROM unnest(b.counts[line.low:line.high], numbers[line.first:line.last]) AS u (count, number))
        WHERE b.block = line.block RETURNING b.counts[line.low:line.high] INTO part;
        EXIT WHEN FOUND;
        PERFORM add_badge_block(line.block);
      END LOOP;
      shown := shown || part;
    ELSE
      LOOP
        SELECT b.counts INTO present FROM badge_block b WHERE b.block = line.block FOR NO KEY UPDATE;
        EXIT WHEN FOUND;
        PERFORM add_badge_block(line.block);
      END LOOP;
      FOR nth IN line.first .. line.last LOOP
        slot := (devices[nth] & 255) + 1;
        present[slot] := LEAST(CASE WHEN is_added THEN present[slot] ELSE 0 END + LEAST(numbers[nth], most), most);
        shown[nth] := present[slot];
      END LOOP;
      UPDATE badge_block SET counts = present WHERE block = line.block;
    END IF;
  END LOOP;
  RETURN shown;
END
$$;

-- Adds a block, which takes over the rows of its devices in `badge`.
CREATE FUNCTION add_badge_block(added bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  present integer[] := array_fill(0, ARRAY[256]);
  line    record;
BEGIN
  INSERT INTO badge_block (block, counts) VALUES (added, present) ON CONFLICT (block) DO NOTHING;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  FOR line IN DELETE FROM badge b WHERE b.device_id >= added << 8 AND b.device_id < (added + 1) << 8 RETURNING b.device_id, b.value LOOP
    present[(line.device_id & 255) + 1] := line.value;
  END LOOP;
  UPDATE badge_block SET counts = present WHERE block = added AND counts <> present;
END
$$;

-- Sets badges to 0. Blocks in which all of them are 0 are not written: importing new devices costs no version of a row.
CREATE FUNCTION clear_badges(devices bigint[]) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  line    record;
  present integer[];
  slot    integer;
BEGIN
  -- First, so that a block that takes these rows over at the same time is seen below.
  DELETE FROM badge WHERE device_id = ANY(devices);
  FOR line IN SELECT d >> 8 AS block, array_agg((d & 255)::integer + 1) AS slots FROM unnest(devices) d GROUP BY 1 ORDER BY 1
  LOOP
    SELECT b.counts INTO present FROM badge_block b
    WHERE b.block = line.block AND EXISTS (SELECT 1 FROM unnest(line.slots) s WHERE b.counts[s] <> 0) FOR NO KEY UPDATE;
    CONTINUE WHEN NOT FOUND;
    FOREACH slot IN ARRAY line.slots LOOP
      present[slot] := 0;
    END LOOP;
    UPDATE badge_block SET counts = present WHERE block = line.block;
  END LOOP;
END
$$;

CREATE FUNCTION badge_of(device bigint) RETURNS integer LANGUAGE sql STABLE AS $$
  SELECT coalesce((SELECT b.counts[(device & 255)::integer + 1] FROM badge_block b WHERE b.block = device >> 8),
    (SELECT b.value FROM badge b WHERE b.device_id = device), 0)
$$;
