import type { AuditDetail } from '../ledger/audit-rows.ts'
import { oldestTaskId, windowsBack } from '../store/all-days.ts'
import type { Database } from '../store/database.ts'
import { dayOfId } from '../store/days.ts'
import { firstTaskIdAt, IDS_PER_DAY, timeOfTaskId } from '../store/partitions.ts'

/** A place in the audit: time in microseconds, and the id of the entry or task. Later places come first. */
export type AuditPlace = { micros: number; id: number }

export type AuditRecord = AuditPlace & {
  actor: string
  action: string
  address?: string
  detail: AuditDetail
}

export type AuditSearch = {
  /** Unix ms. */
  from?: number
  /** Unix ms, not included. */
  to?: number
  actor?: string
  action?: string
  before?: AuditPlace
  limit: number
}

export type AuditPage = { list: AuditRecord[]; next?: AuditPlace }

/** Rows that a search by actor or action reads for one page. A page may end before it is full, so that no search reads millions of rows. */
const MAX_READ = 10_000

/** What is found of one kind; `end`: nothing before this place was read. */
type Part = { found: AuditRecord[]; end?: AuditPlace }
type Row = {
  micros: number
  id: number
  actor: string
  action: string
  address: string | null
  detail: AuditDetail
}

/**
 * The audit of an application, the newest entries first; without `appId` the entries that belong to no application. A push has no entry of
 * its own: the row of its task says who sent it, for as long as tasks are kept.
 */
export async function listAudit(
  db: Database,
  appId: string | undefined,
  search: AuditSearch,
): Promise<AuditPage> {
  const wanted = { ...search, limit: search.limit + 1 }
  const isPush = search.action === 'push.notify'
  const parts = await Promise.all([
    isPush ? nothing : entries(db, appId, wanted),
    appId === undefined || (search.action !== undefined && !isPush) ? nothing : pushes(db, appId, wanted),
  ])
  return pageOf(parts, search.limit)
}

const nothing: Part = { found: [] }

/** Merges the parts. A place that one of them has not read yet is left to the next page. */
export function pageOf(parts: readonly Part[], limit: number): AuditPage {
  const end = parts.flatMap((part) => part.end ?? []).sort(newestFirst)[0]
  const read = parts
    .flatMap((part) => part.found)
    .sort(newestFirst)
    .filter((record) => !end || newestFirst(record, end) <= 0)
  const list = read.slice(0, limit)
  const next = read.length > limit ? list.at(-1) : end
  return { list, next: next && { micros: next.micros, id: next.id } }
}

function newestFirst(a: AuditPlace, b: AuditPlace): number {
  return b.micros - a.micros || b.id - a.id
}

function isSearch({ actor, action }: AuditSearch): boolean {
  return actor !== undefined || (action !== undefined && action !== 'push.notify')
}

async function entries(db: Database, appId: string | undefined, search: AuditSearch): Promise<Part> {
  const most = isSearch(search) ? MAX_READ : search.limit
  const scope = appId === undefined ? '$1::text IS NULL AND app_id IS NULL' : 'app_id = $1'
  const to = (search.to ?? FOREVER) * 1000
  // Nothing at the end itself is listed, and of the same moment as the last entry only what has a lower id.
  const last = search.before && search.before.micros < to ? search.before : { micros: to, id: 0 }
  const { rows } = await db.pool.query<Row>(entriesSql(scope, most, search.limit), [
    appId ?? null,
    search.actor ?? null,
    search.action ?? null,
    (search.from ?? 0) * 1000,
    last.micros,
    last.id,
  ])
  return partOf(rows)
}

/** Unix ms. */
const FOREVER = 9_000_000_000_000

const microsSql = (time: string) => `(extract(epoch FROM ${time}) * 1000000)::bigint`
const timeSql = (micros: string) => `(timestamptz 'epoch' + ${micros}::bigint * interval '1 microsecond')`

/** The last row has no action if `most` rows were read: it is the place where reading ended. */
function entriesSql(scope: string, most: number, limit: number): string {
  return `WITH read AS MATERIALIZED (
    SELECT at, id, actor, action, detail FROM audit
    WHERE ${scope} AND at >= ${timeSql('$4')} AND at <= ${timeSql('$5')} AND (at < ${timeSql('$5')} OR id < $6::bigint)
    ORDER BY at DESC, id DESC LIMIT ${most}
  )
  (SELECT ${microsSql('at')} AS micros, id, actor, action, detail ->> 'address' AS address, detail - 'address' AS detail FROM read
   WHERE ($2::text IS NULL OR actor = $2) AND ($3::text IS NULL OR action = $3) ORDER BY at DESC, id DESC LIMIT ${limit})
  UNION ALL
  (SELECT ${microsSql('at')}, id, NULL, NULL, NULL, NULL FROM read WHERE (SELECT count(*) FROM read) = ${most} ORDER BY at, id LIMIT 1)`
}

async function pushes(db: Database, appId: string, search: AuditSearch): Promise<Part> {
  let first = search.from === undefined ? 0 : Math.max(0, firstTaskIdAt(search.from))
  let upto = Math.min(
    firstTaskIdAt(Math.min(search.to ?? FOREVER, Date.now() + 3_600_000)),
    taskBefore(search.before),
  )
  const most = isSearch(search) ? MAX_READ : search.limit
  const found: AuditRecord[] = []
  for (const days of windowsBack()) {
    const from = Math.max(first, (dayOfId(upto - 1) - days + 1) * IDS_PER_DAY)
    if (from >= upto) break
    const limit = search.limit - found.length
    const { rows } = await db.pool.query<Row>(pushesSql(from, upto, most, limit), [
      appId,
      search.actor ?? null,
    ])
    const part = partOf(rows.map((row) => ({ ...row, micros: timeOfTaskId(row.id) * 1000 })))
    found.push(...part.found)
    if (part.end) return { found, end: part.end }
    if (found.length >= search.limit || from === first) break
    upto = from
    first = Math.max(first, await oldestTaskId(db))
  }
  return { found }
}

/** The ids of the tasks that come after this place are lower. */
function taskBefore(place: AuditPlace | undefined): number {
  if (!place) return Number.MAX_SAFE_INTEGER
  const ms = Math.floor(place.micros / 1000)
  const next = firstTaskIdAt(ms + 1)
  return place.micros % 1000 === 0 ? Math.min(Math.max(place.id, firstTaskIdAt(ms)), next) : next
}

/** A recall has an entry of its own, and tasks of earlier releases do not say who sent them. */
function pushesSql(from: number, upto: number, most: number, limit: number): string {
  return `WITH read AS MATERIALIZED (
    SELECT id, actor, address, campaign, audience FROM task WHERE app_id = $1 AND id >= ${from} AND id < ${upto}
    ORDER BY id DESC LIMIT ${most}
  )
  (SELECT id, actor, 'push.notify' AS action, address,
     jsonb_strip_nulls(jsonb_build_object('task_id', id, 'campaign', campaign, 'audience', audience ->> 'kind')) AS detail
   FROM read WHERE actor IS NOT NULL AND audience ->> 'kind' <> 'recall' AND ($2::text IS NULL OR actor = $2) ORDER BY id DESC LIMIT ${limit})
  UNION ALL
  (SELECT id, NULL, NULL, NULL, NULL FROM read WHERE (SELECT count(*) FROM read) = ${most} ORDER BY id LIMIT 1)`
}

function partOf(rows: readonly Row[]): Part {
  const found: AuditRecord[] = []
  let end: AuditPlace | undefined
  for (const { micros, id, actor, action, address, detail } of rows) {
    if (action === null) end = { micros, id }
    else found.push({ micros, id, actor, action, address: address ?? undefined, detail })
  }
  return { found, end }
}
