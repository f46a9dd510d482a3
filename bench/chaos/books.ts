import type { Database } from '@herald/db/store'
import type { Channel } from '@herald/domain'

/** Herald's own word, read when all is quiet. */
export type Books = {
  states: ReadonlyMap<number, string>
  unreachable: ReadonlyMap<number, number>
  counters: ReadonlyMap<number, readonly CounterRow[]>
  /** By task and device: when the receipt of a device of the flock was recorded, Unix ms. */
  receipts: ReadonlyMap<string, number>
  /** By task and device: when it was last given to a vendor after the native channel, Unix ms. */
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

export async function readBooks(db: Database, flock: readonly number[]): Promise<Books> {
  const tasks = await db.pool.query<{ id: number; state: string; unreachable: number }>(
    'SELECT id, state, unreachable FROM task',
  )
  const counters = new Map<number, CounterRow[]>()
  const counted = await db.pool.query<CounterRow>(
    'SELECT task_id AS task, channel, target, sent, received, failed, moved, expired, cancelled FROM counter',
  )
  for (const row of counted.rows) {
    const rows = counters.get(row.task)
    if (rows) rows.push(row)
    else counters.set(row.task, [row])
  }
  type Pair = { task: number; device: number; at: number }
  const receipts = await db.pool.query<Pair>(
    `SELECT task_id AS task, device_id AS device, (extract(epoch FROM received_at) * 1000)::float8 AS at
     FROM receipt WHERE device_id = ANY($1::bigint[])`,
    [flock],
  )
  const handed = await db.pool.query<Pair>(
    `SELECT b.task_id AS task, r.id AS device, max(extract(epoch FROM b.planned_at) * 1000)::float8 AS at
     FROM batch b CROSS JOIN LATERAL unnest(b.recipients) AS r (id)
     WHERE b.channel <> 'native' AND 'native' = ANY(b.tried) GROUP BY 1, 2`,
  )
  const byPair = (rows: Pair[]) => new Map(rows.map(({ task, device, at }) => [pairName(task, device), at]))
  return {
    states: new Map(tasks.rows.map(({ id, state }) => [id, state])),
    unreachable: new Map(tasks.rows.map(({ id, unreachable }) => [id, unreachable])),
    counters,
    receipts: byPair(receipts.rows),
    handedOver: byPair(handed.rows),
  }
}
