-- herald: outside a transaction
-- open_id: the slow walk over all open tasks, in order of their ids. cancelling: without those that are only paused. late: open tasks
-- whose deadline has passed.
DROP INDEX CONCURRENTLY IF EXISTS task_open_id;
CREATE INDEX CONCURRENTLY task_open_id ON task (id) WHERE state IN ('planning', 'sending');
DROP INDEX CONCURRENTLY IF EXISTS task_cancelling;
CREATE INDEX CONCURRENTLY task_cancelling ON task (id) WHERE cancelling AND state IN ('accepted', 'planning', 'sending');
DROP INDEX CONCURRENTLY IF EXISTS task_late;
CREATE INDEX CONCURRENTLY task_late ON task (deadline) WHERE state IN ('planning', 'sending');
