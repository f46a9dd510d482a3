-- The applications of due tasks in the order of their begin times, one entry for each application and time, however many tasks begin
-- then. Built by the planner for the days that exist (late_index).
INSERT INTO late_index (name, of_table, definition) VALUES
  ('task_due_turn', 'task', $$(lane, begin_at, app_id) WHERE state = 'accepted'$$);
DO $$
DECLARE
  wanted   record;
  has_rows boolean;
BEGIN
  FOR wanted IN SELECT * FROM late_index WHERE name = 'task_due_turn' LOOP
    has_rows := false;
    IF (SELECT relkind FROM pg_class WHERE oid = wanted.of_table::regclass) <> 'p' THEN
      EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I)', wanted.of_table) INTO has_rows;
    END IF;
    IF NOT has_rows THEN
      EXECUTE format('CREATE INDEX %I ON ONLY %I %s', wanted.name, wanted.of_table, wanted.definition);
    END IF;
  END LOOP;
END
$$;
DELETE FROM late_index l USING pg_index i WHERE i.indexrelid = to_regclass(l.name) AND i.indisvalid;
