import {
  devicesOfEvents,
  entriesOf,
  entryWriter,
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

  function candidates(end: Position | undefined): { event: StoredEvent; part: number }[] {
    const found: { event: StoredEvent; part: number }[] = []
    for (const event of events) {
      const count = entriesOf(event)
      for (let part = doneOf(event); part < count; part++) {
        if (end ? !isBefore({ event: event.id, part }, end) : found.length === MAX_ENTRIES) return found
        found.push({ event, part })
      }
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
      const ids = found.flatMap(({ event, part }) => event.devices?.[part] ?? [])
      const devices = await devicesOfEvents(db, work.appId, ids)
      const texts: string[] = []
      let bytes = 0
      let writer: { event: StoredEvent; write: (part: number) => string } | undefined
      for (const { event, part } of found) {
        if (writer?.event !== event) writer = { event, write: entryWriter(event, devices) }
        const text = writer.write(part)
        bytes += Buffer.byteLength(text) + 1
        // The envelope is part of the limit. The end of a repeated request was found in the same way.
        if (!end && texts.length > 0 && bytes > MAX_BYTES - ENVELOPE) break
        texts.push(text)
      }
      const first = found[0]!
      const last = found[texts.length - 1]!
      const start = { event: first.event.id, part: first.part }
      const isWhole = last.part + 1 === entriesOf(last.event)
      const stop = isWhole
        ? { event: last.event.id + 1, part: 0 }
        : { event: last.event.id, part: last.part + 1 }
      const at = new Date(last.event.at).toISOString()
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

const ENVELOPE = 100
