import type { Database } from '../store/database.ts'
import { daysOf, inDays, runWithin } from '../store/days.ts'
import { run } from '../store/statement.ts'

/** What a gateway has to look at. `all`: every connection; the news may be incomplete. */
export type GatewayNews = { all: boolean; deviceIds: number[]; taskIds: number[] }

/** Rows per statement. More wait for the next one. */
const MAX_NEWS = 5_000

/**
 * Takes what triggers have written for this gateway since the last call: messages put into inboxes of its devices, devices that
 * connected elsewhere or whose push token was replaced, resumed tasks. One statement, whose cost does not depend on the number of
 * connections. If it fails, what it took may be lost: the caller must look at every connection.
 */
export async function takeNews(db: Database, node: string): Promise<GatewayNews> {
  const rows = await run<[deviceId: number | null, taskId: number | null]>(
    db.pool,
    'take-news',
    `WITH taken AS (
       DELETE FROM gateway_news WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM gateway_news WHERE node = $1 LIMIT ${MAX_NEWS} FOR UPDATE SKIP LOCKED)) RETURNING device_id, task_id
     )
     SELECT device_id, task_id FROM taken
     UNION ALL SELECT NULL, NULL WHERE NOT EXISTS (SELECT 1 FROM gateway_mark WHERE node = $1)`,
    [node],
  )
  const of = (column: 0 | 1) => [...new Set(rows.flatMap((row) => row[column] ?? []))]
  return {
    all: rows.some(([deviceId, taskId]) => deviceId === null && taskId === null),
    deviceIds: of(0),
    taskIds: of(1),
  }
}

/** To be called before a gateway looks at every connection: while the mark is missing, `takeNews` returns `all`. */
export async function markGateway(db: Database, node: string): Promise<void> {
  await run(
    db.pool,
    'mark-gateway',
    'INSERT INTO gateway_mark (node) SELECT id FROM gateway_node WHERE id = $1 ON CONFLICT DO NOTHING',
    [node],
  )
}

/** Returns the devices connected to this gateway that have messages of these tasks in their inbox. */
export async function waitingDevices(
  db: Database,
  node: string,
  taskIds: readonly number[],
): Promise<number[]> {
  const rows = await runWithin<[number]>(
    db.pool,
    daysOf(taskIds),
    'waiting-devices',
    `SELECT DISTINCT i.device_id FROM presence p JOIN inbox i ON i.device_id = p.device_id
     WHERE p.node = $1 AND ${inDays('i.task_id')} AND i.task_id = ANY($2::bigint[])`,
    [node, taskIds],
  )
  return rows.map(([deviceId]) => deviceId)
}
