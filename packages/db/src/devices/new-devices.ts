import { copyInto, copyText } from '../store/copy.ts'
import type { Database } from '../store/database.ts'
import { type Runner, run } from '../store/statement.ts'
import type { StoredText } from '../store/text-store.ts'
import { clearTextNeededSql } from '../store/upgrade-window.ts'
import { type DeviceChange, platformOfNew, tagsAfter } from './device-changes.ts'
import { lockUsers, UserGone } from './devices.ts'
import type { PushTokens } from './push-tokens.ts'
import type { TagNumber } from './tag-cache.ts'
import { tagsPerDevice } from './tags.ts'

/** The rows of new devices as COPY takes them. Bytes outside of the heap: a collection during the write has nothing to copy. */
export type NewRows = {
  count: number
  deviceColumns: readonly string[]
  devices: StoredText
  bindings: StoredText
  tags: StoredText
  appId: string
  /** Each once. */
  users: string[]
}

type Maker = {
  appId: string
  tokens: PushTokens
  tagNumber: TagNumber
  store(text: string): StoredText
}

const usualColumns = [
  'id',
  'app_id',
  'guid',
  'token_generation',
  'push_token_hash',
  'user_id',
  'platform',
  'alias',
] as const
const allColumns = [...usualColumns, 'locale', 'timezone', 'app_version', 'attributes', 'enabled'] as const
const bindingColumns = [
  'device_id',
  'channel',
  'app_id',
  'token',
  'environment',
  'bundle_id',
  'region',
] as const
const tagColumns = ['tag_id', 'device_id'] as const

const none: ReadonlySet<number> = new Set()

/** `ids` ascend. Undefined if one of the devices would have too many tags. No device and no token may occur twice. */
export function rowsOfNew(
  changes: readonly DeviceChange[],
  ids: readonly number[],
  { appId, tokens, tagNumber, store }: Maker,
): NewRows | undefined {
  const between = `\t${copyText(appId)}\t`
  // Most imports have none of the further fields; sending and storing empty ones costs a tenth of the import.
  const isPlain = changes.every(isPlainChange)
  const devicesOf = new Map<number, number[]>()
  // The parts of the rows, joined at the end: adding to a text makes an object for each part.
  const devices: (string | number)[] = []
  const bindings: (string | number)[] = []
  const users = new Set<string>()
  // In the order of guids, so that two commits with new devices in common wait for each other instead of deadlocking.
  const sorted = [...changes].sort(byGuid)
  for (let i = 0; i < sorted.length; i++) {
    const change = sorted[i]!
    const id = ids[i]!
    const { generation, hash } = tokens.make({ appId, guid: change.guid })
    if (change.userId) users.add(change.userId)
    devices.push(id, between, copyText(change.guid), '\t', generation, '\t\\', hash)
    devices.push(
      '\t',
      change.userId ?? '\\N',
      '\t',
      platformOfNew(change) ?? '\\N',
      '\t',
      optional(change.alias),
    )
    if (!isPlain) devices.push(further(change))
    devices.push('\n')
    for (const { channel, token, environment, bundleId, region } of change.bindings ?? []) {
      if (token === null) continue
      bindings.push(id, '\t', channel, between, copyText(token), '\t', environment)
      bindings.push('\t', optional(bundleId), '\t', optional(region), '\n')
    }
    if (!change.tags && !change.addTags) continue
    const { added } = tagsAfter(change, none, tagNumber)!
    if (added.length > tagsPerDevice) return undefined
    for (const tag of added) {
      const list = devicesOf.get(tag)
      if (list) list.push(id)
      else devicesOf.set(tag, [id])
    }
  }
  return {
    count: changes.length,
    deviceColumns: isPlain ? usualColumns : allColumns,
    devices: store(devices.join('')),
    bindings: store(bindings.join('')),
    tags: store(tagRows(devicesOf)),
    appId,
    users: [...users],
  }
}

/** Other statements store an empty text as NULL. */
const optional = (text: string | null | undefined) => copyText(text === '' ? null : text)

const byGuid = (a: DeviceChange, b: DeviceChange) => (a.guid < b.guid ? -1 : 1)

function isPlainChange({ enabled, locale, timezone, appVersion, attributes }: DeviceChange): boolean {
  return enabled !== false && !locale && !timezone && !appVersion && !attributes
}

function further({ locale, timezone, appVersion, attributes, enabled }: DeviceChange): string {
  return `\t${optional(locale)}\t${optional(timezone)}\t${optional(appVersion)}\t${optional(attributes)}\t${enabled !== false}`
}

/** In the order of the primary key. */
function tagRows(devicesOf: Map<number, number[]>): string {
  let rows = ''
  for (const [tag, ids] of [...devicesOf].sort(([a], [b]) => a - b))
    for (const id of ids) rows += `${tag}\t${id}\n`
  return rows
}

/**
 * Fails with 23505 if a device or vendor token is known, or another transaction inserts it at the same time. Throws UserGone if one of the
 * users was removed.
 */
export async function insertNew(db: Database, rows: NewRows): Promise<void> {
  const { appId, users } = rows
  const lock = async (runner: Runner) => {
    const found = await lockUsers(runner, appId, users)
    if (found.size < users.length) throw new UserGone('A user does not exist.')
  }
  const tables = [
    { table: 'device', columns: rows.deviceColumns, rows: rows.devices.bytes },
    { table: 'binding', columns: bindingColumns, rows: rows.bindings.bytes },
    { table: 'device_tag', columns: tagColumns, rows: rows.tags.bytes },
  ]
  await copyInto(
    db,
    tables.filter((table) => table.rows.length > 0),
    users.length > 0 ? lock : undefined,
  )
}

/**
 * Ids for devices that will be inserted. Undefined while tokens must be stored in clear text: such devices are inserted by a statement
 * that looks at the time. Without waiting for the disk: a crash that forgets the ids forgets the devices too.
 */
export async function drawDeviceIds(db: Database, count: number): Promise<number[] | undefined> {
  const [row] = await run<[ids: number[] | null]>(
    db.pool,
    'draw-device-ids',
    `SELECT CASE WHEN NOT ${clearTextNeededSql} THEN ARRAY(SELECT nextval(s.name) FROM generate_series(1, $1::int)) END
     FROM (SELECT pg_get_serial_sequence('device', 'id')::regclass AS name, set_config('synchronous_commit', 'off', true)) s`,
    [count],
  )
  return row![0] ?? undefined
}
