import { oldestTaskId } from '../store/all-days.ts'
import type { Database } from '../store/database.ts'
import { daysOf, inDays, runWithin } from '../store/days.ts'
import { DAY_MS, firstTaskIdAt, IDS_PER_DAY } from '../store/partitions.ts'
import { indexesOnly, inUncheckedTransaction, type Runner } from '../store/statement.ts'
import { inScopeSql, type TaskScope } from '../tasks/tasks.ts'
import { foldPath, type PathStep, resultOf } from './path.ts'
import { inRangeSql, ms, type Places, placesWithin } from './places.ts'
import type { FoundDevice } from './recipients.ts'

export type DeviceMessage = PathStep & {
  taskId: number
  deviceId: number
  deviceGuid: string
  title: string | null
  campaign: string | null
  receivedAt: number | null
  clickedAt: number | null
}

/** `next`: messages of tasks before it are still to be looked at; null at the end. */
export type MessagePage = { messages: DeviceMessage[]; next: number | null }

/** Devices looked up in large tasks by one call; each costs 10 to 20 microseconds. A call that reaches it returns what it has found. */
const MAX_LOOKS = 4000
/** Of one statement. */
const CHUNK_LOOKS = 500
/**
 * Days of one step. The statements are prepared for these days, because planning one of them costs more than running it, and the more days
 * it has the more. A connection keeps the statements of the pairs of days that were asked for.
 */
const STEP_DAYS = 2
const MAX_STEPS = 20

/**
 * Returns the messages of `limit` tasks before `before`, newest first, one per task and device. Tasks are found by the device: in small
 * batches and bundles by an index of their recipients, in inboxes and among receipts of the native channel by theirs. Large tasks
 * (`task.wide`) are looked into one by one, by the ranges of their batches.
 */
export async function deviceMessages(
  db: Database,
  scope: TaskScope,
  devices: readonly FoundDevice[],
  page: { before?: number; limit: number },
): Promise<MessagePage> {
  if (devices.length === 0) return { messages: [], next: null }
  const oldest = await oldestTaskId(db)
  const { found, next } = await inUncheckedTransaction(
    db,
    (runner) => search(runner, scope, devices, { ...page, oldest }),
    // A day that was empty at the last ANALYZE would be read from end to end.
    `${indexesOnly}; SET LOCAL jit = off`,
  )
  return { messages: await describe(db, devices, found), next }
}

async function search(
  runner: Runner,
  scope: TaskScope,
  devices: readonly FoundDevice[],
  { oldest, ...page }: { before?: number; limit: number; oldest: number },
): Promise<{ found: Places[]; next: number | null }> {
  const found: Places[][] = []
  // A caller may send the largest id for "from the newest on": the future has no messages.
  let upto = Math.min(page.before ?? Number.POSITIVE_INFINITY, firstTaskIdAt(Date.now() + DAY_MS))
  for (let steps = 0, looks = 0; steps < MAX_STEPS && looks < MAX_LOOKS; steps++) {
    const from = firstOfStep(upto)
    const step = await searchStep(runner, scope, devices, { from, upto }, page.limit - found.length)
    found.push(...step.tasks)
    looks += step.looks
    upto = step.reached
    if (upto > from || upto <= oldest) break
  }
  return { found: found.flat(), next: upto > oldest ? upto : null }
}

/** Steps begin at even days, so that calls share prepared statements. */
function firstOfStep(upto: number): number {
  const ids = STEP_DAYS * IDS_PER_DAY
  return Math.floor((upto - 1) / ids) * ids
}

type Range = { from: number; upto: number }
type Candidate = { taskId: number; beginAt: number }

/** The newest `need` tasks with ids in [from, upto) that have one of the devices. All tasks from `reached` on were looked at. */
async function searchStep(
  runner: Runner,
  scope: TaskScope,
  devices: readonly FoundDevice[],
  { from, upto }: Range,
  need: number,
): Promise<{ tasks: Places[][]; reached: number; looks: number }> {
  const days = daysOf([from, from + STEP_DAYS * IDS_PER_DAY - 1])
  const found = new Map<number, Places[]>()
  let looks = 0
  const look = async (candidates: readonly Candidate[]) => {
    const fresh = new Map(
      candidates.filter(({ taskId }) => !found.has(taskId)).map((one) => [one.taskId, one]),
    )
    const keys = [...fresh.values()].flatMap(({ taskId, beginAt }) =>
      devices.filter(({ since }) => since <= beginAt).map(({ deviceId }) => ({ taskId, deviceId })),
    )
    for (const places of await placesWithin(runner, days, keys)) {
      const known = found.get(places.taskId)
      if (known) known.push(places)
      else found.set(places.taskId, [places])
    }
  }
  const values = (before: number, limit: number) => [
    scope.appId,
    scope.groupId ?? null,
    limit,
    before,
    devices.map(({ deviceId }) => deviceId),
  ]
  const rows = await runWithin<[number, number]>(runner, days, 'device-tasks', smallSql, values(upto, need))
  const small = rows.map(([taskId, beginAt]): Candidate => ({ taskId, beginAt }))
  // Of the small ones there may be more before the last.
  const lowest = small.length < need ? from : small.at(-1)!.taskId
  const chunk = Math.max(1, Math.floor(CHUNK_LOOKS / devices.length))
  const isEnough = (low: number) => [...found.keys()].filter((id) => id >= low).length >= need
  let low = upto
  do {
    const wide = await runWithin<[number, number, boolean]>(
      runner,
      days,
      'wide-tasks',
      wideSql,
      values(low, chunk),
    )
    looks += wide.length * devices.length
    const members = wide.flatMap(([taskId, beginAt, isMember]) => (isMember ? { taskId, beginAt } : []))
    await look(low === upto ? [...small, ...members] : members)
    low = wide.length < chunk ? lowest : Math.max(lowest, wide.at(-1)![0])
  } while (low > lowest && !isEnough(low) && looks < MAX_LOOKS)
  const tasks = [...found].filter(([id]) => id >= low).sort(([a], [b]) => b - a)
  const taken = tasks.slice(0, need)
  return {
    tasks: taken.map(([, places]) => places),
    reached: taken.length === need ? taken.at(-1)![0] : low,
    looks,
  }
}

const bundledSql = (state: string) => `
  SELECT x.id FROM bundle b CROSS JOIN LATERAL unnest(b.tasks, b.recipients) AS x (id, device_id)
  WHERE b.recipients && $5::bigint[] AND b.state ${state} 'settled' AND ${inDays('b.task_id')} AND b.task_id + 0 < $4
    AND x.device_id = ANY ($5::bigint[])`

const scopeSql = inScopeSql('t', '$1', '$2')

// Tasks found by the devices; `+ 0` keeps Postgres from reading all batches before the last id. A bundle has tasks of one day. In two steps: otherwise Postgres may read all tasks of the days, newest first.
const smallSql = `WITH c AS MATERIALIZED (
    SELECT b.task_id AS id FROM batch b
    WHERE b.recipients && $5::bigint[] AND octet_length(b.status) <= 64 AND ${inDays('b.task_id')} AND b.task_id + 0 < $4
    UNION ${bundledSql('=')} UNION ${bundledSql('<>')}
    UNION SELECT i.task_id FROM inbox i WHERE i.device_id = ANY ($5::bigint[]) AND ${inDays('i.task_id')} AND i.task_id < $4
    UNION SELECT r.task_id FROM receipt r
    WHERE r.device_id = ANY ($5::bigint[]) AND r.channel = 'native' AND ${inDays('r.task_id')} AND r.task_id < $4
  )
  SELECT c.id, t.begin_at FROM c CROSS JOIN LATERAL (
    SELECT ${ms('t.begin_at')} AS begin_at FROM task t WHERE t.id = c.id AND ${inDays('t.id')} AND ${scopeSql} OFFSET 0
  ) t WHERE c.id < $4 ORDER BY c.id DESC LIMIT $3`

// The newest large tasks, and whether a device is a recipient: in a batch, by their ranges as in receipts.ts, or on the native channel in the
// inbox, with a receipt or with a record. Most are not, so the places are read in a second statement.
const wideSql = `SELECT w.id, w.begin_at, EXISTS (
    SELECT 1 FROM unnest($5::bigint[]) AS d (id) CROSS JOIN LATERAL (
      SELECT 1 FROM counter c CROSS JOIN LATERAL (
        SELECT 1 FROM batch b WHERE ${inRangeSql('w.id', 'd.id')} AND ${inDays('b.task_id')} AND b.hi >= d.id AND d.id = ANY (b.recipients) LIMIT 1
      ) b WHERE c.task_id = w.id AND ${inDays('c.task_id')}
      UNION ALL
      SELECT 1 FROM counter n WHERE n.task_id = w.id AND ${inDays('n.task_id')} AND n.channel = 'native' AND (
        EXISTS (SELECT 1 FROM inbox i WHERE i.task_id = w.id AND ${inDays('i.task_id')} AND i.device_id = d.id)
        OR EXISTS (SELECT 1 FROM receipt r WHERE r.task_id = w.id AND ${inDays('r.task_id')} AND r.device_id = d.id)
        OR EXISTS (SELECT 1 FROM batch r WHERE r.task_id = w.id AND ${inDays('r.task_id')} AND r.is_record AND r.lo <= d.id AND r.hi >= d.id
          AND d.id = ANY (r.recipients)))
    ) x)
  FROM (
    SELECT t.id, ${ms('t.begin_at')} AS begin_at FROM task t
    WHERE ${scopeSql} AND t.wide AND t.state <> 'bundled' AND ${inDays('t.id')} AND t.id < $4 ORDER BY t.id DESC LIMIT $3
  ) w ORDER BY w.id DESC`

async function describe(
  db: Database,
  devices: readonly FoundDevice[],
  found: readonly Places[],
): Promise<DeviceMessage[]> {
  const ids = [...new Set(found.map(({ taskId }) => taskId))]
  if (ids.length === 0) return []
  const rows = await runWithin<[number, string | null, string | null]>(
    db.pool,
    daysOf(ids),
    'message-titles',
    `SELECT id, message->>'title', campaign FROM task WHERE id = ANY ($1::bigint[]) AND ${inDays('id')}`,
    [ids],
  )
  const tasks = new Map(rows.map(([id, title, campaign]) => [id, { title, campaign }]))
  const guids = new Map(devices.map(({ deviceId, guid }) => [deviceId, guid]))
  return found.flatMap(({ taskId, deviceId, task, places }) => {
    const { path, receivedAt, clickedAt } = foldPath(places, task)
    const result = resultOf(path)
    const described = tasks.get(taskId)
    if (!result || !described) return []
    return {
      taskId,
      deviceId,
      deviceGuid: guids.get(deviceId)!,
      ...described,
      ...result,
      receivedAt,
      clickedAt,
    }
  })
}
