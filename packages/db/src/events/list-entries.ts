import type { Database } from '../store/database.ts'
import { devicesOfEvents, entriesOf, entryWriter, firstAt } from './entries.ts'
import { entryId, type Position } from './position.ts'
import { readEvents, type StoredEvent } from './read-events.ts'

/** Of an application that has only events of a few tasks, about as many as a page has entries. */
const ROWS = 1000

/** Returns the entries of the stream from a position, as JSON texts, and the id of the last one. */
export async function listEntries(
  db: Database,
  appId: string,
  from: Position,
  limit: number,
): Promise<{ list: string[]; last?: string }> {
  const page = await readEvents(db, { appId }, from, { rows: ROWS, entries: limit })
  const shown: { event: StoredEvent; part: number }[] = []
  for (const event of page.list) {
    const first = event.id === from.event ? from.part : 0
    const end = Math.min(entriesOf(event), first + limit - shown.length)
    for (let part = first; part < end; part++) shown.push({ event, part })
  }
  const ids = shown.flatMap(({ event, part }) => event.devices?.[part] ?? [])
  const devices = await devicesOfEvents(db, appId, ids, firstAt(page.list))
  const writers = new Map(page.list.map((event) => [event, entryWriter(event, devices)]))
  const end = shown.at(-1)
  return {
    list: shown.map(({ event, part }) => writers.get(event)!(part)),
    last: end && entryId(end.event.id, end.part),
  }
}
