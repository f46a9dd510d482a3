import type { Database } from '../store/database.ts'
import { retrying } from '../store/errors.ts'
import { run } from '../store/statement.ts'
import { recordReceipts } from '../tasks/receipts.ts'

export type Acknowledgement = { appId: string; taskId: number; deviceId: number }

/**
 * Records what devices acknowledged over their connections, each device and task once: receipt, `received`, and the copy in
 * the inbox goes. One that was never counted as written must have been, so it is counted now. Nearly all are found in the
 * inbox by their key; only what is neither there nor known already needs the search through batches.
 * Answers how many were new.
 */
export async function acknowledge(
  db: Database,
  acknowledgements: readonly Acknowledgement[],
): Promise<number> {
  const rows = await retrying(() =>
    run<[ord: number, counted: number]>(db.pool, 'acknowledge', acknowledgeSql, [
      acknowledgements.map((a) => a.taskId),
      acknowledgements.map((a) => a.deviceId),
    ]),
  )
  const unknown = new Set(rows.map(([ord]) => ord - 1))
  const counted = rows.reduce((sum, row) => sum + row[1], 0)
  const searched = await recordReceipts(
    db,
    acknowledgements
      .filter((_, i) => unknown.has(i))
      .map((acknowledgement) => ({ ...acknowledgement, channel: 'native', event: 'received' })),
  )
  return counted + searched
}

const acknowledgeSql = `
WITH input AS MATERIALIZED (
  SELECT task_id, device_id, min(ord) AS ord
  FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS a (task_id, device_id, ord) GROUP BY 1, 2
), held AS MATERIALIZED (
  SELECT i.task_id, i.device_id FROM input JOIN inbox i USING (task_id, device_id) ORDER BY 1, 2 FOR UPDATE OF i
), gone AS (
  DELETE FROM inbox i USING held WHERE i.task_id = held.task_id AND i.device_id = held.device_id
  RETURNING i.task_id, i.device_id, i.sent_at
), received AS (
  INSERT INTO receipt (task_id, device_id, channel) SELECT task_id, device_id, 'native' FROM gone ORDER BY 1, 2
  ON CONFLICT (task_id, device_id) DO NOTHING
  RETURNING task_id
), counted AS (
  INSERT INTO counter AS c (task_id, channel, sent, received)
  SELECT task_id, 'native', sum(sent), sum(received) FROM (
    SELECT task_id, (sent_at IS NULL)::int AS sent, 0 AS received FROM gone
    UNION ALL SELECT task_id, 0, 1 FROM received
  ) deltas GROUP BY task_id ORDER BY task_id
  ON CONFLICT (task_id, channel) DO UPDATE SET sent = c.sent + excluded.sent, received = c.received + excluded.received
)
SELECT i.ord::int, 0 FROM input i
WHERE NOT EXISTS (SELECT 1 FROM gone g WHERE g.task_id = i.task_id AND g.device_id = i.device_id)
  AND NOT EXISTS (SELECT 1 FROM receipt r WHERE r.task_id = i.task_id AND r.device_id = i.device_id)
UNION ALL SELECT 0, count(*)::int FROM received`
