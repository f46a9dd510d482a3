import type { Database } from '../store/database.ts'
import { run } from '../store/statement.ts'
import { GUARD_WINDOW, isSuspectSql } from './token-guard.ts'

/**
 * Marks the certificate suspect and gives back the tokens retired within the window: all but those whose device is gone or has
 * another token by now, which stay resolvable as retired ones.
 */
export async function unretireWindow(db: Database, certificateId: number): Promise<number> {
  const rows = await run<[number]>(
    db.pool,
    'unretire',
    `WITH c AS (
       UPDATE certificate SET state = CASE WHEN state = 'open' THEN 'suspect' ELSE state END,
         last_error = CASE WHEN state = 'closed' THEN last_error ELSE
           'over half of the tokens tried within ten minutes were answered as dead; none is retired until this ends' END,
         last_error_at = CASE WHEN state = 'closed' THEN last_error_at ELSE now() END
       WHERE id = $1 RETURNING id, app_id, channel, environment
     ), taken AS MATERIALIZED (
       SELECT r.* FROM c JOIN retired_token r ON r.app_id = c.app_id AND r.channel = c.channel
       WHERE r.reason = 'gone' AND r.retired_at > now() - ${GUARD_WINDOW}
         AND (r.environment = c.environment OR c.environment = 1 AND c.channel <> 'apns' AND NOT EXISTS (
           SELECT 1 FROM certificate o WHERE o.app_id = c.app_id AND o.channel = c.channel AND o.environment = r.environment))
         AND EXISTS (SELECT 1 FROM device d WHERE d.id = r.device_id)
       ORDER BY r.device_id FOR UPDATE OF r
     ), given AS (
       INSERT INTO binding (device_id, channel, app_id, environment, token, bundle_id, registered_at)
       SELECT device_id, channel, app_id, environment, token, bundle_id, registered_at FROM taken ORDER BY device_id
       ON CONFLICT DO NOTHING RETURNING app_id, channel, token
     )
     DELETE FROM retired_token r USING given g WHERE r.app_id = g.app_id AND r.channel = g.channel AND r.token = g.token
     RETURNING r.device_id`,
    [certificateId],
  )
  return rows.length
}

/**
 * Ends suspicions that ten quiet minutes have refuted, and makes up for those whose worker died between its settle and the
 * giving back. Answers the certificates that became suspect.
 */
export async function tendSuspects(db: Database): Promise<number[]> {
  await run(
    db.pool,
    'end-suspicion',
    `UPDATE certificate SET state = 'open', last_error = NULL, last_error_at = NULL
     WHERE state = 'suspect' AND last_error_at < now() - ${GUARD_WINDOW}`,
    [],
  )
  const rows = await run<[number]>(
    db.pool,
    'overlooked-suspects',
    `SELECT w.certificate_id FROM token_window w JOIN certificate c ON c.id = w.certificate_id AND c.state = 'open'
     WHERE w.minute > now() - ${GUARD_WINDOW} GROUP BY 1
     HAVING ${isSuspectSql('sum(w.answered)', 'sum(w.gone)')}`,
    [],
  )
  for (const [id] of rows) await unretireWindow(db, id)
  return rows.map(([id]) => id)
}
