import type { Database } from '../store/database.ts'
import { retrying } from '../store/errors.ts'
import { insertTags, tagNumbersSql } from './tags.ts'

/** An application may have one tag per device; the cache starts again above this many names. */
const MAX_TAGS = 50_000

/** Undefined for a tag that is only to be removed and does not exist. */
export type TagNumber = (name: string) => number | undefined

type TagChange = { tags?: string[]; addTags?: string[]; removeTags?: string[] }

/**
 * Numbers the tags of devices, inserts new ones, and caches the numbers. Tags are inserted in commits of
 * their own: inside the commit of an import, imports with a new tag in common would wait for each other.
 */
export function createTagCache(db: Database, appId: string) {
  let cache = new Map<string, number>()
  return {
    /** Undefined if the database has to be asked. */
    numberIfKnown(changes: readonly TagChange[]): TagNumber | undefined {
      const known = cache
      for (const { tags, addTags, removeTags } of changes) {
        if (!tags && !addTags && !removeTags) continue
        for (const names of [tags, addTags, removeTags])
          if (names) for (const tag of names) if (!known.has(tag)) return undefined
      }
      return (name) => known.get(name)
    },
    async number(changes: readonly TagChange[]): Promise<TagNumber> {
      if (cache.size > MAX_TAGS) cache = new Map()
      // A concurrent call may start a new cache; this one keeps using the one it has.
      const known = cache
      const wanted = new Set<string>()
      const unwanted = new Set<string>()
      for (const { tags, addTags, removeTags } of changes) {
        for (const tag of tags ?? []) if (!known.has(tag)) wanted.add(tag)
        for (const tag of addTags ?? []) if (!known.has(tag)) wanted.add(tag)
        for (const tag of removeTags ?? []) if (!known.has(tag)) unwanted.add(tag)
      }
      if (wanted.size + unwanted.size > 0) {
        if (wanted.size > 0) await retrying(() => insertTags(db.pool, appId, [...wanted]))
        const { rows } = await db.pool.query<{ id: number; name: string }>(
          `SELECT id, name FROM tag WHERE id = ANY(${tagNumbersSql('$2')})`,
          [appId, [...wanted, ...unwanted]],
        )
        for (const { id, name } of rows) known.set(name, id)
      }
      return (name) => known.get(name)
    },
  }
}
