import type { Database } from '../store/database.ts'
import { retrying } from '../store/errors.ts'
import { nameTags, tagNumbers } from './tags.ts'

/** Names remembered at once; an application that tags every device by its own name must not fill the memory. */
const remembered = 50_000

export type TagNumber = (name: string) => number

/**
 * Answers the numbers of all tags of the lines given, new names included, and remembers them for the next. Names are
 * numbered in commits of their own: inside a batch's commit, batches that share a new name would wait for each other.
 */
export function openTagBook(db: Database, appId: string) {
  let known = new Map<string, number>()
  return async (lines: readonly { tags?: string[] }[]): Promise<TagNumber> => {
    if (known.size > remembered) known = new Map()
    // Whoever asks meanwhile may begin a new book; these lines stay with theirs.
    const book = known
    const unknown = new Set<string>()
    for (const { tags } of lines) for (const tag of tags ?? []) if (!book.has(tag)) unknown.add(tag)
    if (unknown.size > 0) {
      const names = [...unknown]
      await retrying(() => nameTags(db.pool, appId, names))
      const { rows } = await db.pool.query<{ id: number; name: string }>(
        `SELECT id, name FROM tag WHERE id = ANY(${tagNumbers('$2::text[]')})`,
        [appId, names],
      )
      for (const { id, name } of rows) book.set(name, id)
    }
    return (name) => book.get(name)!
  }
}
