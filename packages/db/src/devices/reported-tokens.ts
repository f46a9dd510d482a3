import type { VendorChannel } from '@herald/domain'
import { after } from '../ledger/counter-rows.ts'
import { addRetiredSql } from '../ledger/outbox-rows.ts'
import type { Database } from '../store/database.ts'
import { retrying } from '../store/errors.ts'
import { run } from '../store/statement.ts'
import { GUARD_WINDOW, isSuspectSql, markSuspect, retireSql } from './retired-tokens.ts'

export type ReportedToken = {
  token: string
  /** Unix ms. A token that was registered again later is not retired. */
  since: number
}

/**
 * Retires tokens that a vendor's receipt calls dead, under the same guard as a send. Receipts may come hours after the send, and more than
 * once: a token that is not bound any more is not counted, and the others are compared with the answers since their task. The send has
 * already counted the token as answered, so only `gone` is raised here. Returns the number of retired tokens.
 */
export async function retireReported(
  db: Database,
  certificate: { id: number; appId: string; channel: VendorChannel },
  tokens: readonly ReportedToken[],
): Promise<number> {
  if (tokens.length === 0) return 0
  const [row] = await retrying(() =>
    run<[suspect: boolean, retired: number]>(db.pool, 'retire-reported', reportSql, [
      certificate.id,
      certificate.appId,
      certificate.channel,
      tokens.map(({ token }) => token),
      tokens.map(({ since }) => since / 1000),
    ]),
  )
  const [suspect, retired] = row!
  if (suspect) await retrying(() => markSuspect(db, certificate.id))
  return retired
}

const reportSql = `
WITH reported AS MATERIALIZED (
  SELECT r.token, min(r.since) AS since, date_trunc('minute', LEAST(now(), to_timestamp(min(r.since)))) AS minute
  FROM unnest($4::text[], $5::float8[]) AS r (token, since)
  JOIN binding b ON b.app_id = $2 AND b.channel = $3 AND b.token = r.token AND b.registered_at <= to_timestamp(r.since)
  GROUP BY r.token
), raised AS (
  INSERT INTO token_window AS w (certificate_id, minute, answered, gone)
  SELECT c.id, r.minute, 0, count(*) FROM reported r JOIN certificate c ON c.id = $1 GROUP BY c.id, r.minute ORDER BY r.minute
  ON CONFLICT (certificate_id, minute) DO UPDATE SET gone = w.gone + excluded.gone
  RETURNING minute, answered, gone
), guard AS MATERIALIZED (
  SELECT coalesce(${isSuspectSql('sum(answered)', 'sum(gone)')}, false) AS suspect FROM (
    SELECT answered, gone FROM raised
    UNION ALL SELECT answered, gone FROM token_window WHERE certificate_id = $1 AND EXISTS (SELECT 1 FROM raised)
      AND minute >= LEAST(now() - ${GUARD_WINDOW}, (SELECT min(minute) FROM raised)) AND minute NOT IN (SELECT minute FROM raised)
  ) w
), dead AS MATERIALIZED (
  SELECT b.device_id, b.channel FROM reported r
  JOIN binding b ON b.app_id = $2 AND b.channel = $3 AND b.token = r.token AND b.registered_at <= to_timestamp(r.since)
  WHERE NOT (SELECT suspect FROM guard)
  ORDER BY b.device_id FOR UPDATE OF b
), unbound AS (
  DELETE FROM binding b USING dead WHERE b.device_id = dead.device_id AND b.channel = dead.channel RETURNING b.*
), retired AS (
  ${retireSql('unbound', "'gone'")} RETURNING 1
), told AS (
  ${addRetiredSql('SELECT app_id, channel, device_id FROM unbound', after('retired'))}
)
SELECT (SELECT suspect FROM guard), (SELECT count(*) FROM retired)::int`
