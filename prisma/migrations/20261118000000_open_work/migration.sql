-- Work on tasks that wait costs nothing while they wait: what changed is enqueued, instead of searched for among all open tasks.

-- Tasks that may have ended: inserted by the commit that ended something of them (a batch, an inbox message, their planning), deleted by
-- the planner that looks. A task may be here several times.
CREATE TABLE task_check (
  id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  task_id bigint NOT NULL
);

-- Tasks that were paused or resumed in the last minutes: their batches are held or freed.
CREATE TABLE pause_change (
  task_id    bigint PRIMARY KEY,
  changed_at timestamptz NOT NULL DEFAULT now(),
  -- When a planner looks next.
  align_at   timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
CREATE INDEX pause_change_due ON pause_change (align_at);

-- A trigger, because programs of the release before pause tasks as well. It runs only for statements that set this column.
CREATE FUNCTION note_pause_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO pause_change (task_id) VALUES (NEW.id)
  ON CONFLICT (task_id) DO UPDATE SET changed_at = now(), align_at = now();
  RETURN NULL;
END
$$;
CREATE TRIGGER task_pause_change AFTER UPDATE OF paused ON task
  FOR EACH ROW WHEN (OLD.paused IS DISTINCT FROM NEW.paused) EXECUTE FUNCTION note_pause_change();

-- spread: the largest hi - lo of the batches of this task and channel, so that a receipt searches only the batches near its device.
-- ranged: the targets whose batches are within it. It differs from target if a program of the release before added some: then the
-- spread says nothing.
ALTER TABLE counter
  ADD COLUMN spread bigint NOT NULL DEFAULT 0,
  ADD COLUMN ranged bigint NOT NULL DEFAULT 0;

INSERT INTO task_check (task_id) SELECT id FROM task WHERE state IN ('planning', 'sending');
INSERT INTO pause_change (task_id)
  SELECT id FROM task WHERE paused AND state IN ('accepted', 'planning', 'sending')
  UNION SELECT task_id FROM batch WHERE state = 'held';
