import { z } from 'zod'

/** An int64 in an answer: a JSON number with all its digits. */
export const int64Out = z.union([z.bigint(), z.int()]).meta({ type: 'integer', format: 'int64' })

export const timestamp = z.int().describe('Unix time in seconds.')
export const nullableTimestamp = timestamp.nullable()

/** Converts a Date or milliseconds to Unix seconds. */
export function seconds(time: Date | number): number {
  return Math.floor(Number(time) / 1000)
}

export function secondsOrNull(time: Date | number | null | undefined): number | null {
  return time === null || time === undefined ? null : seconds(time)
}

/** Returns the UTC day of a time in milliseconds. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

/** A reason: `code` is for programs, `reason` for readers. */
export const reasonFields = {
  code: z
    .string()
    .describe(
      'Herald’s own reasons are `herald.<name>`, those of vendors `<channel>.<vendor’s code>`; codes never change, texts may.',
    ),
  reason: z.string().describe('The same in English.'),
}

/** A page of a list. `next` is `after` (or `before`) of the next call; null on the last page. */
export function pageOf<Entry extends z.ZodType>(entry: Entry) {
  return z.object({ list: z.array(entry), next: int64Out.nullable() })
}

/** Reads a page and one row more, which tells whether there is a next page. */
export async function readPage<Row, Shown>(
  { limit = 100, after }: { limit?: number; after?: bigint },
  read: (page: { limit: number; after?: bigint }) => Promise<Row[]>,
  idOf: (row: Row) => bigint | number,
  show: (row: Row) => Shown,
): Promise<{ list: Shown[]; next: bigint | number | null }> {
  const rows = await read({ limit: limit + 1, after })
  const list = rows.slice(0, limit)
  return { list: list.map(show), next: rows.length > limit ? idOf(list.at(-1)!) : null }
}
