-- herald: outside a transaction
-- Find the entries that name a person who is erased. Partial: most entries name nobody.
DROP INDEX CONCURRENTLY IF EXISTS audit_user;
CREATE INDEX CONCURRENTLY audit_user ON audit (app_id, (detail ->> 'user_id')) WHERE detail ->> 'user_id' IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS audit_guid;
CREATE INDEX CONCURRENTLY audit_guid ON audit (app_id, (detail ->> 'device_guid')) WHERE detail ->> 'device_guid' IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS audit_alias;
CREATE INDEX CONCURRENTLY audit_alias ON audit (app_id, (detail ->> 'alias')) WHERE detail ->> 'alias' IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS audit_actor;
CREATE INDEX CONCURRENTLY audit_actor ON audit (app_id, (substring(actor FROM '\muser (.*)$'))) WHERE substring(actor FROM '\muser (.*)$') IS NOT NULL;
