import { cardOf, usualRegion, vendorChannels } from '@herald/domain'
import { addCertificateEventsSql } from '../ledger/certificate-events.ts'
import { after } from '../ledger/counter-rows.ts'
import type { Database } from '../store/database.ts'
import { retrying } from '../store/errors.ts'
import { run } from '../store/statement.ts'

/**
 * Stores the vendor tokens of deleted bindings, so that late receipts find their device and a wrong mass retirement can be undone.
 * `gone` is a step with the deleted rows. Sorted, because statements that lock several rows in different orders deadlock.
 */
export function retireSql(gone: string, reason: "'gone'" | '$4' | 'reason'): string {
  return `INSERT INTO retired_token (app_id, channel, token, device_id, environment, bundle_id, region, registered_at, reason)
  SELECT app_id, channel, token, device_id, environment, bundle_id, region, registered_at, ${reason} FROM ${gone}
  ORDER BY app_id, channel, token
  ON CONFLICT (app_id, channel, token) DO UPDATE SET device_id = excluded.device_id, environment = excluded.environment,
    bundle_id = excluded.bundle_id, region = excluded.region, registered_at = excluded.registered_at, retired_at = now(), reason = excluded.reason`
}

const environmentBound = vendorChannels.filter((channel) => cardOf(channel).environmentBound)
const usualRegions = JSON.stringify(
  Object.fromEntries(vendorChannels.map((channel) => [channel, usualRegion(channel)])),
)
/** The region of a token as certificates have it: empty for the usual one. */
const regionSql = `coalesce(nullif(r.region, $3::jsonb ->> r.channel), '')`

const SUSPICION =
  'more than half of the tokens sent to in the last ten minutes were reported dead; no token is retired until this ends'

export const GUARD_WINDOW = `interval '10 minutes'`

/**
 * The guard against mass retirement: a certificate is suspect if the vendor answered for at least 20 tokens in the window and
 * called more than half of them dead. Receipts raise `gone` only, because the send has counted the token as answered, so `gone`
 * may be the larger number.
 */
export function isSuspectSql(answered: string, gone: string): string {
  return `greatest(${answered}, ${gone}) >= 20 AND (${gone}) * 2 > ${answered}`
}

/**
 * Marks the certificate as suspect and restores the tokens retired in the window. A token whose device was removed or has
 * another token by now stays retired. Like `bind` and the import it locks devices, then bindings, then retired tokens; another order would
 * deadlock with them. A device that is locked is not erased in between. Devices are in the order of the import.
 */
export async function markSuspect(db: Database, certificateId: number): Promise<number> {
  const rows = await run<[number]>(
    db.pool,
    'mark-suspect',
    `WITH known AS MATERIALIZED (
       SELECT id, state FROM certificate WHERE id = $1 FOR UPDATE
     ), c AS (
       UPDATE certificate u SET state = CASE WHEN known.state = 'open' THEN 'suspect' ELSE known.state END,
         last_error = CASE WHEN known.state = 'closed' THEN last_error ELSE '${SUSPICION}' END,
         last_error_at = CASE WHEN known.state = 'closed' THEN last_error_at ELSE now() END
       FROM known WHERE u.id = known.id
       RETURNING u.id, u.app_id, u.channel, u.environment, u.region, known.state = 'open' AS turned
     ), told AS (
       ${addCertificateEventsSql('certificate.suspect', 'c WHERE c.turned', { text: `'${SUSPICION}'` })}
     ), retired AS MATERIALIZED (
       SELECT r.* FROM c JOIN retired_token r ON r.app_id = c.app_id AND r.channel = c.channel JOIN device d ON d.id = r.device_id
       WHERE r.reason = 'gone' AND r.retired_at > now() - ${GUARD_WINDOW}
         AND (r.environment = c.environment OR c.environment = 1 AND c.channel <> ALL($2::text[]) AND NOT EXISTS (
           SELECT 1 FROM certificate o WHERE o.app_id = c.app_id AND o.channel = c.channel AND o.environment = r.environment))
         AND (${regionSql} = c.region OR NOT EXISTS (
           SELECT 1 FROM certificate o WHERE o.app_id = c.app_id AND o.channel = c.channel AND o.environment = c.environment
             AND o.region = ${regionSql}))
       ORDER BY d.guid COLLATE "C" FOR KEY SHARE OF d
     ), restored AS (
       INSERT INTO binding (device_id, channel, app_id, environment, token, bundle_id, region, registered_at)
       SELECT device_id, channel, app_id, environment, token, bundle_id, region, registered_at FROM retired ORDER BY device_id
       ON CONFLICT DO NOTHING RETURNING app_id, channel, token
     )
     DELETE FROM retired_token r USING restored b
     WHERE r.app_id = b.app_id AND r.channel = b.channel AND r.token = b.token AND ${after('restored')}
     RETURNING r.device_id`,
    [certificateId, environmentBound, usualRegions],
  )
  return rows.length
}

/**
 * Reopens suspect certificates after ten minutes without further suspicion, and marks those whose worker died between its settle
 * and `markSuspect`. Returns the certificates that became suspect.
 */
export async function updateSuspects(db: Database): Promise<number[]> {
  await run(
    db.pool,
    'end-suspicion',
    `UPDATE certificate SET state = 'open', last_error = NULL, last_error_at = NULL
     WHERE state = 'suspect' AND last_error_at < now() - ${GUARD_WINDOW}`,
    [],
  )
  const rows = await run<[number]>(
    db.pool,
    'unmarked-suspects',
    `SELECT w.certificate_id FROM token_window w JOIN certificate c ON c.id = w.certificate_id AND c.state = 'open'
     WHERE w.minute > now() - ${GUARD_WINDOW} GROUP BY 1
     HAVING ${isSuspectSql('sum(w.answered)', 'sum(w.gone)')}`,
    [],
  )
  for (const [id] of rows) await retrying(() => markSuspect(db, id))
  return rows.map(([id]) => id)
}
