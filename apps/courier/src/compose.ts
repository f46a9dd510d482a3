import {
  devicesOfEvents,
  entriesOf,
  entryWriter,
  firstAt,
  isBefore,
  type Position,
  readEvents,
  type StoredEvent,
  type WebhookWork,
} from '@herald/db/events'
import type { Database } from '@herald/db/store'

/** The entries of one request. */
export type Composed = {
  id: string
  body: Buffer
  entries: number
  start: Position
  end: Position
}

export type Composer = {
  /**
   * Returns the next request; undefined if nothing follows. With `end` it has exactly the entries before that place, as the request had that
   * is repeated.
   */
  next(end?: Position): Promise<Composed | undefined>
  /** Everything before it was composed. */
  position(): Position
}

const MAX_ENTRIES = 1000
const MAX_BYTES = 512 * 1024
/** Rows of the stream that are read at a time: many of them have one entry, or are not wanted. If they have many entries, few are needed. */
const MANY_ROWS = 1000
const FEW_ROWS = 32
/** Read at a time: enough for some requests, and a bounded amount of memory. */
const PAGE_ENTRIES = 4 * MAX_ENTRIES

/** Pages without a wanted event after which the place is noted, long before the lease ends. */
const MAX_PAGES = 200

/** Composes the requests of a webhook from the stream, in order. */
export function createComposer(
  db: Database,
  work: Pick<WebhookWork, 'webhookId' | 'appId' | 'events' | 'campaign' | 'epoch' | 'position' | 'head'>,
): Composer {
  let position = work.position
  let events: StoredEvent[] = []
  /** From where the stream has not been read. */
  let unread = position.event
  let isLast = false
  let rows = FEW_ROWS

  /** Reads on until there are enough entries for a request, or nothing follows; with `end` until that place. */
  async function fill(end: Position | undefined): Promise<void> {
    const isEnough = () => (end ? !isBefore({ event: unread, part: 0 }, end) : waiting() >= MAX_ENTRIES)
    isLast = false
    for (let pages = 0; !isLast && !isEnough(); pages++) {
      const from = unread === position.event ? position : { event: unread, part: 0 }
      const page = await readEvents(db, work, from, { rows, entries: PAGE_ENTRIES })
      events.push(...page.list)
      unread = page.next
      isLast = page.isLast
      const entries = page.list.reduce((sum, event) => sum + entriesOf(event), 0)
      rows = entries >= MAX_ENTRIES && page.list.length <= FEW_ROWS ? FEW_ROWS : MANY_ROWS
      // A request need not be full: the next one has what follows.
      if (!end && (pages === MAX_PAGES || (events.length > 0 && entries === 0))) return
    }
  }

  const waiting = () => events.reduce((sum, event) => sum + Math.max(0, entriesOf(event) - doneOf(event)), 0)
  const doneOf = (event: StoredEvent) => (event.id === position.event ? position.part : 0)

  /** The places of the next entries: `from` to before `to` of each event. */
  function candidates(end: Position | undefined): Range[] {
    const found: Range[] = []
    let left = end ? Number.POSITIVE_INFINITY : MAX_ENTRIES
    for (const event of events) {
      const from = doneOf(event)
      const count = entriesOf(event)
      const last =
        !end || event.id < end.event ? count : event.id === end.event ? Math.min(end.part, count) : 0
      const to = Math.min(last, from + left)
      if (to > from) found.push({ event, from, to })
      left -= Math.max(0, to - from)
      if (to < count && to >= from) break
    }
    return found
  }

  function drop(upto: Position): void {
    position = upto
    events = events.filter((event) => event.id >= upto.event)
  }

  return {
    position: () => position,
    async next(end) {
      await fill(end)
      const found = candidates(end)
      if (found.length === 0) {
        // All events that it wants up to `head` were committed before the claim, so they were found, or are no longer kept.
        const read = isLast ? Math.max(unread, work.head + 1) : unread
        drop(end ?? { event: read, part: 0 })
        return undefined
      }
      const ids = found.flatMap(({ event, from, to }) => event.devices?.slice(from, to) ?? [])
      const devices = await devicesOfEvents(db, work.appId, ids, firstAt(found.map(({ event }) => event)))
      const texts: string[] = []
      let length = 0
      for (const { event, from, to } of found) {
        const write = entryWriter(event, devices)
        for (let part = from; part < to; part++) {
          const text = write(part)
          length += text.length + 1
          texts.push(text)
        }
      }
      // The end of a repeated request was found in the same way.
      if (!end && length * 3 > MAX_BYTES - ENVELOPE) texts.length = countThatFits(texts)
      const first = found[0]!
      const start = { event: first.event.id, part: first.from }
      const { event: last, part } = placeOf(found, texts.length - 1)
      const isWhole = part + 1 === entriesOf(last)
      const stop = isWhole ? { event: last.id + 1, part: 0 } : { event: last.id, part: part + 1 }
      const at = new Date(last.at).toISOString()
      const body = Buffer.from(`{"type":"herald.events","timestamp":"${at}","data":[${texts.join(',')}]}`)
      drop(end ?? stop)
      return {
        id: `msg_${work.webhookId}_${work.epoch}_${start.event}_${start.part}`,
        body,
        entries: texts.length,
        start,
        end: end ?? stop,
      }
    },
  }
}

/** The envelope is part of the limit. */
const ENVELOPE = 100

type Range = { event: StoredEvent; from: number; to: number }

/** At least one: an entry is much smaller than the limit. */
function countThatFits(texts: readonly string[]): number {
  let bytes = 0
  for (let count = 0; count < texts.length; count++) {
    bytes += Buffer.byteLength(texts[count]!) + 1
    if (count > 0 && bytes > MAX_BYTES - ENVELOPE) return count
  }
  return texts.length
}

/** The entry with this number, of all in the ranges. */
function placeOf(ranges: readonly Range[], nth: number): { event: StoredEvent; part: number } {
  let left = nth
  for (const { event, from, to } of ranges) {
    if (left < to - from) return { event, part: from + left }
    left -= to - from
  }
  throw new RangeError(`no entry ${nth}`)
}
