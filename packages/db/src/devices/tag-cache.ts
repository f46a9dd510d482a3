import type { Database } from '../store/database.ts'
import { retrying } from '../store/errors.ts'
import { insertTags, tagNumbersSql } from './tags.ts'

/** An application may have one tag per device; the cache starts again above this many names. */
const MAX_TAGS = 50_000

export type TagNumber = (name: string) => number

/**
 * Returns a function that numbers the tags of devices, inserts new ones, and caches the numbers. Tags are inserted in commits of
 * their own: inside the commit of an import, imports with a new tag in common would wait for each other.
 */
export function createTagCache(db: Database, appId: string) {
  let cache = new Map<string, number>()
  return async (lines: readonly { tags?: string[] }[]): Promise<TagNumber> => {
    if (cache.size > MAX_TAGS) cache = new Map()
    // A concurrent call may start a new cache; this one keeps using the one it has.
    const known = cache
    const unknown = new Set<string>()
    for (const { tags } of lines) for (const tag of tags ?? []) if (!known.has(tag)) unknown.add(tag)
    if (unknown.size > 0) {
      const names = [...unknown]
      await retrying(() => insertTags(db.pool, appId, names))
      const { rows } = await db.pool.query<{ id: number; name: string }>(
        `SELECT id, name FROM tag WHERE id = ANY(${tagNumbersSql('$2')})`,
        [appId, names],
      )
      for (const { id, name } of rows) known.set(name, id)
    }
    return (name) => known.get(name)!
  }
}
