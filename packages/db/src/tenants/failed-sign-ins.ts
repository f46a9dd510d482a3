import { type AuditEntry, auditRow } from '../ledger/audit-rows.ts'
import type { Database } from '../store/database.ts'
import { run } from '../store/statement.ts'

/** Entries per application, action and minute. Anyone can cause them, so they must not fill the disk. */
const MAX_PER_MINUTE = 100

/**
 * Adds the entry of a refused sign-in, or counts it in the entry of the same minute that says the same. After MAX_PER_MINUTE entries all
 * others are counted in one. Two processes that add the same entry at the same time may add two.
 */
export async function recordFailedSignIn(db: Database, entry: AuditEntry): Promise<void> {
  const { appId, actor, action, detail } = auditRow(entry)
  await run(db.pool, 'failed-sign-in', failedSignInSql, [appId, actor, action, detail])
}

const failedSignInSql = `
WITH recent AS MATERIALIZED (
  SELECT id, detail - 'count' AS said FROM audit
  WHERE at >= date_trunc('minute', now()) AND app_id IS NOT DISTINCT FROM $1::text AND action = $3::text
), wanted AS MATERIALIZED (
  SELECT CASE WHEN (SELECT count(*) FROM recent) < ${MAX_PER_MINUTE} OR $4::jsonb IN (SELECT said FROM recent)
    THEN $4::jsonb ELSE '{"others": true}' END AS said
), counted AS (
  UPDATE audit a SET detail = a.detail || jsonb_build_object('count', (a.detail ->> 'count')::bigint + 1)
  WHERE a.id = (SELECT min(r.id) FROM recent r JOIN wanted w ON w.said = r.said) RETURNING 1
)
INSERT INTO audit (app_id, actor, action, detail)
SELECT $1, $2, $3, said || '{"count": 1}' FROM wanted WHERE NOT EXISTS (SELECT 1 FROM counted)`
