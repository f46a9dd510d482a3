-- Pushes to one device that one commit accepts, of one channel and lane, as one row instead of a batch and a counter each. `task_id` is
-- the id drawn for the first of them, so the row is in the partition of their day. The arrays are parallel; `status` has one letter per
-- task: . pending, s sent, m has left the bundle and has a batch of its own.
CREATE TABLE bundle (
  task_id      bigint NOT NULL,
  channel      text NOT NULL,
  lane         text NOT NULL,
  -- released, sending, settled
  state        text NOT NULL,
  size         integer NOT NULL,
  tasks        bigint[] NOT NULL,
  recipients   bigint[] NOT NULL,
  certificates bigint[] NOT NULL,
  status       text NOT NULL,
  -- NULL for a task without a badge.
  badges       integer[],
  -- The earliest deadline of the tasks.
  deadline     timestamptz NOT NULL,
  planned_at   timestamptz NOT NULL DEFAULT now(),
  released_at  timestamptz NOT NULL DEFAULT now(),
  lease_until  timestamptz,
  -- Names one claim. Only that claim can settle.
  worker       text,
  -- The last settle.
  settled_at   timestamptz,
  PRIMARY KEY (task_id)
) PARTITION BY RANGE (task_id);
CREATE INDEX bundle_open ON bundle (task_id) WHERE state <> 'settled';
CREATE INDEX bundle_released ON bundle (released_at) WHERE state = 'released';
CREATE INDEX bundle_lease ON bundle (lease_until) WHERE state = 'sending';

-- Set together with the state 'bundled': the state and the counters of the task are then those of its letter in this bundle.
ALTER TABLE task ADD COLUMN bundle bigint;
-- The list of states is not replaced by a longer one: a rule must be proved by reading all tasks.
ALTER TABLE task DROP CONSTRAINT task_state_check;

-- Programs of the release before know neither the state nor the jobs, so no bundle is written until this time is over.
INSERT INTO upgrade_window (name, until)
SELECT 'no-bundles', now() + interval '1 hour' WHERE EXISTS (SELECT 1 FROM application) OR EXISTS (SELECT 1 FROM task);
