import type { Channel, Lane, NewTask, Plan } from '@herald/domain'
import type { Database } from '../store/database.ts'
import { IDS_PER_DAY } from '../store/partitions.ts'

/** What a task needs to be written into a bundle. */
export type Single = {
  channel: Channel
  lane: Lane
  certificateId: number
  deviceId: number
  /** Its bundle waits for the feeder. */
  waits?: boolean
}

/**
 * For a task that is one message to one device by a vendor. Speeds, inboxes and copies need rows that a bundle does not have; events are
 * written by the statements that settle batches.
 */
export function singleOf(
  task: Pick<NewTask, 'speed' | 'events' | 'lane'>,
  plan: Plan | undefined,
): Single | undefined {
  if (plan?.batches.length !== 1 || task.speed || task.events || plan.inbox.length > 0) return undefined
  const batch = plan.batches[0]!
  if (plan.copies && plan.copies.length > 0) return undefined
  if (batch.channel === 'native' || batch.certificateId === undefined) return undefined
  if (batch.recipients.length !== 1 || batch.tried.length > 0) return undefined
  return {
    channel: batch.channel,
    lane: task.lane ?? 'high',
    certificateId: batch.certificateId,
    deviceId: batch.recipients[0]!,
  }
}

/**
 * While the queue of a channel is long, the single pushes of a certificate wait for the feeder in bundles of their own. Such a bundle
 * has the state 'released', so that its tasks can leave it like those of any other, but no job: the feeder has its lease. A planner of
 * the previous release takes it for one whose job was lost, and enqueues it.
 */
export const LEASE_OF_FEEDER = `'infinity'::timestamptz`

/** Inserts the bundles of the rows that follow: `... FROM rows GROUP BY 1, 2, 3`. `plannedAt` is when the devices were read. */
export function insertBundlesSql(plannedAt: string): string {
  return `INSERT INTO bundle (task_id, channel, lane, state, size, tasks, recipients, certificates, status, deadline, planned_at, lease_until)
  SELECT bundle, channel, lane, 'released', count(*), array_agg(id ORDER BY id), array_agg(device_id ORDER BY id),
    array_agg(certificate_id ORDER BY id), repeat('.', count(*)::int), min(deadline), ${plannedAt},
    CASE WHEN bool_or(waits) THEN ${LEASE_OF_FEEDER} END`
}

/** A certificate with more tasks in one commit has a bundle of its own, so that others do not wait for its calls. */
const LITTLE = 8
/** Tasks of a bundle: it is sent by one job, which must stay short. */
const MAX_BUNDLE = 64

/**
 * Leaves out those that would wait in a bundle with few others: the feeder gives turns to certificates, so a bundle that waits has tasks
 * of one certificate, and with few of them it saves nothing.
 */
export function withoutFewWaiting(singles: readonly (Single | undefined)[]): (Single | undefined)[] {
  const waiting = new Map<number, number>()
  for (const single of singles)
    if (single?.waits) waiting.set(single.certificateId, (waiting.get(single.certificateId) ?? 0) + 1)
  if (waiting.size === 0) return [...singles]
  return singles.map((single) =>
    single?.waits && waiting.get(single.certificateId)! <= LITTLE ? undefined : single,
  )
}

/**
 * Chooses the bundle of each single task: tasks of one channel, lane and day share one, named by the id of the first, up to the maximum
 * of a bundle. Tasks that are not in `singles` get none.
 */
export function bundlesOf(
  ids: readonly number[],
  singles: readonly (Single | undefined)[],
): (number | undefined)[] {
  const tasksOf = new Map<number, number>()
  for (const single of singles)
    if (single) tasksOf.set(single.certificateId, (tasksOf.get(single.certificateId) ?? 0) + 1)
  const open = new Map<string, { first: number; size: number }>()
  return singles.map((single, i) => {
    if (!single) return undefined
    const { channel, lane, certificateId, waits } = single
    const own = waits || tasksOf.get(certificateId)! > LITTLE ? certificateId : ''
    const key = `${channel} ${lane} ${Math.floor(ids[i]! / IDS_PER_DAY)} ${own} ${waits ? 'waits' : ''}`
    let bundle = open.get(key)
    if (!bundle || bundle.size === MAX_BUNDLE) {
      bundle = { first: ids[i]!, size: 0 }
      open.set(key, bundle)
    }
    bundle.size++
    return bundle.first
  })
}

const MIGRATION = '20261119000000_bundles'
const LOOK_AGAIN_MS = 10_000
const answers = new WeakMap<Database['pool'], { may: boolean; at: number }>()

/**
 * Whether bundles may be written: not while programs of the previous release may run, which know neither the state of the tasks nor the
 * jobs. From then on such programs refuse the database. One statement per process; several during an upgrade.
 */
export async function mayBundle(db: Database): Promise<boolean> {
  const known = answers.get(db.pool)
  if (known && (known.may || performance.now() - known.at < LOOK_AGAIN_MS)) return known.may
  const { rows } = await db.pool.query<{ may: boolean }>(
    `WITH over AS (
       SELECT NOT EXISTS (SELECT 1 FROM upgrade_window WHERE name = 'no-bundles' AND until > now()) AS may
     ), refused AS (
       UPDATE compatible_since SET migration = '${MIGRATION}' WHERE migration < '${MIGRATION}' AND (SELECT may FROM over)
     )
     SELECT may FROM over`,
  )
  answers.set(db.pool, { may: rows[0]!.may, at: performance.now() })
  return rows[0]!.may
}
