import { addChecksSql } from '../ledger/counter-rows.ts'
import { oldestTaskId, windowsBack } from '../store/all-days.ts'
import type { Database } from '../store/database.ts'
import { byDays, dayOfId, daysOf, inDays, runWithin } from '../store/days.ts'
import { retrying } from '../store/errors.ts'
import { firstOpenId } from '../store/open-days.ts'
import { DAY_MS, databaseTime, firstTaskIdAt, IDS_PER_DAY } from '../store/partitions.ts'
import { actingUserSql, erasedActorSql } from './audit-traces.ts'

/** What names a person in the tasks of an application. */
export type PersonTraces = {
  appId: string
  aliases: string[]
  activities: string[]
  userIds: string[]
  /** Of push tokens. */
  hashes: string[]
  /** In clear text, as tasks of earlier releases have them. */
  pushTokens: string[]
  deviceIds: number[]
  vendorTokens: string[]
  /** Unix ms; older tasks have no receipt of these devices. */
  since: number
}

/** The first id of the days with tasks that are open at this time (Unix ms, by the clock of Postgres). */
type OpenTasks = { firstId: number; at: number }

/** All tasks up to this one, or only those that have not begun; or those after it, and earlier ones that were open at a time. */
export type TaskSelection = { upTo: number; waiting?: true } | { after: number; orOpen: OpenTasks }

/** Tasks per statement, and the number of look-ups (tasks times devices) it may cost. */
const MAX_TASKS = 2000
const MAX_LOOKUPS = 20_000
/** Days of the tasks of a statement: it locks every table and index of them, 40 per day. */
const MAX_DAYS = 8

/** What is shown instead of erased text. */
export const ERASED = '[erased]'

export async function newestTask(db: Database, appId: string): Promise<number> {
  const oldest = await oldestTaskId(db)
  let upto = firstTaskIdAt(Date.now())
  let isNewest = true
  for (const days of windowsBack()) {
    const from = (dayOfId(upto) - days) * IDS_PER_DAY
    const { rows } = await db.pool.query<{ id: number }>(
      `SELECT id FROM task WHERE app_id = $1 AND id >= ${from}${isNewest ? '' : ` AND id < ${upto}`} ORDER BY id DESC LIMIT 1`,
      [appId],
    )
    if (rows[0]) return rows[0].id
    if (from <= oldest) break
    upto = from
    isNewest = false
  }
  return 0
}

export async function openTasks(db: Database): Promise<OpenTasks> {
  const at = await databaseTime(db)
  return { firstId: await firstOpenId(db), at }
}

type SelectedTasks = { condition: string; first: number; end: number }

async function selectedTasks(db: Database, selection: TaskSelection): Promise<SelectedTasks> {
  if ('after' in selection) {
    const { after, orOpen } = selection
    return {
      condition: `(id > ${after} OR state IN ('accepted', 'planning', 'sending')
        OR coalesce(ended_at, finished_at) >= to_timestamp(${orOpen.at / 1000}))`,
      first: Math.min(after, orOpen.firstId, await firstOpenId(db)),
      end: Number.POSITIVE_INFINITY,
    }
  }
  const end = selection.upTo + 1
  if (!selection.waiting) return { condition: 'true', first: await oldestTaskId(db), end }
  return { condition: waitingSql, first: Math.min(end, await firstOpenId(db)), end }
}

const waitingSql = `state IN ('accepted', 'planning') AND NOT cancelling`

/** Yields the ids of tasks in ascending order, as many as one statement should work on, of at most MAX_DAYS days. */
export async function* tasksAfter(
  db: Database,
  { appId, deviceIds }: PersonTraces,
  selection: TaskSelection,
): AsyncGenerator<number[]> {
  const limit = Math.max(1, Math.min(MAX_TASKS, Math.floor(MAX_LOOKUPS / Math.max(1, deviceIds.length))))
  const { condition, first, end } = await selectedTasks(db, selection)
  const now = firstTaskIdAt(Date.now())
  for (let from = first; from < end; ) {
    const to = Math.min(end, (dayOfId(from) + MAX_DAYS) * IDS_PER_DAY)
    // Tasks are added until the end.
    const isOpen = end === Number.POSITIVE_INFINITY && to > now
    const isLast = isOpen || to === end
    const { rows } = await db.pool.query<{ id: number }>(
      `SELECT id FROM task WHERE app_id = $1 AND id >= ${from}${isOpen ? '' : ` AND id < ${to}`} AND ${condition} ORDER BY id LIMIT $2`,
      [appId, limit],
    )
    yield* byDays(rows.map(({ id }) => id))
    if (rows.length === 0 && isLast) return
    from = rows.length === 0 ? to : rows.at(-1)!.id + 1
  }
}

/** Cancels those of the tasks that have not begun and name nobody but the person. */
export async function cancelWaiting(
  db: Database,
  { aliases, userIds, hashes, pushTokens, activities }: PersonTraces,
  taskIds: readonly number[],
): Promise<void> {
  const values = [taskIds, aliases, userIds, hashes, pushTokens, activities]
  await retrying(() => runWithin(db.pool, daysOf(taskIds), 'erase-waiting', cancelWaitingSql, values))
}

/** Removes the person from audiences, senders, samples of failures, reasons and receipts of these tasks. */
export async function tracesIn(
  db: Database,
  traces: PersonTraces,
  taskIds: readonly number[],
): Promise<void> {
  const { appId, aliases, activities, userIds, hashes, pushTokens, deviceIds, vendorTokens } = traces
  const change = (name: string, text: string, values: unknown[], ids = taskIds) =>
    retrying(() => runWithin(db.pool, daysOf(ids), name, text, [ids, ...values]))
  if (aliases.length + userIds.length + hashes.length > 0)
    await change('erase-audiences', eraseAudiencesSql, [
      aliases,
      userIds,
      hashes,
      pushTokens,
      activities,
      deviceIds,
    ])
  const recalls = await recallsOfErased(db, appId, taskIds)
  if (recalls.length > 0) await change('erase-recalls', eraseRecallsSql, [], recalls)
  if (userIds.length > 0) await change('erase-actors', eraseActorsSql, [userIds])
  if (deviceIds.length === 0) return
  await change('erase-samples', eraseSamplesSql, [deviceIds, vendorTokens])
  if (vendorTokens.length > 0) await change('erase-whys', eraseWhysSql, [deviceIds, vendorTokens])
  const since = firstTaskOf(traces.since)
  const withReceipts = taskIds.filter((id) => id >= since)
  if (withReceipts.length > 0) await change('erase-receipts', eraseReceiptsSql, [deviceIds], withReceipts)
}

/** The recalls among these tasks whose first task has lost its text. It may be of any earlier day. */
async function recallsOfErased(db: Database, appId: string, taskIds: readonly number[]): Promise<number[]> {
  const recalls = await runWithin<[id: number, first: number]>(
    db.pool,
    daysOf(taskIds),
    'recalls-among',
    `SELECT id, (audience ->> 'taskId')::bigint FROM task
     WHERE id = ANY($1::bigint[]) AND ${inDays('id')} AND audience ->> 'kind' = 'recall'`,
    [taskIds],
  )
  const erased = new Set<number>()
  for (const firsts of byDays(recalls.map(([, first]) => first))) {
    const rows = await runWithin<[number]>(
      db.pool,
      daysOf(firsts),
      'erased-among',
      `SELECT id FROM task
       WHERE id = ANY($1::bigint[]) AND ${inDays('id')} AND app_id = $2 AND message ->> 'title' = '${ERASED}'`,
      [firsts, appId],
    )
    for (const [id] of rows) erased.add(id)
  }
  return recalls.flatMap(([id, first]) => (erased.has(first) ? id : []))
}

/** A day earlier, in case that the clock was set back. */
export const firstTaskOf = (ms: number) => firstTaskIdAt(ms - DAY_MS)

const erased = `CASE t.audience ->> 'kind' WHEN 'alias' THEN $2::text[] WHEN 'user_id' THEN $3::text[]
  WHEN 'push_token_hash' THEN $4::text[] WHEN 'push_token' THEN $5::text[] WHEN 'activity' THEN $6::text[] END`
const listName = `CASE t.audience ->> 'kind' WHEN 'alias' THEN 'aliases' WHEN 'user_id' THEN 'userIds'
  WHEN 'push_token_hash' THEN 'hashes' WHEN 'push_token' THEN 'pushTokens' WHEN 'activity' THEN 'activities' END`

// The audience is one push token, and the device had it: the token may have been replaced since, and then its hash is not known.
const formerToken = `(t.audience ->> 'kind' = 'push_token_hash' AND json_array_length(t.audience -> 'hashes') = 1 AND (
    EXISTS (SELECT 1 FROM batch b WHERE b.task_id = t.id AND ${inDays('b.task_id')} AND b.lo = ANY ($7::bigint[]) AND b.hi = b.lo)
    OR EXISTS (SELECT 1 FROM bundle b WHERE b.task_id = t.bundle AND ${inDays('b.task_id')} AND b.recipients[array_position(b.tasks, t.id)] = ANY ($7::bigint[]))
    OR EXISTS (SELECT 1 FROM receipt r WHERE r.task_id = t.id AND ${inDays('r.task_id')} AND r.device_id = ANY ($7::bigint[]))
    OR EXISTS (SELECT 1 FROM failure f WHERE f.task_id = t.id AND ${inDays('f.task_id')} AND f.samples && $7::bigint[])))`

// The audience is one Live Activity, and only devices of the person had it: it may have ended since, and then its name is not known.
const formerActivity = `(t.audience ->> 'kind' = 'activity' AND json_array_length(t.audience -> 'activities') = 1 AND (
    EXISTS (SELECT 1 FROM bundle b WHERE b.task_id = t.bundle AND ${inDays('b.task_id')} AND b.recipients[array_position(b.tasks, t.id)] = ANY ($7::bigint[]))
    OR (EXISTS (SELECT 1 FROM batch b WHERE b.task_id = t.id AND ${inDays('b.task_id')}) AND NOT EXISTS (
      SELECT 1 FROM batch b WHERE b.task_id = t.id AND ${inDays('b.task_id')} AND NOT b.recipients <@ $7::bigint[]))))`
const formerName = `(${formerToken} OR ${formerActivity})`

/** The message of the task without what a person may have written into it. Its objects must stay objects, because payloads read them. */
function erasedMessageSql(task: string): string {
  const kept = `('type', 'badge', 'badgeNamed', 'showBegin', 'showEnd', 'recall')`
  return `(
      SELECT json_object_agg(m.key, CASE
        WHEN m.key IN ${kept} THEN m.value
        WHEN jsonb_typeof(m.value) = 'object' THEN '{}'
        ELSE '"${ERASED}"' END)
      FROM jsonb_each(${task}.message::jsonb || '{"title": ""}') m
      WHERE jsonb_typeof(m.value) = 'object' OR m.key IN ${kept} OR m.key = 'title')`
}

const kinds = `('alias', 'user_id', 'push_token_hash', 'push_token', 'activity')`

const cancelWaitingSql = `
WITH changed AS (UPDATE task t SET cancelling = true
WHERE t.id = ANY($1::bigint[]) AND ${inDays('t.id')} AND ${waitingSql} AND t.audience ->> 'kind' IN ${kinds}
  AND json_array_length(t.audience -> ${listName}) > 0
  AND NOT EXISTS (SELECT 1 FROM json_array_elements_text(t.audience -> ${listName}) v WHERE v <> ALL (${erased}))
RETURNING t.id AS task_id)
${addChecksSql('SELECT task_id FROM changed')}`

// One statement, because two erasures that read the same list would each write back what the other removed. A task that named nobody
// else keeps no text: what is sent to one person may name it. If its audience is not resolved yet, it is cancelled. The objects of the
// message stay, empty, because a worker may still read it.
const eraseAudiencesSql = `
WITH changed AS (UPDATE task t SET (audience, message, cancelling) = (
  SELECT jsonb_set(t.audience::jsonb, ARRAY[${listName}], l.rest)::json,
    CASE WHEN l.rest <> '[]' THEN t.message ELSE ${erasedMessageSql('t')} END,
    t.cancelling OR (l.rest = '[]' AND t.state IN ('accepted', 'planning'))
  FROM (SELECT coalesce(jsonb_agg(v), '[]') AS rest FROM jsonb_array_elements_text(t.audience::jsonb -> ${listName}) v
    WHERE v <> ALL (${erased}) AND NOT ${formerName}) l
)
WHERE t.id = ANY($1::bigint[]) AND ${inDays('t.id')} AND t.audience ->> 'kind' IN ${kinds}
  AND (EXISTS (SELECT 1 FROM json_array_elements_text(t.audience -> ${listName}) v WHERE v = ANY (${erased})) OR ${formerName})
RETURNING t.id AS task_id)
${addChecksSql('SELECT task_id FROM changed')}`

/** A recall repeats or replaces the text of its first task, so it loses its text with that. */
const eraseRecallsSql = `
UPDATE task r SET message = ${erasedMessageSql('r')}
WHERE r.id = ANY($1::bigint[]) AND ${inDays('r.id')}`

// The person may have sent the task itself.
const eraseActorsSql = `
UPDATE task t SET actor = ${erasedActorSql('t.actor')}, address = NULL
WHERE t.id = ANY($1::bigint[]) AND ${inDays('t.id')} AND ${actingUserSql('t.actor')} = ANY ($2::text[])`

const quotesToken = (text: string) =>
  `EXISTS (SELECT 1 FROM unnest($3::text[]) AS k (token) WHERE position(k.token IN ${text}) > 0)`

// The reasons in a batch have the vendor's texts too. By the range of its ids, which an index has, before its reasons are read.
const eraseWhysSql = `
UPDATE batch b SET whys = (
  SELECT jsonb_agg(CASE WHEN ${quotesToken("w.why ->> 't'")} THEN jsonb_set(w.why, '{t}', '"${ERASED}"') ELSE w.why END ORDER BY w.n)
  FROM jsonb_array_elements(b.whys) WITH ORDINALITY AS w (why, n))
WHERE b.task_id = ANY($1::bigint[]) AND ${inDays('b.task_id')} AND b.lo <= (SELECT max(d) FROM unnest($2::bigint[]) d) AND b.hi >= (SELECT min(d) FROM unnest($2::bigint[]) d)
  AND b.whys IS NOT NULL AND ${quotesToken('b.whys::text')}`

// The text of a failure is the vendor's for the first of the samples, and may quote its token.
const eraseSamplesSql = `
UPDATE failure f SET samples = ARRAY(SELECT s.id FROM unnest(f.samples) WITH ORDINALITY AS s (id, n)
    WHERE s.id <> ALL ($2::bigint[]) ORDER BY s.n),
  text = CASE WHEN ${quotesToken('f.text')} THEN '${ERASED}' ELSE f.text END
WHERE f.task_id = ANY($1::bigint[]) AND ${inDays('f.task_id')} AND f.samples && $2::bigint[]`

const eraseReceiptsSql = `
DELETE FROM receipt WHERE task_id = ANY($1::bigint[]) AND ${inDays('task_id')} AND device_id = ANY($2::bigint[])`
