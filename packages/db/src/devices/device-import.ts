import type { Platform } from '@herald/domain'
import type { Database } from '../store/database.ts'
import { codeOf, retrying } from '../store/errors.ts'
import { inTransaction, type Runner } from '../store/statement.ts'
import { column, joined } from '../store/text-columns.ts'
import { clearTextNeededSql } from '../store/upgrade-window.ts'
import { clearOwnerData } from './devices.ts'
import { type ImportBinding, importBindings, lastOfEach } from './import-bindings.ts'
import { type PushTokens, replaceTokens } from './push-tokens.ts'
import { createTagCache, type TagNumber } from './tag-cache.ts'

/** One line of an import. Absent fields of a known device stay as they are; `tags` replaces all its tags. */
export type ImportDevice = {
  guid: string
  userId?: string
  platform: Platform
  alias?: string
  tags?: string[]
  bindings: ImportBinding[]
}

export type ImportResult = {
  created: number
  updated: number
  /** Indexes of devices that were left out because their user does not exist. */
  unknownUser: number[]
}

export type DeviceImport = {
  /**
   * Upserts a list of devices in one commit. Rows are locked in a fixed order (devices by guid, bindings by device id) and a commit
   * that conflicts is repeated, so any number may run at once. Of two lines with the same guid or vendor token the later one wins.
   */
  add(devices: ImportDevice[]): Promise<ImportResult>
}

export function openDeviceImport(db: Database, tokens: PushTokens, appId: string): DeviceImport {
  // Looking up known devices and tokens costs a third of the import. It is skipped while none was found; if one is known after
  // all, the insert fails and the commit is repeated with the lookup.
  let lookUp = false
  const numberTags = createTagCache(db, appId)
  return {
    async add(devices) {
      const unknownUser = await findUnknownUsers(db, appId, devices)
      const leftOut = new Set(unknownUser)
      const lines = leftOut.size === 0 ? devices : devices.filter((_, index) => !leftOut.has(index))
      const tagNumber = await numberTags(lines)
      for (let attempt = 0; ; attempt++) {
        try {
          const lookedUp = lookUp
          const counts = await retrying(() =>
            inTransaction(db, (runner) => importOnce(runner, tokens, appId, lines, tagNumber, lookedUp)),
          )
          lookUp = counts.updated > 0
          return { ...counts, unknownUser }
        } catch (error) {
          // A guid or vendor token is known, or another transaction inserted it at the same time.
          if (codeOf(error) !== '23505' || attempt === 8) throw error
          lookUp = true
        }
      }
    },
  }
}

async function findUnknownUsers(db: Database, appId: string, devices: ImportDevice[]): Promise<number[]> {
  const named = new Set<string>()
  for (const { userId } of devices) if (userId !== undefined) named.add(userId)
  if (named.size === 0) return []
  const { rows } = await db.pool.query<{ id: string }>(
    'SELECT id::text FROM app_user WHERE app_id = $1 AND id = ANY($2::bigint[])',
    [appId, [...named]],
  )
  const known = new Set(rows.map((row) => row.id))
  return devices.flatMap(({ userId }, index) => (userId === undefined || known.has(userId) ? [] : [index]))
}

type Line = ImportDevice & { id: number; known: boolean }

async function importOnce(
  runner: Runner,
  tokens: PushTokens,
  appId: string,
  given: ImportDevice[],
  tagNumber: TagNumber,
  lookUp: boolean,
): Promise<{ created: number; updated: number }> {
  // Without the lookup, two lines for one device or token fail like a known one.
  const devices = lookUp ? lastOfEach(given, (device) => device.guid) : given.slice()
  devices.sort((a, b) => (a.guid < b.guid ? -1 : 1))
  const known = lookUp ? await lockKnown(runner, appId, devices) : new Map<string, Known>()
  const fresh = known.size === 0 ? devices : devices.filter((device) => !known.has(device.guid))
  const made = await insertDevices(runner, tokens, appId, fresh)
  const lines: Line[] = []
  let f = 0
  for (const device of devices) {
    const old = known.get(device.guid)
    lines.push(Object.assign({ id: old ? old.id : made[f++]!, known: old !== undefined }, device))
  }
  if (known.size > 0) await updateDevices(runner, tokens, appId, lines, known)
  await importBindings(runner, appId, lines, lookUp)
  await importTags(runner, lines, tagNumber)
  return { created: fresh.length, updated: known.size }
}

type Known = { id: number; userId: string | null; generation: number }

async function lockKnown(
  runner: Runner,
  appId: string,
  devices: ImportDevice[],
): Promise<Map<string, Known>> {
  const { rows } = await runner.query<[number, string, string | null, number]>({
    name: 'import-known',
    text: `SELECT id, guid, user_id::text, token_generation FROM device WHERE app_id = $1 AND guid = ANY(${column(2)})
      ORDER BY guid FOR UPDATE`,
    values: [appId, joined(devices, (device) => device.guid)],
    rowMode: 'array',
  } as never)
  return new Map(rows.map(([id, guid, userId, generation]) => [guid, { id, userId, generation }]))
}

/** Returns ids in the order of `devices`. */
async function insertDevices(
  runner: Runner,
  tokens: PushTokens,
  appId: string,
  devices: ImportDevice[],
): Promise<number[]> {
  if (devices.length === 0) return []
  const made = devices.map(({ guid }) => tokens.make({ appId, guid }))
  const { rows } = await runner.query<[number]>({
    name: 'import-insert',
    text: `INSERT INTO device (app_id, guid, token_generation, push_token_hash, push_token, user_id, platform, alias)
      SELECT $1, guid, generation::int, hash::bytea, CASE WHEN ${clearTextNeededSql} THEN token END, user_id::bigint, platform, alias
      FROM unnest(${[2, 3, 4, 5, 6, 7, 8].map(column).join(', ')})
        AS line (guid, generation, hash, token, user_id, platform, alias)
      RETURNING id`,
    values: [
      appId,
      joined(devices, (device) => device.guid),
      joined(made, ({ generation }) => generation),
      joined(made, ({ hash }) => hash),
      joined(made, ({ token }) => token),
      joined(devices, (device) => device.userId),
      joined(devices, (device) => device.platform),
      joined(devices, (device) => device.alias),
    ],
    rowMode: 'array',
  } as never)
  return rows.map(([id]) => id)
}

async function updateDevices(
  runner: Runner,
  tokens: PushTokens,
  appId: string,
  lines: Line[],
  known: Map<string, Known>,
): Promise<void> {
  const old = lines.filter((line) => line.known)
  const moved = new Set(
    old
      .filter((line) => {
        const owner = known.get(line.guid)!.userId
        return owner !== null && line.userId !== undefined && owner !== line.userId
      })
      .map((line) => line.id),
  )
  await clearOwnerData(
    runner,
    [...moved].sort((a, b) => a - b),
  )
  await replaceTokens(
    runner,
    tokens,
    old
      .filter((line) => moved.has(line.id))
      .map(({ id, guid }) => ({ id, app_id: appId, guid, token_generation: known.get(guid)!.generation })),
  )
  await runner.query(
    `UPDATE device d SET user_id = COALESCE(line.user_id::bigint, d.user_id), platform = line.platform,
       alias = COALESCE(line.alias, d.alias), moved_at = CASE WHEN line.moved <> '' THEN clock_timestamp() ELSE d.moved_at END
     FROM unnest($1::bigint[], ${column(2)}, ${column(3)}, ${column(4)}, string_to_array($5, E'\\x1f'))
       AS line (id, user_id, platform, alias, moved)
     WHERE d.id = line.id AND (line.moved <> '' OR (d.user_id, d.platform, d.alias) IS DISTINCT FROM
       (COALESCE(line.user_id::bigint, d.user_id), line.platform, COALESCE(line.alias, d.alias)))`,
    [
      old.map((line) => line.id),
      joined(old, (line) => line.userId),
      joined(old, (line) => line.platform),
      joined(old, (line) => line.alias),
      joined(old, (line) => (moved.has(line.id) ? 'm' : undefined)),
    ],
  )
}

async function importTags(runner: Runner, lines: Line[], tagNumber: TagNumber): Promise<void> {
  const tagged = lines.filter((line) => line.tags !== undefined)
  if (tagged.length === 0) return
  const pairs = tagged
    .flatMap((line) => [...new Set(line.tags)].map((tag) => ({ id: line.id, tag: tagNumber(tag) })))
    .sort((a, b) => a.tag - b.tag || a.id - b.id)
  const old = tagged.filter((line) => line.known).map((line) => line.id)
  const values = [joined(pairs, (pair) => pair.id), joined(pairs, (pair) => pair.tag)]
  const wanted = `SELECT line.tag::int, line.device::bigint FROM unnest(${column(1)}, ${column(2)}) AS line (device, tag)`
  if (old.length > 0)
    await runner.query(
      `DELETE FROM device_tag WHERE device_id = ANY($3) AND (tag_id, device_id) NOT IN (${wanted})`,
      [...values, old],
    )
  await runner.query({
    name: old.length > 0 ? 'import-tags-again' : 'import-tags',
    text: `INSERT INTO device_tag (tag_id, device_id) ${wanted} ${old.length > 0 ? 'ON CONFLICT DO NOTHING' : ''}`,
    values,
  })
}
