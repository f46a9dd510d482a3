import { devicesPerRow } from '../ledger/outbox-rows.ts'
import { firstTaskIdAt } from '../store/partitions.ts'

/** A place in the stream: the first event that is not done, and how many of its entries are. */
export type Position = { event: number; part: number }

export function isBefore(a: Position, b: Position): boolean {
  return a.event < b.event || (a.event === b.event && a.part < b.part)
}

/** An entry is named by its event and its place in it. */
export function entryId(event: number, part: number): string {
  return `${event}-${part}`
}

/** The position after an entry; undefined if the text cannot be the id of one: a page is read with as many entries more as the part says. */
export function positionAfter(id: string): Position | undefined {
  const [, event, part] = /^(\d{1,16})-(\d{1,6})$/.exec(id) ?? []
  if (event === undefined || Number(event) > Number.MAX_SAFE_INTEGER) return undefined
  if (Number(part) >= devicesPerRow) return undefined
  return { event: Number(event), part: Number(part) + 1 }
}

/** The first event that can have been added at or after this time (Unix ms). */
export function positionAt(ms: number): Position {
  return { event: Math.max(0, firstTaskIdAt(ms)), part: 0 }
}
