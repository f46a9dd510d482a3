import type { Channel } from '@herald/domain'
import type { Database } from '../store/database.ts'
import { retrying } from '../store/errors.ts'
import { type Runner, run } from '../store/statement.ts'

export type ReceiptToRecord = {
  appId: string
  taskId: number
  deviceId: number
  /** The channel that reports; undefined for a client's word: the channel the device was last sent on. */
  channel?: Channel
  event: 'received' | 'clicked'
}

/**
 * Records receipts, each device and task once, and raises `received` by the number that is new. Receipts of devices that are
 * no recipients of the task on that channel are ignored; a receipt may come before its batch is settled. Sorted throughout:
 * unsorted groups deadlock on each other. Answers how many were new; `onCounted` hears it by channel.
 */
export async function recordReceipts(
  db: Database,
  receipts: readonly ReceiptToRecord[],
  onCounted?: (channel: Channel, count: number) => void,
): Promise<number> {
  if (receipts.length === 0) return 0
  const rows = await retrying(() =>
    run<[Channel, number]>(db.pool, 'record-receipts', recordSql, [
      receipts.map((r) => r.appId),
      receipts.map((r) => r.taskId),
      receipts.map((r) => r.deviceId),
      receipts.map((r) => r.channel ?? null),
      receipts.map((r) => r.event === 'clicked'),
    ]),
  )
  for (const [channel, count] of rows) onCounted?.(channel, count)
  return rows.reduce((sum, [, count]) => sum + count, 0)
}

// The native channel's recipients are in the inbox until they acknowledge, others in the batch whose id range holds them.
// Who has the message needs no copy in the inbox. One that was never counted as written must have been, but its gateway died
// before it could say so: the recipient that waits in the inbox, or has been moved on, was sent.
const recordSql = `
WITH input AS MATERIALIZED (
  SELECT app_id, task_id, device_id, channel, bool_or(clicked) AS clicked
  FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::boolean[]) AS r (app_id, task_id, device_id, channel, clicked)
  GROUP BY 1, 2, 3, 4
), known AS MATERIALIZED (
  SELECT i.* FROM input i JOIN task t ON t.id = i.task_id AND t.app_id = i.app_id
), matched AS MATERIALIZED (
  SELECT k.task_id, k.device_id, b.channel, b.letter, b.id, k.clicked FROM known k CROSS JOIN LATERAL (
    SELECT c.channel, substr(b.status, b.place, 1) AS letter, b.id
    FROM (SELECT channel FROM counter WHERE task_id = k.task_id AND channel = coalesce(k.channel, channel)) c
    CROSS JOIN LATERAL (
      SELECT id, status, array_position(recipients, k.device_id) AS place FROM batch
      WHERE task_id = k.task_id AND channel = c.channel AND lo <= k.device_id AND hi >= k.device_id
    ) b
    WHERE b.place IS NOT NULL
    UNION ALL
    SELECT 'native', CASE WHEN n.sent_at IS NULL THEN '.' ELSE 's' END, 0 FROM inbox n
    WHERE n.task_id = k.task_id AND n.device_id = k.device_id AND coalesce(k.channel, 'native') = 'native'
  ) b
), chosen AS (
  SELECT DISTINCT ON (task_id, device_id) task_id, device_id, channel, clicked, letter FROM matched
  ORDER BY task_id, device_id, letter = 's' DESC, letter = 'm', id DESC
), inserted AS (
  INSERT INTO receipt (task_id, device_id, channel, clicked_at)
  SELECT task_id, device_id, channel, CASE WHEN clicked THEN now() END FROM chosen ORDER BY task_id, device_id
  ON CONFLICT (task_id, device_id) DO NOTHING
  RETURNING task_id, device_id, channel
), clicked AS (
  UPDATE receipt r SET clicked_at = now() FROM chosen c
  WHERE c.clicked AND r.task_id = c.task_id AND r.device_id = c.device_id AND r.clicked_at IS NULL
), copies AS MATERIALIZED (
  SELECT i.task_id, i.device_id FROM inbox i JOIN chosen c USING (task_id, device_id)
  WHERE c.channel = 'native' OR i.sent_at IS NOT NULL ORDER BY 1, 2 FOR UPDATE OF i
), unboxed AS (
  DELETE FROM inbox i USING copies WHERE i.task_id = copies.task_id AND i.device_id = copies.device_id
  RETURNING i.task_id, i.sent_at
), counted AS (
  UPDATE counter c SET received = c.received + n.fresh, sent = c.sent + n.sent, moved = c.moved - n.stayed FROM (
    SELECT task_id, channel, sum(fresh) AS fresh, sum(sent) AS sent, sum(stayed) AS stayed FROM (
      SELECT task_id, channel, 1 AS fresh, 0 AS sent, 0 AS stayed FROM inserted
      UNION ALL SELECT task_id, 'native', 0, 1, 0 FROM unboxed WHERE sent_at IS NULL
      UNION ALL SELECT task_id, 'native', 0, 1, 1 FROM inserted JOIN chosen USING (task_id, device_id, channel)
        WHERE channel = 'native' AND letter = 'm'
    ) deltas GROUP BY 1, 2 ORDER BY 1, 2
  ) n WHERE c.task_id = n.task_id AND c.channel = n.channel
)
SELECT channel, count(*)::int FROM inserted GROUP BY 1`

/** Which of these devices have a receipt of their task, as `task/device`. */
export async function receiptsAmong(
  runner: Runner,
  keys: readonly { taskId: number; deviceId: number }[],
): Promise<Set<string>> {
  const rows = await run<[number, number]>(
    runner,
    'receipts-among',
    `SELECT task_id, device_id FROM receipt
     JOIN unnest($1::bigint[], $2::bigint[]) AS k (task_id, device_id) USING (task_id, device_id)`,
    [keys.map((key) => key.taskId), keys.map((key) => key.deviceId)],
  )
  return new Set(rows.map(([taskId, deviceId]) => `${taskId}/${deviceId}`))
}
