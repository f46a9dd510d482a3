-- What processes keep in memory about applications, and must read again after a change. The triggers see every writer, also SQL
-- written by hand. A process asks once per second for rows of transactions that its last snapshot did not see as ended (xid), so
-- that a transaction that commits late is not missed. Rows are deleted after an hour.
CREATE TABLE change (
  id      bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  xid     xid8        NOT NULL DEFAULT pg_current_xact_id(),
  at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- 'application': its row, certificates, breakers and holds; 'users': token versions, deleted users and groups.
  subject text        NOT NULL,
  -- NULL: all applications.
  app_id  text
);
CREATE INDEX change_xid ON change (xid);
CREATE INDEX change_at ON change (at);

CREATE FUNCTION note_application() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO change (subject, app_id) VALUES ('application', CASE TG_OP WHEN 'DELETE' THEN OLD.id ELSE NEW.id END);
  RETURN NULL;
END $$;
CREATE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE ON application FOR EACH ROW EXECUTE FUNCTION note_application();

CREATE FUNCTION note_certificate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO change (subject, app_id) VALUES ('application', CASE TG_OP WHEN 'DELETE' THEN OLD.app_id ELSE NEW.app_id END);
  RETURN NULL;
END $$;
CREATE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE ON certificate FOR EACH ROW EXECUTE FUNCTION note_certificate();

-- If the certificate was deleted as well, its own trigger has noted it.
CREATE FUNCTION note_certificate_part() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO change (subject, app_id) SELECT 'application', app_id FROM certificate
    WHERE id = CASE TG_OP WHEN 'DELETE' THEN OLD.certificate_id ELSE NEW.certificate_id END;
  RETURN NULL;
END $$;
CREATE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE ON breaker FOR EACH ROW EXECUTE FUNCTION note_certificate_part();
CREATE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE ON certificate_hold FOR EACH ROW EXECUTE FUNCTION note_certificate_part();

-- New users and groups are not noted: that there is none is remembered for a second only.
CREATE FUNCTION note_token_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO change (subject, app_id) VALUES ('users', NEW.app_id);
  RETURN NULL;
END $$;
CREATE TRIGGER note_change AFTER UPDATE OF token_version ON app_user FOR EACH ROW
  WHEN (OLD.token_version IS DISTINCT FROM NEW.token_version) EXECUTE FUNCTION note_token_version();

-- Once per statement: deleting an application deletes all its users.
CREATE FUNCTION note_removed_users() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO change (subject, app_id) SELECT DISTINCT 'users', app_id FROM removed;
  RETURN NULL;
END $$;
CREATE TRIGGER note_removed AFTER DELETE ON app_user REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION note_removed_users();
CREATE TRIGGER note_removed AFTER DELETE ON user_group REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION note_removed_users();

CREATE FUNCTION note_truncated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO change (subject) VALUES ('application'), ('users');
  RETURN NULL;
END $$;
CREATE TRIGGER note_truncated AFTER TRUNCATE ON application FOR EACH STATEMENT EXECUTE FUNCTION note_truncated();
CREATE TRIGGER note_truncated AFTER TRUNCATE ON certificate FOR EACH STATEMENT EXECUTE FUNCTION note_truncated();
CREATE TRIGGER note_truncated AFTER TRUNCATE ON breaker FOR EACH STATEMENT EXECUTE FUNCTION note_truncated();
CREATE TRIGGER note_truncated AFTER TRUNCATE ON certificate_hold FOR EACH STATEMENT EXECUTE FUNCTION note_truncated();
CREATE TRIGGER note_truncated AFTER TRUNCATE ON app_user FOR EACH STATEMENT EXECUTE FUNCTION note_truncated();
CREATE TRIGGER note_truncated AFTER TRUNCATE ON user_group FOR EACH STATEMENT EXECUTE FUNCTION note_truncated();
