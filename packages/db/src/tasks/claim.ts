import type { Channel, Lane } from '@herald/domain'
import { idList } from '../ledger/batch-rows.ts'
import type { Database } from '../store/database.ts'
import { daysOf, inDays, runWithin } from '../store/days.ts'
import { fields, type Runner, run } from '../store/statement.ts'

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
  /** 0 if there is no such trouble; otherwise 1 and the number of attempts with an unknown code. */
  troubles: number
  /** Unix ms by the database's clock. */
  plannedAt: number
  claimedAt: number
  /** Set if it is task `n` of a bundle. It has a row in `batch` only after it left the bundle. */
  bundle?: { id: number; n: number; size: number; worker: string }
}

export type BatchKey = { taskId: number; id: number }

/** `certificateIds` is empty for native batches. */
export type BatchesToClaim = {
  channel: Channel
  certificateIds: readonly (number | string)[]
  batches: readonly BatchKey[]
}

const claimed = fields<Omit<ClaimedBatch, 'bundle'>>({
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

/**
 * Extends leases. Returns the batches that are still leased; a worker must stop sending the others. The version tells whether another has
 * the batch: a lease that has expired, as all have when the server's clock is set ahead, is extended until it is reclaimed.
 */
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
       WHERE ${inDays('b.task_id')} AND b.state = 'sending' ORDER BY 1, 2 FOR NO KEY UPDATE OF b
     )
     UPDATE batch b SET lease_until = now() + make_interval(secs => $4)
     FROM l WHERE b.task_id = l.task_id AND b.id = l.id AND ${inDays('b.task_id')} AND b.version = l.version AND b.state = 'sending'
     RETURNING b.task_id, b.id`,
    [leased.map((l) => l.taskId), leased.map((l) => l.id), leased.map((l) => l.version), seconds],
  )
  return new Set(rows.map(([taskId, id]) => batchName(taskId, id)))
}

export function batchName(taskId: number, id: number): string {
  return `${taskId}/${id}`
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
