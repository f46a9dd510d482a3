import { z } from 'zod'

/** An int64 in an answer: a JSON number, exact, made from a number or a bigint. */
export const int64Out = z.union([z.bigint(), z.int()]).meta({ type: 'integer', format: 'int64' })

export const timestamp = z.int().describe('Unix time in seconds.')
export const nullableTimestamp = timestamp.nullable()

/** Of a Date, or of milliseconds. */
export function seconds(time: Date | number): number {
  return Math.floor(Number(time) / 1000)
}

export function secondsOrNull(time: Date | number | null | undefined): number | null {
  return time === null || time === undefined ? null : seconds(time)
}

/** Of milliseconds, in UTC. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

/** A page of a list. `next` goes into `after` (or `before`) of the next call; null on the last page. */
export function pageOf<Entry extends z.ZodType>(entry: Entry) {
  return z.object({ list: z.array(entry), next: int64Out.nullable() })
}

/** Cuts a page out of a read that asked for one entry more than the page holds. */
export function cutPage<Entry, Shown>(
  rows: Entry[],
  limit: number,
  idOf: (entry: Entry) => bigint | number,
  show: (entry: Entry) => Shown,
): { list: Shown[]; next: bigint | number | null } {
  const list = rows.slice(0, limit)
  return { list: list.map(show), next: rows.length > limit ? idOf(list.at(-1)!) : null }
}

export const DEFAULT_PAGE = 100
