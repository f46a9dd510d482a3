-- What waits for a time is found by that time, so that it costs nothing until then. Built by the planner for the days that exist (late_index).
INSERT INTO late_index (name, of_table, definition) VALUES
  -- Without batches that wait for their certificate: these have no time (batch_asleep).
  ('batch_due', 'batch',
    $$(not_before) WHERE state = 'ready' AND certificate_id IS NOT NULL AND node IS NULL AND not_before < 'infinity'$$),
  ('batch_paced_due', 'batch', $$(not_before) WHERE state = 'paced'$$),
  -- The certificates with such batches.
  ('batch_asleep', 'batch', $$(certificate_id, task_id) WHERE state = 'ready' AND node IS NULL AND not_before = 'infinity'$$);
DO $$
DECLARE
  wanted record;
BEGIN
  FOR wanted IN SELECT * FROM late_index WHERE name IN ('batch_due', 'batch_paced_due', 'batch_asleep') LOOP
    EXECUTE format('CREATE INDEX %I ON ONLY %I %s', wanted.name, wanted.of_table, wanted.definition);
  END LOOP;
END
$$;
DELETE FROM late_index l USING pg_index i WHERE i.indexrelid = to_regclass(l.name) AND i.indisvalid;

-- As many rows as certificates at most.
CREATE INDEX breaker_retry ON breaker (retry_at);
