import type { MessageClass } from '@herald/domain'
import type { Database } from '../store/database.ts'
import { fields, run } from '../store/statement.ts'

export type Permits = {
  requestsPerSecond?: number
  devicesPerSecond?: number
  dailyQuota?: number
  timeZone: string
}

export type PermitGrant = {
  /** Devices that may be sent to now. */
  granted: number
  /** Seconds until the next try, if not all were granted. */
  wait: number
  /** Why not all were granted. */
  limitedBy?: 'rate' | 'quota'
}

/**
 * Takes permits for many requests with one commit from the token buckets that all workers of a certificate share. A bucket has room
 * for one second. A call gets at most that and may leave the bucket in debt, which later callers wait for. So within any second at
 * most two seconds' worth is sent, and the rate is kept over time.
 */
export async function takePermits(
  db: Database,
  certificateId: number,
  messageClass: MessageClass,
  want: { requests: number; devices: number },
  limits: Permits,
): Promise<PermitGrant> {
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
  // The certificate was removed; sending its batches will fail for that reason.
  if (!row) return { granted: want.devices, wait: 0 }
  const [granted, rateOk, wait] = row
  if (granted === want.devices) return { granted, wait: 0 }
  if (granted === devices) return { granted, wait: devices / second, limitedBy: 'rate' }
  return { granted, wait, limitedBy: rateOk ? 'quota' : 'rate' }
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
), limited AS MATERIALIZED (
  SELECT *, coalesce(requests > 0, true) AND coalesce(devices > 0, true) AS rate_ok,
    GREATEST(0, LEAST($4::bigint, coalesce($7::bigint - used, $4))) AS within_quota
  FROM filled
), decided AS MATERIALIZED (
  SELECT *, CASE WHEN rate_ok THEN within_quota ELSE 0 END AS granted FROM limited
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

/** Returns quota of today that was taken for devices which were not sent to. */
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
  /** The day of the last send (YYYY-MM-DD in the vendor's time zone), and the devices counted on it. */
  day: string
  used: number
  /** Devices in the bucket; negative while it is in debt. */
  devices: number
}

const governorView = fields<GovernorView>({
  certificateId: 'g.certificate_id',
  messageClass: 'g.class',
  day: 'g.day::text',
  used: 'g.used_today',
  devices: 'g.devices',
})

/** The state of the governors of an application's certificates. */
export async function governorOf(db: Database, appId: string): Promise<GovernorView[]> {
  const rows = await run(
    db.pool,
    'governor-view',
    `SELECT ${governorView.sql} FROM governor g
     JOIN certificate c ON c.id = g.certificate_id WHERE c.app_id = $1 ORDER BY 1, 2`,
    [appId],
  )
  return rows.map(governorView.read)
}
