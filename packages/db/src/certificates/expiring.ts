import { addCertificateEventsSql } from '../ledger/certificate-events.ts'
import type { Database } from '../store/database.ts'
import { run } from '../store/statement.ts'

/** Days before the end of a certificate at which its application is told. */
const WARNED_DAYS = [30, 7, 1]

/**
 * Tells applications that certificates expire within 30 days, 7 days and one day: once each, also if several processes call it, because the
 * row of the certificate says what was told. If the expiry date changes, it is reported again. Returns how many were told.
 */
export async function tellExpiring(db: Database): Promise<number> {
  const rows = await run(
    db.pool,
    'tell-expiring',
    `WITH due AS MATERIALIZED (
       SELECT id, expires_at, (SELECT min(d) FROM unnest($1::int[]) d WHERE expires_at <= now() + make_interval(days => d)) AS days
       FROM certificate WHERE expires_at > now() AND expires_at <= now() + make_interval(days => (SELECT max(d) FROM unnest($1::int[]) d))
     ), told AS (
       UPDATE certificate c SET told_expiry = c.expires_at, told_days = due.days FROM due
       WHERE c.id = due.id AND c.expires_at = due.expires_at AND (c.told_expiry IS DISTINCT FROM c.expires_at OR c.told_days > due.days)
       RETURNING c.id, c.app_id, c.channel, c.environment, c.region, c.expires_at, c.told_days
     )
     ${addCertificateEventsSql('certificate.expiring', 'told c ORDER BY c.id', {
       detail: `jsonb_build_object('expires_at', floor(extract(epoch FROM c.expires_at))::bigint, 'days', c.told_days)`,
     })}
     RETURNING id`,
    [WARNED_DAYS],
  )
  return rows.length
}
