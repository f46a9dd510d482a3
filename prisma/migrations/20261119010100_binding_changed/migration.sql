-- Whether the row of a device has to be read before a message is sent to its binding. The device may have got another owner or been disabled at
-- this time, or before; for messages planned later the binding alone is enough. Existing bindings get the time of this migration, so that
-- devices of messages planned before it are read.
ALTER TABLE binding ADD COLUMN device_changed_at timestamptz NOT NULL DEFAULT now();

CREATE FUNCTION note_device_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE binding SET device_changed_at = clock_timestamp() WHERE device_id = NEW.id;
  RETURN NULL;
END
$$;
-- A trigger, because programs of the release before do not know the column.
CREATE TRIGGER device_changed AFTER UPDATE OF moved_at, enabled ON device FOR EACH ROW
WHEN (OLD.moved_at IS DISTINCT FROM NEW.moved_at OR OLD.enabled AND NOT NEW.enabled)
EXECUTE FUNCTION note_device_change();
