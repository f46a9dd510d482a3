-- herald: outside a transaction
-- Finds the next application with tasks to begin or to plan, however many tasks each of them has.
DROP INDEX CONCURRENTLY IF EXISTS task_turn;
CREATE INDEX CONCURRENTLY task_turn ON task (state, lane, app_id, begin_at) WHERE state IN ('accepted', 'planning');
