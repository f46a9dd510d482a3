-- Notes the results of tasks in bundles, like those of counters: a scheduled task may begin long after its id was drawn, and then its
-- bundle is written when tasks of that time are summed already. A bundle has the id of its first task. Only bundles that wait for
-- the feeder can be of older tasks.
CREATE FUNCTION note_bundle() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  upto bigint;
BEGIN
  SELECT noted INTO upto FROM stat_head;
  IF NEW.task_id < upto THEN
    INSERT INTO stat_change (task_id, channel, target, sent)
    SELECT m.id, NEW.channel, (l.after <> 'm')::int - (l.before <> 'm')::int, (l.after = 's')::int - (l.before = 's')::int
    FROM unnest(NEW.tasks) WITH ORDINALITY AS m (id, n) CROSS JOIN LATERAL (
      SELECT substr(NEW.status, m.n::int, 1) AS after, coalesce(substr(OLD.status, m.n::int, 1), 'm') AS before) l
    WHERE m.id < upto AND l.after <> l.before;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER bundle_added AFTER INSERT ON bundle
  FOR EACH ROW WHEN (NEW.lease_until IS NOT NULL) EXECUTE FUNCTION note_bundle();
CREATE TRIGGER bundle_changed AFTER UPDATE OF status ON bundle
  FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION note_bundle();
