-- Tasks, counters and failures by day, so that a day is deleted by dropping its tables; request ids in a table of their own.

-- Request ids are unique within a period, and a period is a partition. `from_at` to `to_at` is when ids are added to it; for ten minutes
-- after that they are added to it and to the next, so that two calls with the same id always meet in one.
CREATE TABLE request_period (
  period  integer PRIMARY KEY,
  from_at timestamptz NOT NULL,
  to_at   timestamptz NOT NULL
);
CREATE TABLE request (
  period     integer NOT NULL,
  app_id     text NOT NULL,
  request_id text NOT NULL,
  task_id    bigint NOT NULL,
  PRIMARY KEY (period, app_id, request_id)
) PARTITION BY LIST (period);
INSERT INTO request_period (period, from_at, to_at) VALUES (1, now() - interval '1 minute', now() + interval '8 days');
CREATE TABLE request_1 PARTITION OF request FOR VALUES IN (1);

-- The task that used a request id before `request` existed. Those tasks have a unique index: on `task` until it is partitioned, then on
-- task_before.
CREATE FUNCTION request_before(of_app text, of_request text) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
  found bigint;
BEGIN
  IF to_regclass('task_before') IS NOT NULL THEN
    EXECUTE 'SELECT id FROM task_before WHERE app_id = $1 AND request_id = $2' INTO found USING of_app, of_request;
  ELSIF to_regclass('task_request') IS NOT NULL THEN
    EXECUTE 'SELECT id FROM task WHERE app_id = $1 AND request_id = $2' INTO found USING of_app, of_request;
  END IF;
  RETURN found;
END
$$;

-- Programs of the release before need the unique index of `task`, which a table with partitions cannot have. So the tables are partitioned
-- by the program, when this time is over; at once if there is nothing to keep.
INSERT INTO upgrade_window (name, until)
SELECT 'tasks-in-one-table', now() + interval '1 hour' WHERE EXISTS (SELECT 1 FROM application) OR EXISTS (SELECT 1 FROM task);

-- Turns a table into one with partitions by task id. Its rows stay where they are: the table becomes the partition `<name>_before`, up to
-- the id `upto`, which the constraint `<name>_before_end` must have proved. An empty table is replaced.
CREATE FUNCTION partition_by_task(name text, key text, upto bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  before   text := name || '_before';
  is_empty boolean;
  triggers text[];
  indexes  text[];
  rights   text[];
  part     record;
  line     text;
BEGIN
  EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', name);
  IF (SELECT relkind FROM pg_class WHERE oid = name::regclass) = 'p' THEN
    RETURN;
  END IF;
  EXECUTE format('SELECT NOT EXISTS (SELECT 1 FROM %I)', name) INTO is_empty;
  SELECT coalesce(array_agg(pg_get_triggerdef(oid)), '{}') INTO triggers
    FROM pg_trigger WHERE tgrelid = name::regclass AND NOT tgisinternal;
  -- task_open is used by the release before only.
  SELECT coalesce(array_agg(pg_get_indexdef(i.indexrelid)), '{}') INTO indexes FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indrelid = name::regclass AND NOT i.indisunique AND i.indisvalid AND c.relname <> 'task_open';
  SELECT coalesce(array_agg(format('GRANT %s ON %I TO %s', a.privilege_type, name,
      CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END)), '{}') INTO rights
    FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = name::regclass;
  FOR part IN SELECT tgname FROM pg_trigger WHERE tgrelid = name::regclass AND NOT tgisinternal LOOP
    EXECUTE format('DROP TRIGGER %I ON %I', part.tgname, name);
  END LOOP;
  EXECUTE format('ALTER TABLE %I RENAME TO %I', name, before);
  FOR part IN SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = before::regclass LOOP
    EXECUTE format('ALTER INDEX %I RENAME TO %I', part.relname, before || substr(part.relname, length(name) + 1));
  END LOOP;
  EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE) PARTITION BY RANGE (%I)',
    name, before, key);
  EXECUTE format('ALTER TABLE %I DROP CONSTRAINT IF EXISTS %I', name, before || '_end');
  EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I %s', name, name || '_pkey',
    (SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = before::regclass AND contype = 'p'));
  FOREACH line IN ARRAY indexes LOOP
    EXECUTE line;
  END LOOP;
  IF is_empty THEN
    EXECUTE format('DROP TABLE %I', before);
  ELSE
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%s)', name, before, upto);
  END IF;
  FOREACH line IN ARRAY triggers || rights LOOP
    EXECUTE line;
  END LOOP;
  -- Programs that do not know this migration cannot accept tasks any more.
  UPDATE compatible_since SET migration = '20261118010000_partitions' WHERE migration < '20261118010000_partitions';
END
$$;
