-- Until then another planner leaves the slice alone. Not a lock: the cursor alone decides which page is committed.
ALTER TABLE slice ADD COLUMN planning_until timestamptz;

-- Applications whose due tasks are being begun, by lane. Unlogged: a lease that a crash of Postgres forgets costs nothing.
CREATE UNLOGGED TABLE begin_lease (
  app_id text NOT NULL,
  lane   text NOT NULL,
  until  timestamptz NOT NULL,
  PRIMARY KEY (app_id, lane)
) WITH (fillfactor = 50);
