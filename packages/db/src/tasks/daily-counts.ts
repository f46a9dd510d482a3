import type { VendorChannel } from '@herald/domain'
import type { Database } from '../store/database.ts'
import { daysOf, inDays, runWithin } from '../store/days.ts'
import type { BatchKey } from './claim.ts'

/** A claimed batch and the devices of it that are about to be sent to. */
export type CountedBatch = BatchKey & { version: number; devices: readonly number[] }

/**
 * Counts one message of the day for each device before it is sent, for vendors that drop what exceeds `max` per device and day.
 * Returns the devices that have had that many, by the position of their batch; they are not counted. A batch is counted once per
 * day, so a repeated attempt returns no devices: what remains pending in it was counted before. One statement for all batches.
 */
export async function countDaily(
  db: Database,
  channel: VendorChannel,
  batches: readonly CountedBatch[],
  max: number,
  timeZone: string,
): Promise<Map<number, Set<number>>> {
  const rows = await runWithin<[at: number, device: number]>(
    db.pool,
    daysIn(batches),
    'count-daily',
    countSql,
    [
      batches.map(({ taskId }) => taskId),
      batches.map(({ id }) => id),
      batches.map(({ version }) => version),
      batches.flatMap(({ devices }) => devices),
      batches.flatMap(({ devices }, at) => devices.map(() => at + 1)),
      channel,
      max,
      timeZone,
    ],
  )
  const refused = new Map<number, Set<number>>()
  for (const [at, device] of rows) {
    const devices = refused.get(at - 1)
    if (devices) devices.add(device)
    else refused.set(at - 1, new Set([device]))
  }
  return refused
}

const daysIn = (batches: readonly BatchKey[]) => daysOf(batches.map(({ taskId }) => taskId))

const countSql = `
WITH today AS MATERIALIZED (SELECT (now() AT TIME ZONE $8)::date AS day),
marked AS MATERIALIZED (
  UPDATE batch b SET counted_on = today.day
  FROM unnest($1::bigint[], $2::bigint[], $3::int[]) WITH ORDINALITY AS k (task_id, id, version, at), today
  WHERE b.task_id = k.task_id AND b.id = k.id AND ${inDays('b.task_id')} AND b.version = k.version AND b.counted_on IS DISTINCT FROM today.day
  RETURNING k.at
), wanted AS MATERIALIZED (
  SELECT w.device, w.at, row_number() OVER (ORDER BY w.device, w.at) AS n
  FROM unnest($4::bigint[], $5::int[]) AS w (device, at) WHERE w.at IN (SELECT at FROM marked)
), refused AS MATERIALIZED (
  SELECT count_daily(today.day, $6, ARRAY(SELECT device FROM wanted ORDER BY n), 1, $7) AS positions FROM today
)
SELECT w.at, w.device FROM wanted w WHERE w.n = ANY ((SELECT positions FROM refused)::int[])`

/**
 * Takes back the count of devices that the vendor did not take after all. One call of count_daily per day for all batches: one per
 * batch would lock the blocks in another order than other processes do.
 */
export async function uncountDaily(
  db: Database,
  channel: VendorChannel,
  batches: readonly (BatchKey & { devices: readonly number[] })[],
): Promise<void> {
  await runWithin(
    db.pool,
    daysIn(batches),
    'uncount-daily',
    `SELECT count_daily(day, $5, devices, -1, 0) FROM (
       SELECT b.counted_on AS day, array_agg(w.device ORDER BY w.device) AS devices
       FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS k (task_id, id, at)
       JOIN batch b ON b.task_id = k.task_id AND b.id = k.id JOIN unnest($3::bigint[], $4::int[]) AS w (device, at) ON w.at = k.at
       WHERE ${inDays('b.task_id')} AND b.counted_on IS NOT NULL GROUP BY 1 ORDER BY 1
     ) counted`,
    [
      batches.map(({ taskId }) => taskId),
      batches.map(({ id }) => id),
      batches.flatMap(({ devices }) => devices),
      batches.flatMap(({ devices }, at) => devices.map(() => at + 1)),
      channel,
    ],
  )
}
