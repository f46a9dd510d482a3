-- Sums of the counters by the quarter of an hour in which tasks began, so that statistics need not read every task. They are kept longer
-- than tasks.
CREATE TABLE stat_sum (
  app_id      text NOT NULL,
  -- Begin of the quarter of an hour.
  at          timestamptz NOT NULL,
  -- Empty: devices that no channel could reach.
  channel     text NOT NULL,
  -- Empty and 0: none.
  campaign    text NOT NULL,
  group_id    bigint NOT NULL,
  target      bigint NOT NULL,
  sent        bigint NOT NULL,
  failed      bigint NOT NULL,
  moved       bigint NOT NULL,
  received    bigint NOT NULL,
  clicked     bigint NOT NULL,
  unreachable bigint NOT NULL,
  PRIMARY KEY (app_id, at, channel, campaign, group_id)
);
CREATE INDEX stat_sum_age ON stat_sum (at);

-- Changes of counters of tasks with ids below stat_head.noted, which are not in the sums yet.
CREATE TABLE stat_change (
  task_id     bigint NOT NULL,
  channel     text NOT NULL,
  target      bigint NOT NULL DEFAULT 0,
  sent        bigint NOT NULL DEFAULT 0,
  failed      bigint NOT NULL DEFAULT 0,
  moved       bigint NOT NULL DEFAULT 0,
  received    bigint NOT NULL DEFAULT 0,
  clicked     bigint NOT NULL DEFAULT 0,
  unreachable bigint NOT NULL DEFAULT 0
);
CREATE INDEX stat_change_task ON stat_change (task_id);

CREATE TABLE stat_head (
  one    boolean PRIMARY KEY DEFAULT true CHECK (one),
  -- Tasks below this id: changes of their counters are noted.
  noted  bigint NOT NULL,
  -- The transaction that set `noted`: those before it may have changed counters without a note.
  xid    xid8 NOT NULL DEFAULT pg_current_xact_id(),
  -- Tasks below this id are in the sums.
  summed bigint NOT NULL
);
INSERT INTO stat_head (noted, summed) VALUES (0, 0);

-- Triggers, because many statements change counters, also those of the release before. They run once per statement; for tasks that are not
-- summed yet they only compare ids.
CREATE FUNCTION note_counters() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  upto bigint;
BEGIN
  -- The usual case, in one statement: nothing is older than the head.
  IF NOT EXISTS (SELECT 1 FROM rows_after WHERE task_id < (SELECT noted FROM stat_head)) THEN
    RETURN NULL;
  END IF;
  SELECT noted INTO upto FROM stat_head;
  IF TG_OP = 'INSERT' THEN
    INSERT INTO stat_change (task_id, channel, target, sent, failed, moved, received, clicked)
    SELECT task_id, channel, target, sent, failed, moved, received, clicked FROM rows_after WHERE task_id < upto;
  ELSE
    INSERT INTO stat_change (task_id, channel, target, sent, failed, moved, received, clicked)
    SELECT task_id, channel, a.target - b.target, a.sent - b.sent, a.failed - b.failed, a.moved - b.moved, a.received - b.received,
      a.clicked - b.clicked
    FROM rows_after a JOIN rows_before b USING (task_id, channel) WHERE task_id < upto;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER counter_added AFTER INSERT ON counter REFERENCING NEW TABLE AS rows_after
  FOR EACH STATEMENT EXECUTE FUNCTION note_counters();
CREATE TRIGGER counter_changed AFTER UPDATE ON counter REFERENCING OLD TABLE AS rows_before NEW TABLE AS rows_after
  FOR EACH STATEMENT EXECUTE FUNCTION note_counters();

CREATE FUNCTION note_unreachable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.id < (SELECT noted FROM stat_head) THEN
    INSERT INTO stat_change (task_id, channel, unreachable) VALUES (NEW.id, '', NEW.unreachable - OLD.unreachable);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER task_unreachable AFTER UPDATE OF unreachable ON task
  FOR EACH ROW WHEN (OLD.unreachable IS DISTINCT FROM NEW.unreachable) EXECUTE FUNCTION note_unreachable();
