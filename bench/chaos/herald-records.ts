import { taskCountersSql, taskStatesSql } from '@herald/db/readings'
import type { Database } from '@herald/db/store'
import { type Channel, letters, type VendorChannel, vendorChannels } from '@herald/domain'
import { aliasOf, guidOf, kindOf, type Population, tokenOf } from './population.ts'

/** What Herald recorded about all tasks. A pair is named by `pairName`; times are Unix ms. */
export type HeraldRecords = {
  states: ReadonlyMap<number, string>
  unreachable: ReadonlyMap<number, number>
  counters: ReadonlyMap<number, readonly CounterRow[]>
  /** By task and device: when the receipt of a native device was recorded. */
  receipts: ReadonlyMap<string, number>
  /** By task and device: when the last batch for a vendor was planned after the native channel had been tried. */
  handedOver: ReadonlyMap<string, number>
  /** By task and device: the vendors' channels from which it was moved to another. */
  moved: ReadonlyMap<string, readonly VendorChannel[]>
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
  clicked: number
}

export const pairName = (task: number, device: number) => `${task}/${device}`
export const placeName = (task: number, device: number, channel: VendorChannel) =>
  `${pairName(task, device)}/${channel}`

export async function readHeraldRecords(
  db: Database,
  nativeDevices: readonly number[],
): Promise<HeraldRecords> {
  const tasks = await db.pool.query<{ id: number; state: string; unreachable: number }>(
    `SELECT id, state, unreachable FROM ${taskStatesSql} t`,
  )
  const counters = await db.pool.query<CounterRow>(
    `SELECT task_id AS task, channel, target, sent, received, failed, moved, expired, cancelled, clicked FROM ${taskCountersSql} c`,
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
  const moved = await db.pool.query<{ task: number; device: number; channel: VendorChannel }>(
    `SELECT DISTINCT b.task_id AS task, r.id AS device, b.channel
     FROM batch b CROSS JOIN LATERAL unnest(b.recipients, string_to_array(b.status, NULL)) AS r (id, letter)
     WHERE b.channel <> 'native' AND strpos(b.status, $1) > 0 AND r.letter = $1`,
    [letters.moved],
  )
  const byPair = (rows: Pair[]) => new Map(rows.map(({ task, device, at }) => [pairName(task, device), at]))
  return {
    states: new Map(tasks.rows.map(({ id, state }) => [id, state])),
    unreachable: new Map(tasks.rows.map(({ id, unreachable }) => [id, unreachable])),
    counters: Map.groupBy(counters.rows, ({ task }) => task),
    receipts: byPair(receipts.rows),
    handedOver: byPair(handedOver.rows),
    moved: new Map(
      [...Map.groupBy(moved.rows, ({ task, device }) => pairName(task, device))].map(([pair, rows]) => [
        pair,
        rows.map(({ channel }) => channel),
      ]),
    ),
  }
}

/** Returns what is left of devices that were erased, as sentences. */
export async function remainsOf(
  db: Database,
  appId: string,
  { ids }: Population,
  erased: readonly number[],
): Promise<string[]> {
  const tokens = erased.flatMap((n) =>
    vendorChannels.filter((channel) => hasToken(n, channel)).map((channel) => tokenOf(n, channel)),
  )
  const deviceIds = erased.map((n) => ids[n])
  const { rows } = await db.pool.query<{ place: string; count: number }>(
    `SELECT place, count(*)::int AS count FROM (
       SELECT 'device' AS place FROM device WHERE app_id = $1 AND (guid = ANY($2) OR alias = ANY($3) OR id = ANY($5))
       UNION ALL SELECT 'binding' FROM binding WHERE app_id = $1 AND token = ANY($4)
       UNION ALL SELECT 'retired_token' FROM retired_token WHERE app_id = $1 AND token = ANY($4)
       UNION ALL SELECT 'device_tag' FROM device_tag WHERE device_id = ANY($5)
     ) remains GROUP BY 1`,
    [appId, erased.map(guidOf), erased.map(aliasOf), tokens, deviceIds],
  )
  return rows.map(({ place, count }) => `${count} rows of ${place} are left of erased devices`)
}

function hasToken(n: number, channel: VendorChannel): boolean {
  const { alive, dead } = kindOf(n)
  return alive.includes(channel) || dead.includes(channel)
}
