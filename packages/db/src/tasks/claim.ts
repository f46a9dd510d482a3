import { type Channel, cardOf, type Lane, type VendorChannel } from '@herald/domain'
import { idList } from '../ledger/batch-rows.ts'
import type { Database } from '../store/database.ts'
import { daysOf, inDays, runWithin } from '../store/days.ts'
import { fields, type Runner, run } from '../store/statement.ts'
import { runColumns } from '../store/text-columns.ts'

/** A leased batch. It can be settled only with this `version`, which rises with every claim, settle and expired lease. */
export type ClaimedBatch = {
  taskId: number
  id: number
  version: number
  appId: string
  channel: Channel
  certificateId: number | null
  lane: Lane
  attempts: number
  recipients: number[]
  status: string
  badges: number[] | null
  tried: Channel[]
  /** Seconds until the message expires. */
  remaining: number
  /** Seconds since the vendor began to throttle or be unavailable for this batch; 0 if it does not. */
  troubledFor: number
  /** Attempts in a row that were throttled or not answered. */
  troubles: number
  /** Unix ms by the database's clock. */
  plannedAt: number
  claimedAt: number
}

export type BatchKey = { taskId: number; id: number }

/** `certificateIds` is empty for native batches. */
export type BatchesToClaim = {
  channel: Channel
  certificateIds: readonly (number | string)[]
  batches: readonly BatchKey[]
}

const claimed = fields<ClaimedBatch>({
  taskId: 'b.task_id',
  id: 'b.id',
  version: 'b.version',
  appId: 'b.app_id',
  channel: 'b.channel',
  certificateId: 'b.certificate_id',
  lane: 'b.lane',
  attempts: 'b.attempts',
  recipients: 'b.recipients',
  status: 'b.status',
  badges: 'b.badges',
  tried: 'b.tried',
  remaining: 'extract(epoch FROM b.deadline - now())::float8',
  troubledFor: 'coalesce(extract(epoch FROM now() - b.trouble_since), 0)::float8',
  troubles: 'b.troubles',
  plannedAt: '(extract(epoch FROM b.planned_at) * 1000)::float8',
  claimedAt: '(extract(epoch FROM now()) * 1000)::float8',
})

/**
 * Takes released batches to send them, under a lease by the database's clock. No batch is sent without a claim. Batches that
 * another claim has, or that are settled, paused, cancelled or expired, are left out. So are batches of another channel or
 * of other certificates, which only a forged job names. `worker` identifies this claim: if it is repeated after a lost connection,
 * it returns the batches that it already took.
 */
export async function claimBatches(
  runner: Runner,
  { channel, certificateIds, batches }: BatchesToClaim,
  lease: { seconds: number; worker: string },
): Promise<ClaimedBatch[]> {
  const rows = await runWithin<unknown[]>(
    runner,
    daysOf(batches.map((key) => key.taskId)),
    'claim',
    `WITH k AS MATERIALIZED (
       SELECT k.* FROM unnest($1::bigint[], $2::bigint[]) AS k (task_id, id) JOIN task t ON t.id = k.task_id
       WHERE ${inDays('t.id')} AND NOT t.paused AND NOT t.cancelling ORDER BY 1, 2
     )
     UPDATE batch b SET state = 'sending', version = b.version + 1, attempts = b.attempts + 1,
       lease_until = now() + make_interval(secs => $3), worker = $4
     FROM k WHERE b.task_id = k.task_id AND b.id = k.id AND ${inDays('b.task_id')} AND b.deadline > now()
       AND (b.state = 'released' OR b.state = 'sending' AND b.worker = $4)
       AND b.channel = $5 AND (b.certificate_id = ANY($6::bigint[]) OR b.certificate_id IS NULL AND cardinality($6::bigint[]) = 0)
     RETURNING ${claimed.sql}`,
    [
      batches.map((key) => key.taskId),
      batches.map((key) => key.id),
      lease.seconds,
      lease.worker,
      channel,
      certificateIds,
    ],
  )
  return rows.map(claimed.read)
}

/** Extends leases. Returns the batches that are still leased; a worker must stop sending the others. */
export async function renewLeases(
  db: Database,
  leased: readonly (BatchKey & { version: number })[],
  seconds: number,
): Promise<Set<string>> {
  const rows = await runWithin<[number, number]>(
    db.pool,
    daysOf(leased.map((l) => l.taskId)),
    'renew',
    // Locked in the order of settle, so that the two do not deadlock.
    `WITH l AS MATERIALIZED (
       SELECT b.task_id, b.id, b.version FROM unnest($1::bigint[], $2::bigint[], $3::int[]) AS k (task_id, id, version)
       JOIN batch b ON b.task_id = k.task_id AND b.id = k.id AND b.version = k.version
       WHERE ${inDays('b.task_id')} AND b.state = 'sending' AND b.lease_until > now() ORDER BY 1, 2 FOR NO KEY UPDATE OF b
     )
     UPDATE batch b SET lease_until = now() + make_interval(secs => $4)
     FROM l WHERE b.task_id = l.task_id AND b.id = l.id AND ${inDays('b.task_id')} AND b.version = l.version AND b.state = 'sending'
       AND b.lease_until > now()
     RETURNING b.task_id, b.id`,
    [leased.map((l) => l.taskId), leased.map((l) => l.id), leased.map((l) => l.version), seconds],
  )
  return new Set(rows.map(([taskId, id]) => batchName(taskId, id)))
}

export function batchName(taskId: number, id: number): string {
  return `${taskId}/${id}`
}

export type CurrentToken = {
  token: string
  environment: number
  region?: string
  bundleId: string | null
  /** Set if the device got another user after `since`: when (Unix ms). */
  movedAt?: number
  disabled: boolean
  harmony: boolean
  ios: boolean
}

/**
 * Returns the current tokens of recipients on a channel, by device. The device table is read only for the exceptions: devices that
 * got another user after `since` (Unix ms), disabled ones, and those with HarmonyOS or iOS if the vendor separates them. A join for all
 * devices doubles the cost.
 */
export async function tokensOf(
  runner: Runner,
  channel: VendorChannel,
  recipients: readonly number[],
  since: number,
): Promise<Map<number, CurrentToken>> {
  const { separatesHarmony, separatesIos } = cardOf(channel)
  const separated = separatesHarmony ? 'harmony' : separatesIos ? 'ios' : null
  const [ids, tokens, environments, regions, bundles, moves, platforms, disabled] = await runColumns(
    runner,
    'tokens',
    ['id', 'token', 'environment', 'region', 'bundle_id', 'moved_at', 'platform', 'disabled'],
    `FROM (
       SELECT device_id AS id, token, environment, region, bundle_id, NULL::float8 AS moved_at, NULL::text AS platform,
         NULL::boolean AS disabled
       FROM binding WHERE device_id = ANY($1::bigint[]) AND channel = $2
       UNION ALL
       SELECT id, NULL, NULL, NULL, NULL, CASE WHEN moved_at > to_timestamp($3::float8 / 1000) THEN date_part('epoch', moved_at) * 1000 END,
         platform, NOT enabled
       FROM device WHERE id = ANY($1::bigint[])
         AND (moved_at > to_timestamp($3::float8 / 1000) OR NOT enabled OR platform = $4::text)
     ) found`,
    [idList(recipients), channel, since, separated],
  )
  const current = new Map<number, CurrentToken>()
  ids.forEach((id, i) => {
    if (tokens[i] === '') return
    current.set(Number(id), {
      token: tokens[i]!,
      environment: Number(environments[i]),
      region: regions[i] || undefined,
      bundleId: bundles[i] || null,
      disabled: false,
      harmony: false,
      ios: false,
    })
  })
  // In a second loop, because Postgres may return the parts of a union in any order.
  ids.forEach((id, i) => {
    const token = tokens[i] === '' ? current.get(Number(id)) : undefined
    if (!token) return
    token.harmony = separated === 'harmony' && platforms[i] === 'harmony'
    token.ios = separated === 'ios' && platforms[i] === 'ios'
    token.disabled = disabled[i] === 'true'
    if (moves[i]) token.movedAt = Number(moves[i])
  })
  return current
}

/** Returns those of the devices that do not exist any more. */
export async function removedAmong(runner: Runner, deviceIds: readonly number[]): Promise<Set<number>> {
  const rows = await run<[number]>(
    runner,
    'removed-among',
    `SELECT r.id FROM unnest($1::bigint[]) AS r (id) WHERE NOT EXISTS (SELECT 1 FROM device d WHERE d.id = r.id)`,
    [idList(deviceIds)],
  )
  return new Set(rows.map(([id]) => id))
}
