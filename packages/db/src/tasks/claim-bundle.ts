import { type Channel, letters } from '@herald/domain'
import { type ReleasedBatch, releasedBundle } from '../ledger/batch-rows.ts'
import type { Database } from '../store/database.ts'
import { daysOf, inDays, runWithin } from '../store/days.ts'
import { batchDays } from '../store/open-days.ts'
import { fields, type Runner } from '../store/statement.ts'
import { separator } from '../store/text-columns.ts'
import { decodeAudience } from './accept.ts'
import type { ClaimedBatch } from './claim.ts'
import type { PlannedTask } from './planned-task.ts'
import type { ChannelLane } from './sweeping.ts'

/** A pending task of a claimed bundle, as the batch that it becomes if it leaves: the id 0, and the version of this claim. */
export type ClaimedSingle = { batch: ClaimedBatch; task: PlannedTask }

type Claimed = Pick<ClaimedBatch, 'lane' | 'plannedAt' | 'claimedAt'> & { bundle: number; size: number }

const claimed = fields<Claimed>({
  bundle: 'c.task_id',
  size: 'c.size',
  lane: 'c.lane',
  plannedAt: '(extract(epoch FROM c.planned_at) * 1000)::float8',
  claimedAt: '(extract(epoch FROM now()) * 1000)::float8',
})
const claimedCount = claimed.sql.split(', ').length

/** Of each task. NULL is the empty text, except in `sequence`, which is never NULL. */
const memberColumns = {
  n: 'm.n',
  taskId: 't.id',
  appId: 't.app_id',
  certificateId: 'm.certificate_id',
  deviceId: 'm.device_id',
  badge: 'm.badge',
  remaining: 'extract(epoch FROM t.deadline - now())',
  groupId: 't.group_id',
  audience: 't.audience',
  strategy: 't.strategy',
  sequence: `array_to_string(t.sequence, ' ')`,
  message: 't.message',
  messageClass: 't.message_class',
  taskLane: 't.lane',
  speed: 't.speed',
  ttl: 't.ttl',
  beginAt: 'extract(epoch FROM t.begin_at) * 1000',
  events: 't.events',
}
type MemberColumn = keyof typeof memberColumns
const memberNames = Object.keys(memberColumns) as MemberColumn[]

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
  return rows.flatMap((row) => readMembers(row, channel, lease.worker))
}

/** A row has one text per column for all tasks: with a row each, reading twenty fields of it cost more than sending the message. */
function readMembers(row: unknown[], channel: Channel, worker: string): ClaimedSingle[] {
  const { bundle, size, lane, plannedAt, claimedAt } = claimed.read(row)
  const lists = {} as Record<MemberColumn, string[]>
  memberNames.forEach((name, i) => {
    lists[name] = String(row[claimedCount + i]).split(separator)
  })
  const count = lists.n.length
  for (const name of memberNames)
    if (lists[name].length !== count)
      throw new Error(`${name} of a task of the bundle ${bundle} contains the column separator`)
  const singles: ClaimedSingle[] = []
  for (let i = 0; i < count; i++) {
    const taskId = Number(lists.taskId[i])
    const appId = lists.appId[i]!
    const badge = lists.badge[i]!
    singles.push({
      task: {
        taskId,
        appId,
        groupId: numberOf(lists.groupId[i]!),
        audience: decodeAudience(JSON.parse(lists.audience[i]!)),
        strategy: lists.strategy[i] as PlannedTask['strategy'],
        sequence: wordsOf(lists.sequence[i]!) as PlannedTask['sequence'],
        message: JSON.parse(lists.message[i]!),
        messageClass: (lists.messageClass[i] || undefined) as PlannedTask['messageClass'],
        lane: lists.taskLane[i] as PlannedTask['lane'],
        speed: numberOf(lists.speed[i]!),
        ttl: Number(lists.ttl[i]),
        beginAt: Number(lists.beginAt[i]),
        events: Number(lists.events[i]) as PlannedTask['events'],
      },
      batch: {
        taskId,
        id: 0,
        version: 1,
        appId,
        channel,
        certificateId: Number(lists.certificateId[i]),
        lane,
        attempts: 1,
        recipients: [Number(lists.deviceId[i])],
        status: letters.pending,
        badges: badge === '' ? null : [Number(badge)],
        tried: [],
        remaining: Number(lists.remaining[i]),
        troubledFor: 0,
        troubles: 0,
        plannedAt,
        claimedAt,
        bundle: { id: bundle, n: Number(lists.n[i]), size, worker },
      },
    })
  }
  return singles
}

const numberOf = (text: string) => (text === '' ? undefined : Number(text))
const wordsOf = (text: string) => (text === '' ? [] : text.split(' '))

const claimSql = `WITH claimed AS (
  UPDATE bundle b SET state = 'sending', lease_until = now() + make_interval(secs => $2), worker = $3
  WHERE b.task_id = ANY($1::bigint[]) AND ${inDays('b.task_id')} AND b.channel = $4 AND b.deadline > now()
    AND (b.state = 'released' OR b.state = 'sending' AND b.worker = $3)
  RETURNING b.task_id, b.lane, b.size, b.tasks, b.recipients, b.certificates, b.badges, b.status, b.planned_at
)
SELECT ${claimed.sql}, ${memberNames.map((name) => `string_agg(coalesce((${memberColumns[name]})::text, ''), E'\\x1f')`).join(', ')}
FROM claimed c
CROSS JOIN LATERAL unnest(c.tasks, c.recipients, c.certificates, c.badges)
  WITH ORDINALITY AS m (task_id, device_id, certificate_id, badge, n)
CROSS JOIN LATERAL (SELECT * FROM task WHERE id = m.task_id AND ${inDays('id')} OFFSET 0) t
WHERE substr(c.status, m.n::int, 1) = '.' GROUP BY c.task_id, c.size, c.lane, c.planned_at`

/**
 * Extends the leases of bundles, and of the batches of tasks that left them. Returns the tasks that are still leased. `worker` names one
 * claim, so an expired lease is extended until it is reclaimed, as by `renewLeases`.
 */
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
       WHERE b.task_id = k.bundle AND b.worker = k.worker AND ${inDays('b.task_id')} AND b.state = 'sending'
       RETURNING b.task_id, b.tasks, b.status
     ), batches AS (
       UPDATE batch b SET lease_until = now() + make_interval(secs => $4) FROM k
       WHERE b.task_id = k.task_id AND b.id = 0 AND ${inDays('b.task_id')} AND b.worker = k.worker AND b.state = 'sending'
       RETURNING b.task_id
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

/** What a job of a bundle needs. */
export const releasedColumns = fields<
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
       SELECT task_id FROM bundle WHERE ${inDays('task_id')} AND state = 'released' AND lease_until IS NULL
         AND channel = $1 AND lane = $2 AND released_at < to_timestamp($3::float8 / 1000) ORDER BY released_at LIMIT $4 FOR UPDATE SKIP LOCKED
     )
     UPDATE bundle b SET released_at = now() FROM lost WHERE b.task_id = lost.task_id AND ${inDays('b.task_id')}
     RETURNING ${releasedColumns.sql}`,
    [channel, lane, before, max],
  )
  return rows.map((row) => releasedBundle(releasedColumns.read(row)))
}
