import type { Database } from '../store/database.ts'
import { retrying } from '../store/errors.ts'
import { inTransaction, type Runner, run } from '../store/statement.ts'
import { hashOf, tokenKeySql } from './push-tokens.ts'
import { insertTags, tagsPerDevice } from './tags.ts'

/** One device, or all devices of an alias or user. */
export type DeviceKey =
  | { pushToken: string }
  | { guid: string }
  | { alias: string }
  /** A 64-bit integer in decimal. */
  | { userId: string }

const conditions = {
  pushToken: {
    column: `encode(${tokenKeySql('d')}, 'hex')`,
    isOne: `${tokenKeySql('d')} = ANY($2::bytea[])`,
  },
  guid: { column: 'd.guid', isOne: 'd.guid = ANY($2::text[])' },
  alias: { column: 'd.alias', isOne: 'd.alias = ANY($2::text[])' },
  userId: { column: 'd.user_id::text', isOne: 'd.user_id = ANY($2::bigint[])' },
}
type Kind = keyof typeof conditions

function partsOf(key: DeviceKey): [Kind, string] {
  return Object.entries(key)[0] as [Kind, string]
}

/** Returns the devices of the keys, each once, and the indexes of keys without one. */
async function resolve(
  runner: Runner,
  appId: string,
  keys: readonly DeviceKey[],
): Promise<{ ids: number[]; unknown: number[] }> {
  const ids = new Set<number>()
  const found = new Set<string>()
  for (const kind of Object.keys(conditions) as Kind[]) {
    const values = keys.flatMap((key) => {
      const [of, value] = partsOf(key)
      return of === kind ? [kind === 'pushToken' ? hashOf(value) : value] : []
    })
    if (values.length === 0) continue
    const rows = await run<[number, string]>(
      runner,
      `tag-members-${kind}`,
      `SELECT d.id, ${conditions[kind].column} FROM device d WHERE d.app_id = $1 AND ${conditions[kind].isOne}`,
      [appId, values],
    )
    for (const [id, value] of rows) {
      ids.add(id)
      found.add(`${kind} ${value}`)
    }
  }
  const isFound = (key: DeviceKey) => {
    const [kind, value] = partsOf(key)
    return found.has(`${kind} ${kind === 'pushToken' ? hashOf(value).slice(2) : value}`)
  }
  return {
    ids: [...ids].sort((a, b) => a - b),
    unknown: keys.flatMap((key, index) => (isFound(key) ? [] : [index])),
  }
}

/** Devices per commit: an alias may have any number of them. */
const CHUNK = 5000

export type TagMembers = { added: number; removed: number; unknown: DeviceKey[] }

/**
 * Adds a tag to devices, then removes it from others, and counts the devices that changed. If a device of a chunk would have too many
 * tags, its guid is returned, and nothing of this chunk is added.
 */
export async function changeTagMembers(
  db: Database,
  appId: string,
  tag: string,
  { add, remove }: { add: readonly DeviceKey[]; remove: readonly DeviceKey[] },
): Promise<TagMembers | { full: string }> {
  const adding = await resolve(db.pool, appId, add)
  const removing = await resolve(db.pool, appId, remove)
  if (adding.ids.length > 0) await retrying(() => insertTags(db.pool, appId, [tag]))
  const [row] = await run<[number]>(
    db.pool,
    'tag-number',
    'SELECT id FROM tag WHERE app_id = $1 AND name = $2',
    [appId, tag],
  )
  let [added, removed] = [0, 0]
  if (row) {
    for (let from = 0; from < adding.ids.length; from += CHUNK) {
      const result = await addToDevices(db, appId, row[0], adding.ids.slice(from, from + CHUNK), add)
      if (typeof result !== 'number') return result
      added += result
    }
    for (let from = 0; from < removing.ids.length; from += CHUNK) {
      const gone = await retrying(() =>
        run(
          db.pool,
          'untag-devices',
          'DELETE FROM device_tag WHERE tag_id = $1 AND device_id = ANY($2::bigint[]) RETURNING 1',
          [row[0], removing.ids.slice(from, from + CHUNK)],
        ),
      )
      removed += gone.length
    }
  }
  return {
    added,
    removed,
    unknown: [
      ...adding.unknown.map((index) => add[index]!),
      ...removing.unknown.map((index) => remove[index]!),
    ],
  }
}

async function addToDevices(
  db: Database,
  appId: string,
  tagId: number,
  ids: readonly number[],
  keys: readonly DeviceKey[],
): Promise<number | { full: string }> {
  return retrying(() =>
    inTransaction(db, async (runner) => {
      // In the order of the device writer. Without the lock two calls could exceed the limit together, or tag a device that is removed.
      const devices = await run<[number, string]>(
        runner,
        'tag-lock-devices',
        'SELECT id, guid FROM device WHERE id = ANY($1::bigint[]) ORDER BY guid COLLATE "C" FOR UPDATE',
        [ids],
      )
      // A device that belongs to somebody else by now must not get the tag.
      const matching = new Set((await resolve(runner, appId, keys)).ids)
      const locked = devices.map(([id]) => id).filter((id) => matching.has(id))
      const [full] = await run<[number]>(
        runner,
        'tag-full-devices',
        `SELECT d.id FROM unnest($2::bigint[]) AS d (id)
         WHERE NOT EXISTS (SELECT 1 FROM device_tag t WHERE t.tag_id = $1 AND t.device_id = d.id)
           AND (SELECT count(*) FROM device_tag t WHERE t.device_id = d.id) >= ${tagsPerDevice} LIMIT 1`,
        [tagId, locked],
      )
      if (full) return { full: devices.find(([id]) => id === full[0])![1] }
      const rows = await run(
        runner,
        'tag-devices',
        `INSERT INTO device_tag (tag_id, device_id) SELECT $1, id FROM unnest($2::bigint[]) AS d (id) ORDER BY id
         ON CONFLICT DO NOTHING RETURNING 1`,
        [tagId, locked],
      )
      return rows.length
    }),
  )
}

export type TagCount = { tag: string; devices: number }

export type TagSearch = {
  after?: string
  /** Only names that begin with it. */
  prefix?: string
  /** Devices of a tag are counted up to this number. */
  countUpTo?: number
  limit: number
}

/** Returns the tags that devices have, in the order of their names, with the number of devices. */
export async function listTags(
  db: Database,
  appId: string,
  { after, prefix, countUpTo, limit }: TagSearch,
): Promise<TagCount[]> {
  const rows = await run<[string, number]>(
    db.pool,
    'list-tags',
    // The page first: counting is done for its tags only.
    `SELECT p.name, (SELECT count(*) FROM (SELECT 1 FROM device_tag t WHERE t.tag_id = p.id LIMIT $5) c)::int FROM (
       SELECT tag.id, tag.name FROM tag WHERE tag.app_id = $1 AND ($2::text IS NULL OR tag.name > $2) AND tag.name ^@ $4::text
         AND EXISTS (SELECT 1 FROM device_tag t WHERE t.tag_id = tag.id) ORDER BY tag.name LIMIT $3
     ) p ORDER BY p.name`,
    [appId, after ?? null, limit, prefix ?? '', countUpTo ?? null],
  )
  return rows.map(([tag, devices]) => ({ tag, devices }))
}
