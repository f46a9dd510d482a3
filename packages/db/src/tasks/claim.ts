import type { Channel, Lane } from '@herald/domain'
import { idList } from '../ledger/batch-rows.ts'
import type { Database } from '../store/database.ts'
import { type Runner, run } from '../store/statement.ts'
import { runColumns } from '../store/text-columns.ts'

/** A batch under lease. `version` is the key to settle it; whoever holds an older one can no longer write. */
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
  /** Seconds since the first answer of the present trouble. */
  troubledFor: number
  /** Unix ms by the database's clock. */
  plannedAt: number
  claimedAt: number
}

export type BatchKey = { taskId: number; id: number }

/** Where each field of a claimed batch stands in the statement. */
const claimed: Record<keyof ClaimedBatch, string> = {
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
  plannedAt: '(extract(epoch FROM b.planned_at) * 1000)::float8',
  claimedAt: '(extract(epoch FROM now()) * 1000)::float8',
}
const claimedFields = Object.keys(claimed)

/**
 * The only door to the vendor: released → sending under a lease by the database's clock. Batches that somebody else holds,
 * that are settled, paused, cancelled or expired are left out. `worker` names this one claim: repeated after a lost connection,
 * it takes what it has taken already.
 */
export async function claimBatches(
  runner: Runner,
  keys: readonly BatchKey[],
  lease: { seconds: number; worker: string },
): Promise<ClaimedBatch[]> {
  const rows = await run<unknown[]>(
    runner,
    'claim',
    `WITH k AS MATERIALIZED (
       SELECT k.* FROM unnest($1::bigint[], $2::bigint[]) AS k (task_id, id) JOIN task t ON t.id = k.task_id
       WHERE NOT t.paused AND NOT t.cancelling ORDER BY 1, 2
     )
     UPDATE batch b SET state = 'sending', version = b.version + 1, attempts = b.attempts + 1,
       lease_until = now() + make_interval(secs => $3), worker = $4
     FROM k WHERE b.task_id = k.task_id AND b.id = k.id AND b.deadline > now()
       AND (b.state = 'released' OR b.state = 'sending' AND b.worker = $4)
     RETURNING ${Object.values(claimed).join(', ')}`,
    [keys.map((key) => key.taskId), keys.map((key) => key.id), lease.seconds, lease.worker],
  )
  return rows.map(
    (row) => Object.fromEntries(claimedFields.map((field, i) => [field, row[i]])) as ClaimedBatch,
  )
}

/** Extends leases; answers the keys that are still held. A worker stops sending what is missing from the answer. */
export async function renewLeases(
  db: Database,
  held: readonly (BatchKey & { version: number })[],
  seconds: number,
): Promise<Set<string>> {
  const rows = await run<[number, number]>(
    db.pool,
    'renew',
    `UPDATE batch b SET lease_until = now() + make_interval(secs => $4)
     FROM unnest($1::bigint[], $2::bigint[], $3::int[]) AS h (task_id, id, version)
     WHERE b.task_id = h.task_id AND b.id = h.id AND b.version = h.version AND b.state = 'sending' AND b.lease_until > now()
     RETURNING b.task_id, b.id`,
    [held.map((h) => h.taskId), held.map((h) => h.id), held.map((h) => h.version), seconds],
  )
  return new Set(rows.map(([taskId, id]) => batchName(taskId, id)))
}

export function batchName(taskId: number, id: number): string {
  return `${taskId}/${id}`
}

export type PresentToken = {
  token: string
  environment: number
  bundleId: string | null
  /** The device belongs to another user since this time (Unix ms), which is later than what was asked about. */
  movedAt?: number
  harmony: boolean
}

/**
 * Present tokens of recipients on a channel, by device. Of the devices themselves only the exceptions are read: those that run
 * HarmonyOS, and those that changed their user after `since` (Unix ms). A join that says it of everyone costs twice the tokens.
 */
export async function tokensOf(
  runner: Runner,
  channel: Channel,
  recipients: readonly number[],
  since: number,
): Promise<Map<number, PresentToken>> {
  const [ids, tokens, environments, bundles, moves, platforms] = await runColumns(
    runner,
    'tokens',
    ['id', 'token', 'environment', 'bundle_id', 'moved_at', 'platform'],
    `FROM (
       SELECT device_id AS id, token, environment, bundle_id, NULL::float8 AS moved_at, NULL::text AS platform
       FROM binding WHERE device_id = ANY($1::bigint[]) AND channel = $2
       UNION ALL
       SELECT id, NULL, NULL, NULL, CASE WHEN moved_at > to_timestamp($3::float8 / 1000) THEN date_part('epoch', moved_at) * 1000 END,
         platform
       FROM device WHERE id = ANY($1::bigint[]) AND (moved_at > to_timestamp($3::float8 / 1000) OR platform = 'harmony')
     ) found`,
    [idList(recipients), channel, since],
  )
  const present = new Map<number, PresentToken>()
  ids.forEach((id, i) => {
    if (tokens[i] === '') return
    const environment = Number(environments[i])
    present.set(Number(id), { token: tokens[i]!, environment, bundleId: bundles[i] || null, harmony: false })
  })
  // Afterwards: nothing says that Postgres answers the parts of a union in their order.
  ids.forEach((id, i) => {
    const token = tokens[i] === '' ? present.get(Number(id)) : undefined
    if (!token) return
    token.harmony = platforms[i] === 'harmony'
    if (moves[i]) token.movedAt = Number(moves[i])
  })
  return present
}
