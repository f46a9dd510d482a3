-- What a gateway has to look at: a device of its connections, or the inboxes for a task; neither: everything. A gateway deletes the
-- rows that it reads, once per second, instead of asking for each of its connections. Unlogged, as presence is: a crash of Postgres
-- empties it, which a gateway notices by its missing mark.
CREATE UNLOGGED TABLE gateway_news (
  node      text NOT NULL,
  device_id bigint,
  task_id   bigint
);
CREATE INDEX gateway_news_node ON gateway_news (node);

CREATE UNLOGGED TABLE gateway_mark (node text PRIMARY KEY);

-- A message was put into the inbox of a device that is connected. Messages that were written to the connection before are left out.
CREATE FUNCTION tell_inbox() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO gateway_news (node, device_id)
  SELECT p.node, a.device_id FROM added a JOIN presence p ON p.device_id = a.device_id WHERE a.sent_at IS NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER tell_gateways AFTER INSERT ON inbox REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tell_inbox();

-- A device connected to another gateway.
CREATE FUNCTION tell_former_gateway() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO gateway_news (node, device_id) SELECT id, OLD.device_id FROM gateway_node WHERE id = OLD.node;
  RETURN NULL;
END $$;
CREATE TRIGGER tell_gateways AFTER UPDATE ON presence FOR EACH ROW WHEN (OLD.node <> NEW.node) EXECUTE FUNCTION tell_former_gateway();

-- The push token of a device was replaced, or the device was removed. A gateway that was fenced has no row any more.
CREATE FUNCTION tell_removed_presence() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO gateway_news (node, device_id)
  SELECT r.node, r.device_id FROM removed r WHERE EXISTS (SELECT 1 FROM gateway_node g WHERE g.id = r.node);
  RETURN NULL;
END $$;
CREATE TRIGGER tell_removed AFTER DELETE ON presence REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION tell_removed_presence();

CREATE FUNCTION tell_all_gateways() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO gateway_news (node) SELECT id FROM gateway_node;
  RETURN NULL;
END $$;
CREATE TRIGGER tell_truncated AFTER TRUNCATE ON presence FOR EACH STATEMENT EXECUTE FUNCTION tell_all_gateways();

-- A task was paused or resumed: its messages in inboxes may be delivered now. One row per gateway, however many messages it has.
CREATE FUNCTION tell_resumed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO gateway_news (node, task_id) SELECT id, NEW.task_id FROM gateway_node;
  RETURN NULL;
END $$;
CREATE TRIGGER tell_gateways AFTER INSERT OR UPDATE OF changed_at ON pause_change FOR EACH ROW EXECUTE FUNCTION tell_resumed();

CREATE FUNCTION forget_gateway() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM gateway_news n USING removed r WHERE n.node = r.id;
  DELETE FROM gateway_mark m USING removed r WHERE m.node = r.id;
  RETURN NULL;
END $$;
CREATE TRIGGER forget_gateway AFTER DELETE ON gateway_node REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION forget_gateway();
