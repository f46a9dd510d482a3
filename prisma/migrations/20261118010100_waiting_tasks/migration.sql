-- herald: outside a transaction
-- The oldest scheduled task: statements that search for work open no older day.
DROP INDEX CONCURRENTLY IF EXISTS task_accepted_id;
CREATE INDEX CONCURRENTLY task_accepted_id ON task (id) WHERE state = 'accepted';
