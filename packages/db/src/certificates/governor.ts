import type { MessageClass } from '@herald/domain'
import type { Database } from '../store/database.ts'
import { run } from '../store/statement.ts'

export type Permits = {
  requestsPerSecond?: number
  devicesPerSecond?: number
  dailyQuota?: number
  timeZone: string
}

export type PermitAnswer = {
  /** Devices that may be sent to now; fewer than asked when the day's quota ends within the block. */
  granted: number
  /** Seconds until asking again makes sense, when not all was granted. */
  wait: number
  /** What stood in the way. */
  short?: 'rate' | 'quota'
}

/**
 * Takes permits for a whole block at once from the buckets that all workers of a certificate share: one commit a block, not
 * one a request. A bucket holds one second's worth; a block is at most that and may leave the bucket in debt, which the next
 * caller waits out. So no second sees more than two seconds' worth, and the rate holds over time.
 */
export async function takePermits(
  db: Database,
  certificateId: number,
  messageClass: MessageClass,
  want: { requests: number; devices: number },
  limits: Permits,
): Promise<PermitAnswer> {
  const { requestsPerSecond = null, devicesPerSecond = null, dailyQuota = null } = limits
  if (requestsPerSecond === null && devicesPerSecond === null && dailyQuota === null) {
    return { granted: want.devices, wait: 0 }
  }
  const perRequest = want.devices / want.requests
  const second = Math.min(devicesPerSecond ?? Infinity, (requestsPerSecond ?? Infinity) * perRequest)
  const devices = Math.min(want.devices, Math.max(1, Math.floor(second)))
  const values = [
    certificateId,
    messageClass,
    Math.ceil(devices / perRequest),
    devices,
    requestsPerSecond,
    devicesPerSecond,
    dailyQuota,
    limits.timeZone,
  ]
  let [row] = await run<PermitRow>(db.pool, 'permits', permitSql, values)
  if (!row) {
    await run(
      db.pool,
      'governor',
      `INSERT INTO governor (certificate_id, class, requests, devices, refilled_at, day)
       SELECT $1, $2, coalesce($3::float8, 0), coalesce($4::float8, 0), now(), '-infinity'::date
       WHERE EXISTS (SELECT 1 FROM certificate WHERE id = $1)
       ON CONFLICT DO NOTHING`,
      [certificateId, messageClass, requestsPerSecond, devicesPerSecond],
    )
    ;[row] = await run<PermitRow>(db.pool, 'permits', permitSql, values)
  }
  // The certificate was removed meanwhile: its batches find that out by themselves.
  if (!row) return { granted: want.devices, wait: 0 }
  const [granted, rateOk, wait] = row
  if (granted === want.devices) return { granted, wait: 0 }
  if (granted === devices) return { granted, wait: devices / second, short: 'rate' }
  return { granted, wait, short: rateOk ? 'quota' : 'rate' }
}

type PermitRow = [granted: number, rateOk: boolean, wait: number]

const permitSql = `
WITH locked AS MATERIALIZED (
  SELECT requests, devices, used_today, day, refilled_at FROM governor WHERE certificate_id = $1 AND class = $2 FOR UPDATE
), filled AS MATERIALIZED (
  SELECT LEAST($5::float8, requests + $5 * GREATEST(0, extract(epoch FROM clock_timestamp() - refilled_at))) AS requests,
    LEAST($6::float8, devices + $6 * GREATEST(0, extract(epoch FROM clock_timestamp() - refilled_at))) AS devices,
    CASE WHEN day = (now() AT TIME ZONE $8)::date THEN used_today ELSE 0 END AS used
  FROM locked
), verdict AS MATERIALIZED (
  SELECT *, coalesce(requests > 0, true) AND coalesce(devices > 0, true) AS rate_ok,
    GREATEST(0, LEAST($4::bigint, coalesce($7::bigint - used, $4))) AS within_quota
  FROM filled
), decided AS MATERIALIZED (
  SELECT *, CASE WHEN rate_ok THEN within_quota ELSE 0 END AS granted FROM verdict
)
UPDATE governor g SET
  requests = coalesce(d.requests - CASE WHEN d.granted > 0 THEN $3::float8 ELSE 0 END, g.requests),
  devices = coalesce(d.devices - d.granted, g.devices),
  used_today = d.used + d.granted,
  day = (now() AT TIME ZONE $8)::date,
  refilled_at = clock_timestamp()
FROM decided d WHERE g.certificate_id = $1 AND g.class = $2
RETURNING d.granted, d.rate_ok, (CASE WHEN d.rate_ok
  THEN extract(epoch FROM ((now() AT TIME ZONE $8)::date + 1)::timestamp AT TIME ZONE $8 - now())
  ELSE GREATEST((1 - d.requests) / $5, (1 - d.devices) / $6, 0.01) END)::float8`

/** Gives back what today's quota was charged for devices that were not sent to after all. */
export async function returnQuota(
  db: Database,
  certificateId: number,
  messageClass: MessageClass,
  devices: number,
  timeZone: string,
): Promise<void> {
  await run(
    db.pool,
    'return-quota',
    `UPDATE governor SET used_today = GREATEST(0, used_today - $3)
     WHERE certificate_id = $1 AND class = $2 AND day = (now() AT TIME ZONE $4)::date`,
    [certificateId, messageClass, devices, timeZone],
  )
}

export type GovernorView = {
  certificateId: number
  messageClass: MessageClass
  /** The day (YYYY-MM-DD, where the vendor counts) of the last send, and the devices counted on it. */
  day: string
  used: number
  /** Devices the bucket can give at once; negative while in debt. */
  devices: number
}

/** What the governor of an application's certificates stands at, for operators. */
export async function governorOf(db: Database, appId: string): Promise<GovernorView[]> {
  const rows = await run<[number, MessageClass, string, number, number]>(
    db.pool,
    'governor-view',
    `SELECT g.certificate_id, g.class, g.day::text, g.used_today, g.devices FROM governor g
     JOIN certificate c ON c.id = g.certificate_id WHERE c.app_id = $1 ORDER BY 1, 2`,
    [appId],
  )
  return rows.map(([certificateId, messageClass, day, used, devices]) => ({
    certificateId,
    messageClass,
    day,
    used,
    devices,
  }))
}
