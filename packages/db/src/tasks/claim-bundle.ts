import type { Channel } from '@herald/domain'
import { type ReleasedBatch, releasedBundle } from '../ledger/batch-rows.ts'
import type { Database } from '../store/database.ts'
import { batchDays, daysOf, inDays, runWithin } from '../store/days.ts'
import { fields, type Runner } from '../store/statement.ts'
import type { ClaimedBatch } from './claim.ts'
import { type PlannedTask, plannedTask, taskFields } from './planned-task.ts'
import type { ChannelLane } from './sweeping.ts'

/** A pending task of a claimed bundle, as the batch that it becomes if it leaves: the id 0, and the version of this claim. */
export type ClaimedSingle = { batch: ClaimedBatch; task: PlannedTask }

type Member = Pick<
  ClaimedBatch,
  'taskId' | 'appId' | 'certificateId' | 'lane' | 'remaining' | 'plannedAt' | 'claimedAt'
> & { bundle: number; n: number; size: number; deviceId: number; badge: number | null }

const memberColumns: Record<keyof Member, string> = {
  bundle: 'c.task_id',
  n: 'm.n',
  size: 'c.size',
  taskId: 't.id',
  appId: 't.app_id',
  certificateId: 'm.certificate_id',
  lane: 'c.lane',
  deviceId: 'm.device_id',
  badge: 'm.badge',
  remaining: 'extract(epoch FROM t.deadline - now())::float8',
  plannedAt: '(extract(epoch FROM c.planned_at) * 1000)::float8',
  claimedAt: '(extract(epoch FROM now()) * 1000)::float8',
}
const member = fields<Member>(memberColumns)
const memberCount = Object.keys(memberColumns).length

/**
 * Takes released bundles to send them, under a lease, and returns their pending tasks with all that is stored of them. Bundles of another
 * channel, which only a forged job names, are left out; each task is sent with the certificate in the row. `worker` identifies this
 * claim: only it can settle, and if the claim is repeated after a lost connection, it returns the same.
 */
export async function claimBundles(
  runner: Runner,
  channel: Channel,
  bundles: readonly number[],
  lease: { seconds: number; worker: string },
): Promise<ClaimedSingle[]> {
  const rows = await runWithin<unknown[]>(runner, daysOf(bundles), 'claim-bundles', claimSql, [
    bundles,
    lease.seconds,
    lease.worker,
    channel,
  ])
  return rows.map((row) => {
    const { bundle, n, size, deviceId, badge, ...rest } = member.read(row)
    return {
      task: plannedTask(row.slice(memberCount)),
      batch: {
        ...rest,
        id: 0,
        version: 1,
        channel,
        attempts: 1,
        recipients: [deviceId],
        status: '.',
        badges: badge === null ? null : [badge],
        tried: [],
        troubledFor: 0,
        troubles: 0,
        bundle: { id: bundle, n, size, worker: lease.worker },
      },
    }
  })
}

const claimSql = `WITH claimed AS (
  UPDATE bundle b SET state = 'sending', lease_until = now() + make_interval(secs => $2), worker = $3
  WHERE b.task_id = ANY($1::bigint[]) AND ${inDays('b.task_id')} AND b.channel = $4 AND b.deadline > now()
    AND (b.state = 'released' OR b.state = 'sending' AND b.worker = $3)
  RETURNING b.task_id, b.lane, b.size, b.tasks, b.recipients, b.certificates, b.badges, b.status, b.planned_at
)
SELECT ${member.sql}, ${taskFields.sql} FROM claimed c
CROSS JOIN LATERAL unnest(c.tasks, c.recipients, c.certificates, c.badges)
  WITH ORDINALITY AS m (task_id, device_id, certificate_id, badge, n)
CROSS JOIN LATERAL (SELECT * FROM task WHERE id = m.task_id AND ${inDays('id')} OFFSET 0) t
WHERE substr(c.status, m.n::int, 1) = '.'`

/** Extends the leases of bundles, and of the batches of tasks that left them. Returns the tasks that are still leased. */
export async function renewBundles(
  db: Database,
  leased: readonly { taskId: number; bundle: { id: number; worker: string } }[],
  seconds: number,
): Promise<Set<number>> {
  const rows = await runWithin<[taskId: number]>(
    db.pool,
    daysOf(leased.map(({ taskId }) => taskId)),
    'renew-bundles',
    `WITH k AS MATERIALIZED (
       SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS k (task_id, bundle, worker)
     ), bundles AS (
       UPDATE bundle b SET lease_until = now() + make_interval(secs => $4) FROM (SELECT DISTINCT bundle, worker FROM k) k
       WHERE b.task_id = k.bundle AND b.worker = k.worker AND ${inDays('b.task_id')} AND b.state = 'sending' AND b.lease_until > now()
       RETURNING b.task_id, b.tasks, b.status
     ), batches AS (
       UPDATE batch b SET lease_until = now() + make_interval(secs => $4) FROM k
       WHERE b.task_id = k.task_id AND b.id = 0 AND ${inDays('b.task_id')} AND b.worker = k.worker AND b.state = 'sending'
         AND b.lease_until > now() RETURNING b.task_id
     )
     SELECT task_id FROM batches
     UNION ALL SELECT m.task_id FROM bundles b CROSS JOIN LATERAL unnest(b.tasks) WITH ORDINALITY AS m (task_id, n)
       WHERE substr(b.status, m.n::int, 1) <> 'm'`,
    [
      leased.map(({ taskId }) => taskId),
      leased.map(({ bundle }) => bundle.id),
      leased.map(({ bundle }) => bundle.worker),
      seconds,
    ],
  )
  return new Set(rows.map(([taskId]) => taskId))
}

const unclaimed = fields<
  Omit<ReleasedBatch, 'id' | 'certificateId' | 'node' | 'lost'> & { certificateIds: number[] }
>({
  taskId: 'b.task_id',
  channel: 'b.channel',
  lane: 'b.lane',
  size: 'b.size',
  releasedAt: '(extract(epoch FROM b.released_at) * 1000)::float8',
  certificateIds: 'b.certificates',
})

/** Like `takeUnclaimed`, for bundles whose job was lost. */
export async function takeUnclaimedBundles(
  db: Database,
  { channel, lane }: ChannelLane,
  before: number,
  max: number,
): Promise<ReleasedBatch[]> {
  const rows = await runWithin(
    db.pool,
    await batchDays(db),
    'unclaimed-bundles',
    `WITH lost AS MATERIALIZED (
       SELECT task_id FROM bundle WHERE ${inDays('task_id')} AND state = 'released' AND channel = $1 AND lane = $2
         AND released_at < to_timestamp($3::float8 / 1000) ORDER BY released_at LIMIT $4 FOR UPDATE SKIP LOCKED
     )
     UPDATE bundle b SET released_at = now() FROM lost WHERE b.task_id = lost.task_id AND ${inDays('b.task_id')}
     RETURNING ${unclaimed.sql}`,
    [channel, lane, before, max],
  )
  return rows.map((row) => releasedBundle(unclaimed.read(row)))
}
