import type { Database } from '@herald/db/store'
import type { Channel } from '@herald/domain'

/** What Herald recorded about all tasks. A pair is named by `pairName`; times are Unix ms. */
export type HeraldRecords = {
  states: ReadonlyMap<number, string>
  unreachable: ReadonlyMap<number, number>
  counters: ReadonlyMap<number, readonly CounterRow[]>
  /** By task and device: when the receipt of a native device was recorded. */
  receipts: ReadonlyMap<string, number>
  /** By task and device: when the last batch for a vendor was planned after the native channel had been tried. */
  handedOver: ReadonlyMap<string, number>
}

export type CounterRow = {
  task: number
  channel: Channel
  target: number
  sent: number
  received: number
  failed: number
  moved: number
  expired: number
  cancelled: number
}

export const pairName = (task: number, device: number) => `${task}/${device}`

export async function readHeraldRecords(
  db: Database,
  nativeDevices: readonly number[],
): Promise<HeraldRecords> {
  const tasks = await db.pool.query<{ id: number; state: string; unreachable: number }>(
    'SELECT id, state, unreachable FROM task',
  )
  const counters = await db.pool.query<CounterRow>(
    'SELECT task_id AS task, channel, target, sent, received, failed, moved, expired, cancelled FROM counter',
  )
  type Pair = { task: number; device: number; at: number }
  const receipts = await db.pool.query<Pair>(
    `SELECT task_id AS task, device_id AS device, (extract(epoch FROM received_at) * 1000)::float8 AS at
     FROM receipt WHERE device_id = ANY($1::bigint[])`,
    [nativeDevices],
  )
  const handedOver = await db.pool.query<Pair>(
    `SELECT b.task_id AS task, r.id AS device, max(extract(epoch FROM b.planned_at) * 1000)::float8 AS at
     FROM batch b CROSS JOIN LATERAL unnest(b.recipients) AS r (id)
     WHERE b.channel <> 'native' AND 'native' = ANY(b.tried) GROUP BY 1, 2`,
  )
  const byPair = (rows: Pair[]) => new Map(rows.map(({ task, device, at }) => [pairName(task, device), at]))
  return {
    states: new Map(tasks.rows.map(({ id, state }) => [id, state])),
    unreachable: new Map(tasks.rows.map(({ id, unreachable }) => [id, unreachable])),
    counters: Map.groupBy(counters.rows, ({ task }) => task),
    receipts: byPair(receipts.rows),
    handedOver: byPair(handedOver.rows),
  }
}
