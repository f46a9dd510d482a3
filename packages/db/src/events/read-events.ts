import type { Database } from '../store/database.ts'
import { daysFrom, inDays, searchWithin } from '../store/days.ts'
import type { Position } from './position.ts'

/** Whose events, and which; without names all. */
export type EventFilter = { appId: string; events?: readonly string[]; campaign?: string }

export type StoredEvent = {
  id: number
  /** Unix ms. */
  at: number
  kind: string
  taskId: number | null
  campaign: string | null
  channel: string | null
  code: string | null
  text: string | null
  devices: number[] | null
  detail: Record<string, unknown> | null
}

export type EventPage = {
  list: StoredEvent[]
  /** Where the next page begins. */
  next: number
  /** Nothing follows at present. */
  isLast: boolean
}

type Row = [
  last: number | null,
  scanned: number,
  wanted: number,
  id: number | null,
  at: number,
  kind: string,
  taskId: number | null,
  campaign: string | null,
  channel: string | null,
  code: string | null,
  text: string | null,
  devices: number[] | null,
  detail: Record<string, unknown> | null,
]

/**
 * Reads the next events from a position. Reads at most `rows` rows of the stream, wanted or not, and returns no more events once they have
 * `entries` entries: a page is bounded in time and in memory, however large the events are and however few are wanted.
 */
export async function readEvents(
  db: Database,
  { appId, events, campaign }: EventFilter,
  from: Position,
  limits: { rows: number; entries: number },
): Promise<EventPage> {
  const found = await searchWithin<Row>(db, daysFrom(from.event), 'read-events', readSql, [
    appId,
    from.event,
    limits.rows,
    events ?? null,
    campaign ?? null,
    limits.entries + from.part,
  ])
  const [last, scanned, wanted] = found[0]!
  const list = found.flatMap(
    ([, , , id, at, kind, taskId, ofCampaign, channel, code, text, devices, detail]) =>
      id === null
        ? []
        : [{ id, at, kind, taskId, campaign: ofCampaign, channel, code, text, devices, detail }],
  )
  const isCut = list.length < wanted
  const next = isCut ? list.at(-1)!.id + 1 : last === null ? from.event : last + 1
  return { list, next, isLast: !isCut && scanned < limits.rows }
}

const readSql = `
WITH scanned AS MATERIALIZED (
  SELECT id, at, kind, task_id, campaign, channel, code, text, devices, detail, entries FROM event
  WHERE app_id = $1 AND id >= $2 AND ${inDays('id')} ORDER BY id LIMIT $3
), wanted AS MATERIALIZED (
  SELECT *, sum(entries) OVER (ORDER BY id) - entries AS before FROM scanned
  WHERE ($4::text[] IS NULL OR kind = ANY ($4)) AND ($5::text IS NULL OR campaign = $5)
)
SELECT read.last, read.scanned, read.wanted, w.id, (extract(epoch FROM w.at) * 1000)::float8, w.kind, w.task_id, w.campaign, w.channel,
  w.code, w.text, w.devices, w.detail
FROM (SELECT max(id) AS last, count(*) AS scanned, (SELECT count(*) FROM wanted) AS wanted FROM scanned) read
  LEFT JOIN wanted w ON w.before < $6
ORDER BY w.id`
