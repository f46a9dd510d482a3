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

export type WantedPermits = {
  certificateId: number
  messageClass: MessageClass
  want: { requests: number; devices: number }
  limits: Permits
}

/**
 * Takes permits for many requests, also of several certificates, with one commit from the token buckets that all workers of a
 * certificate share. A bucket has room for one second. A call gets at most that and may leave the bucket in debt, which later callers
 * wait for. So within any second at most two seconds' worth is sent, and the rate is kept over time. Returns the grants in order.
 */
export async function takePermits(db: Database, wanted: readonly WantedPermits[]): Promise<PermitGrant[]> {
  const grants = wanted.map(({ want }): PermitGrant => ({ granted: want.devices, wait: 0 }))
  const asked = wanted.flatMap((one, at) => (isLimited(one.limits) ? [askedOf(one, at)] : []))
  if (asked.length === 0) return grants
  // Rows are locked in this order, so that two jobs of the same certificates do not deadlock.
  asked.sort((a, b) => a.id - b.id || (a.class < b.class ? -1 : 1))
  const rows = await run<PermitRow>(db.pool, 'permits', permitSql, [JSON.stringify(asked)])
  const known = new Set(rows.map(([at]) => at))
  const missing = asked.filter(({ at }) => !known.has(at))
  if (missing.length > 0) {
    await run(db.pool, 'governor', newGovernorsSql, [JSON.stringify(missing)])
    rows.push(...(await run<PermitRow>(db.pool, 'permits', permitSql, [JSON.stringify(missing)])))
  }
  // Without a row the certificate was removed; sending its batches will fail for that reason.
  const byPlace = new Map(asked.map((one) => [one.at, one]))
  for (const [at, granted, rateOk, wait] of rows) {
    const { devices, second } = byPlace.get(at)!
    if (granted === grants[at]!.granted) continue
    grants[at] =
      granted === devices
        ? { granted, wait: devices / second, limitedBy: 'rate' }
        : { granted, wait, limitedBy: rateOk ? 'quota' : 'rate' }
  }
  return grants
}

function isLimited({ requestsPerSecond, devicesPerSecond, dailyQuota }: Permits): boolean {
  return requestsPerSecond !== undefined || devicesPerSecond !== undefined || dailyQuota !== undefined
}

function askedOf({ certificateId, messageClass, want, limits }: WantedPermits, at: number) {
  const { requestsPerSecond, devicesPerSecond, dailyQuota, timeZone } = limits
  const perRequest = want.devices / want.requests
  const second = Math.min(devicesPerSecond ?? Infinity, (requestsPerSecond ?? Infinity) * perRequest)
  const devices = Math.min(want.devices, Math.max(1, Math.floor(second)))
  return {
    at,
    id: certificateId,
    class: messageClass,
    requests: Math.ceil(devices / perRequest),
    devices,
    rps: requestsPerSecond,
    dps: devicesPerSecond,
    quota: dailyQuota,
    tz: timeZone,
    second,
  }
}

type PermitRow = [at: number, granted: number, rateOk: boolean, wait: number, unflushed: string]

const askedSql = `jsonb_to_recordset($1::jsonb)
  AS w (at int, id bigint, class text, requests float8, devices bigint, rps float8, dps float8, quota bigint, tz text)`

// Not flushed to disk: all jobs of a certificate change this row, and would wait for each other's flush. A crash of Postgres, not of a
// worker, forgets the permits of the last moments: up to a second's worth more is sent, which the vendor may refuse.
const unflushed = `set_config('synchronous_commit', 'off', true)`

// OFFSET 0 keeps one look-up per wanted row, in their order: a join would read the table, and lock in any order.
const permitSql = `
WITH locked AS MATERIALIZED (
  SELECT w.*, g.requests AS has_requests, g.devices AS has_devices, g.used_today, g.day, g.refilled_at
  FROM ${askedSql} CROSS JOIN LATERAL (
    SELECT * FROM governor WHERE certificate_id = w.id AND class = w.class OFFSET 0 FOR UPDATE) g
), filled AS MATERIALIZED (
  SELECT l.*, LEAST(rps, has_requests + rps * GREATEST(0, extract(epoch FROM clock_timestamp() - refilled_at))) AS in_requests,
    LEAST(dps, has_devices + dps * GREATEST(0, extract(epoch FROM clock_timestamp() - refilled_at))) AS in_devices,
    CASE WHEN day = (now() AT TIME ZONE tz)::date THEN used_today ELSE 0 END AS used
  FROM locked l
), limited AS MATERIALIZED (
  SELECT *, coalesce(in_requests > 0, true) AND coalesce(in_devices > 0, true) AS rate_ok,
    GREATEST(0, LEAST(devices, coalesce(quota - used, devices))) AS within_quota
  FROM filled
), decided AS MATERIALIZED (
  SELECT *, CASE WHEN rate_ok THEN within_quota ELSE 0 END AS granted FROM limited
)
UPDATE governor g SET
  requests = coalesce(d.in_requests - CASE WHEN d.granted > 0 THEN d.requests ELSE 0 END, g.requests),
  devices = coalesce(d.in_devices - d.granted, g.devices),
  used_today = d.used + d.granted,
  day = (now() AT TIME ZONE d.tz)::date,
  refilled_at = clock_timestamp()
FROM decided d WHERE g.certificate_id = d.id AND g.class = d.class
RETURNING d.at, d.granted, d.rate_ok, (CASE WHEN d.rate_ok
  THEN extract(epoch FROM ((now() AT TIME ZONE d.tz)::date + 1)::timestamp AT TIME ZONE d.tz - now())
  ELSE GREATEST((1 - d.in_requests) / d.rps, (1 - d.in_devices) / d.dps, 0.01) END)::float8, ${unflushed}`

const newGovernorsSql = `
INSERT INTO governor (certificate_id, class, requests, devices, refilled_at, day)
SELECT w.id, w.class, coalesce(w.rps, 0), coalesce(w.dps, 0), now(), '-infinity'::date FROM ${askedSql}
WHERE EXISTS (SELECT 1 FROM certificate c WHERE c.id = w.id) ORDER BY w.id, w.class
ON CONFLICT DO NOTHING`

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
     WHERE certificate_id = $1 AND class = $2 AND day = (now() AT TIME ZONE $4)::date RETURNING ${unflushed}`,
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
