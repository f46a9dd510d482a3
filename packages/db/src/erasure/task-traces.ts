import { addChecksSql } from '../ledger/counter-rows.ts'
import type { Database } from '../store/database.ts'
import { retrying } from '../store/errors.ts'
import { firstTaskIdAt } from '../store/partitions.ts'
import { actingUserSql, erasedActorSql } from './audit-traces.ts'

/** What names a person in the tasks of an application. */
export type PersonTraces = {
  appId: string
  aliases: string[]
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

/** All tasks up to this one; or those after it, and earlier ones that are not finished. */
export type TaskSelection = { upTo: number } | { after: number; orOpen: true }

/** Tasks per statement, and the number of look-ups (tasks times devices) it may cost. */
const MAX_TASKS = 2000
const MAX_LOOKUPS = 20_000

/** What is shown instead of erased text. */
export const ERASED = '[erased]'

export async function newestTask(db: Database, appId: string): Promise<number> {
  const { rows } = await db.pool.query<{ id: number | null }>(
    'SELECT max(id) AS id FROM task WHERE app_id = $1',
    [appId],
  )
  return rows[0]!.id ?? 0
}

/** Yields the ids of tasks in ascending order, as many as one statement should work on. */
export async function* tasksAfter(
  db: Database,
  { appId, deviceIds }: PersonTraces,
  selection: TaskSelection,
): AsyncGenerator<number[]> {
  const limit = Math.max(1, Math.min(MAX_TASKS, Math.floor(MAX_LOOKUPS / Math.max(1, deviceIds.length))))
  const [condition, bound] =
    'upTo' in selection
      ? ['id <= $3', selection.upTo]
      : [`(id > $3 OR state IN ('accepted', 'planning', 'sending'))`, selection.after]
  for (let last = 0; ; ) {
    const { rows } = await db.pool.query<{ id: number }>(
      `SELECT id FROM task WHERE app_id = $1 AND id > $2 AND ${condition} ORDER BY id LIMIT $4`,
      [appId, last, bound, limit],
    )
    if (rows.length === 0) return
    last = rows.at(-1)!.id
    yield rows.map(({ id }) => id)
  }
}

/** Removes the person from audiences, senders, samples of failures, reasons and receipts of these tasks. */
export async function tracesIn(
  db: Database,
  traces: PersonTraces,
  taskIds: readonly number[],
): Promise<void> {
  const { aliases, userIds, hashes, pushTokens, deviceIds, vendorTokens } = traces
  if (aliases.length + userIds.length + hashes.length > 0)
    await retrying(() =>
      db.pool.query({
        name: 'erase-audiences',
        text: eraseAudiencesSql,
        values: [taskIds, aliases, userIds, hashes, pushTokens, deviceIds],
      }),
    )
  await retrying(() => db.pool.query({ name: 'erase-recalls', text: eraseRecallsSql, values: [taskIds] }))
  if (userIds.length > 0)
    await retrying(() =>
      db.pool.query({ name: 'erase-actors', text: eraseActorsSql, values: [taskIds, userIds] }),
    )
  if (deviceIds.length === 0) return
  await retrying(() =>
    db.pool.query({
      name: 'erase-samples',
      text: eraseSamplesSql,
      values: [taskIds, deviceIds, vendorTokens],
    }),
  )
  if (vendorTokens.length > 0)
    await retrying(() =>
      db.pool.query({ name: 'erase-whys', text: eraseWhysSql, values: [taskIds, deviceIds, vendorTokens] }),
    )
  const since = firstTaskOf(traces.since)
  const withReceipts = taskIds.filter((id) => id >= since)
  if (withReceipts.length > 0)
    await retrying(() =>
      db.pool.query({
        name: 'erase-receipts',
        text: 'DELETE FROM receipt WHERE task_id = ANY($1::bigint[]) AND device_id = ANY($2::bigint[])',
        values: [withReceipts, deviceIds],
      }),
    )
}

const DAY_MS = 86_400_000
/** A day earlier, in case that the clock was set back. */
export const firstTaskOf = (ms: number) => firstTaskIdAt(ms - DAY_MS)

const erased = `CASE t.audience ->> 'kind' WHEN 'alias' THEN $2::text[] WHEN 'user_id' THEN $3::text[]
  WHEN 'push_token_hash' THEN $4::text[] WHEN 'push_token' THEN $5::text[] END`
const listName = `CASE t.audience ->> 'kind' WHEN 'alias' THEN 'aliases' WHEN 'user_id' THEN 'userIds'
  WHEN 'push_token_hash' THEN 'hashes' WHEN 'push_token' THEN 'pushTokens' END`

// The audience is one push token, and the device had it: the token may have been replaced since, and then its hash is not known.
const formerToken = `(t.audience ->> 'kind' = 'push_token_hash' AND json_array_length(t.audience -> 'hashes') = 1 AND (
    EXISTS (SELECT 1 FROM batch b WHERE b.task_id = t.id AND b.lo = ANY ($6::bigint[]) AND b.hi = b.lo)
    OR EXISTS (SELECT 1 FROM bundle b WHERE b.task_id = t.bundle AND b.recipients[array_position(b.tasks, t.id)] = ANY ($6::bigint[]))
    OR EXISTS (SELECT 1 FROM receipt r WHERE r.task_id = t.id AND r.device_id = ANY ($6::bigint[]))
    OR EXISTS (SELECT 1 FROM failure f WHERE f.task_id = t.id AND f.samples && $6::bigint[])))`

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

// One statement, because two erasures that read the same list would each write back what the other removed. A task that named nobody
// else keeps no text: what is sent to one person may name it. If its audience is not resolved yet, it is cancelled. The objects of the
// message stay, empty, because a worker may still read it.
const eraseAudiencesSql = `
WITH changed AS (UPDATE task t SET (audience, message, cancelling) = (
  SELECT jsonb_set(t.audience::jsonb, ARRAY[${listName}], l.rest)::json,
    CASE WHEN l.rest <> '[]' THEN t.message ELSE ${erasedMessageSql('t')} END,
    t.cancelling OR (l.rest = '[]' AND t.state IN ('accepted', 'planning'))
  FROM (SELECT coalesce(jsonb_agg(v), '[]') AS rest FROM jsonb_array_elements_text(t.audience::jsonb -> ${listName}) v
    WHERE v <> ALL (${erased}) AND NOT ${formerToken}) l
)
WHERE t.id = ANY($1::bigint[]) AND t.audience ->> 'kind' IN ('alias', 'user_id', 'push_token_hash', 'push_token')
  AND (EXISTS (SELECT 1 FROM json_array_elements_text(t.audience -> ${listName}) v WHERE v = ANY (${erased})) OR ${formerToken})
RETURNING t.id AS task_id)
${addChecksSql('SELECT task_id FROM changed')}`

/** A recall repeats or replaces the text of its first task, so it loses its text with that. */
const eraseRecallsSql = `
UPDATE task r SET message = ${erasedMessageSql('r')}
WHERE r.id = ANY($1::bigint[]) AND r.audience ->> 'kind' = 'recall' AND EXISTS (
  SELECT 1 FROM task t WHERE t.id = (r.audience ->> 'taskId')::bigint AND t.app_id = r.app_id AND t.message ->> 'title' = '${ERASED}')`

// The person may have sent the task itself.
const eraseActorsSql = `
UPDATE task t SET actor = ${erasedActorSql('t.actor')}, address = NULL
WHERE t.id = ANY($1::bigint[]) AND ${actingUserSql('t.actor')} = ANY ($2::text[])`

const quotesToken = (text: string) =>
  `EXISTS (SELECT 1 FROM unnest($3::text[]) AS k (token) WHERE position(k.token IN ${text}) > 0)`

// The reasons in a batch have the vendor's texts too. By the range of its ids, which an index has, before its reasons are read.
const eraseWhysSql = `
UPDATE batch b SET whys = (
  SELECT jsonb_agg(CASE WHEN ${quotesToken("w.why ->> 't'")} THEN jsonb_set(w.why, '{t}', '"${ERASED}"') ELSE w.why END ORDER BY w.n)
  FROM jsonb_array_elements(b.whys) WITH ORDINALITY AS w (why, n))
WHERE b.task_id = ANY($1::bigint[]) AND b.lo <= (SELECT max(d) FROM unnest($2::bigint[]) d) AND b.hi >= (SELECT min(d) FROM unnest($2::bigint[]) d)
  AND b.whys IS NOT NULL AND ${quotesToken('b.whys::text')}`

// The text of a failure is the vendor's for the first of the samples, and may quote its token.
const eraseSamplesSql = `
UPDATE failure f SET samples = ARRAY(SELECT s.id FROM unnest(f.samples) WITH ORDINALITY AS s (id, n)
    WHERE s.id <> ALL ($2::bigint[]) ORDER BY s.n),
  text = CASE WHEN ${quotesToken('f.text')} THEN '${ERASED}' ELSE f.text END
WHERE f.task_id = ANY($1::bigint[]) AND f.samples && $2::bigint[]`
