import { clearInboxesOf } from '../ledger/inbox-clearing.ts'
import type { Database } from '../store/database.ts'
import { type Days, daysOf } from '../store/days.ts'
import { codeOf, retrying } from '../store/errors.ts'
import { openDays } from '../store/open-days.ts'
import { indexesOnly, inTransaction, keyIs, type Runner } from '../store/statement.ts'
import { column, joined, runColumns, separator } from '../store/text-columns.ts'
import { createTextStore } from '../store/text-store.ts'
import { clearTextNeededSql } from '../store/upgrade-window.ts'
import { clearActivitiesOf } from './activities.ts'
import { writeBindings } from './binding-writer.ts'
import {
  applyChange,
  type ChangedFields,
  type DeviceChange,
  type DeviceFields,
  inRounds,
  tagsAfter,
} from './device-changes.ts'
import { clearOwnerData, lockUsers, UserGone } from './devices.ts'
import { drawDeviceIds, insertNew, type NewRows, rowsOfNew } from './new-devices.ts'
import { type NewToken, type PushTokens, replaceTokens, type TokenRow } from './push-tokens.ts'
import { createTagCache, type TagNumber } from './tag-cache.ts'
import { tagsPerDevice } from './tags.ts'

export type WrittenDevice = {
  /** `unchanged`: the device was as the change says. */
  outcome: 'created' | 'updated' | 'unchanged'
  /** Blank unless `showTokens` is set. */
  pushToken: string
}
export type RefusedDevice = { refused: 'unknown user' | 'too many tags' }
export type DeviceResult = WrittenDevice | RefusedDevice

export type DeviceWriter = {
  /**
   * Writes changes of devices, new ones included, and returns one result each, in order. Of two changes of a device or with the same
   * vendor token the later one is written later; all others share a commit. Rows are locked in a fixed order (devices by guid,
   * bindings by device id) and a commit that conflicts is repeated, so any number may run at once. Writing again what was
   * written changes nothing.
   */
  write(changes: readonly DeviceChange[]): Promise<DeviceResult[]>
  /**
   * Like `write`, for many devices that are probably new: their rows are copied into the tables, and the objects in `changes` are not
   * kept while Postgres works, so that the collector need not copy them. If a device or vendor token is known after all, `again` is
   * called for the same changes. Results have no push tokens.
   */
  insert(changes: readonly DeviceChange[], again: () => readonly DeviceChange[]): Promise<DeviceResult[]>
}

export type WriterOptions = {
  /** Whether results have push tokens; deriving them takes time that an import does not spend. */
  showTokens?: boolean
  /**
   * Devices are probably new. Looking up known devices and tokens costs a third of an import; it is skipped while none was found. If
   * one is known after all, the insert fails and the commit is repeated with the lookup.
   */
  expectNew?: boolean
}

/** The only way in which the application's own server writes devices: imports, batches and single calls. */
export function openDeviceWriter(
  db: Database,
  tokens: PushTokens,
  appId: string,
  { showTokens = false, expectNew = false }: WriterOptions = {},
): DeviceWriter {
  let lookUp = !expectNew
  const tags = createTagCache(db, appId)
  let spareIds: number[] = []
  const store = createTextStore()

  async function writeRound(changes: DeviceChange[]): Promise<DeviceResult[]> {
    const tagNumber = await tags.number(changes)
    for (let attempt = 0; ; attempt++) {
      try {
        const lookedUp = lookUp
        // New devices have no inbox.
        const days = lookedUp ? await openDays(db) : daysOf([])
        const results = await retrying(() =>
          inTransaction(
            db,
            (runner) => writeOnce({ runner, days, tokens, appId, tagNumber, showTokens }, changes, lookedUp),
            indexesOnly,
          ),
        )
        if (expectNew) lookUp = results.some((result) => 'outcome' in result && result.outcome !== 'created')
        return results
      } catch (error) {
        // A guid or vendor token is known, or another transaction inserted it at the same time.
        if (codeOf(error) !== '23505' || attempt === 8) throw error
        lookUp = true
      }
    }
  }

  async function write(changes: readonly DeviceChange[]): Promise<DeviceResult[]> {
    const results: DeviceResult[] = new Array(changes.length)
    const known = await knownUsers(db, appId, changes)
    const good: number[] = []
    changes.forEach(({ userId }, index) => {
      if (userId === undefined || userId === null || known.has(userId)) good.push(index)
      else results[index] = { refused: 'unknown user' }
    })
    for (const round of inRounds(good.map((index) => changes[index]!))) {
      const indexes = round.map((nth) => good[nth]!)
      const written = await writeRound(indexes.map((index) => changes[index]!))
      written.forEach((result, nth) => {
        results[indexes[nth]!] = result
      })
    }
    return results
  }

  /** Draws ids ahead for a call with as many devices. */
  async function drawIds(count: number): Promise<boolean> {
    const ids = await drawDeviceIds(db, count)
    if (ids) spareIds.push(...ids)
    return ids !== undefined
  }

  function rowsOf(changes: readonly DeviceChange[], tagNumber: TagNumber): NewRows | undefined {
    // Of two draws at the same time neither has all ids before those of the other.
    const ids = spareIds.slice(0, changes.length).sort((a, b) => a - b)
    spareIds = spareIds.slice(changes.length)
    return rowsOfNew(changes, ids, { tokens, appId, tagNumber, store })
  }

  /** With looks at the database, between which others may call. */
  async function prepare(changes: readonly DeviceChange[]): Promise<NewRows | undefined> {
    const users = await knownUsers(db, appId, changes)
    if (changes.some(({ userId }) => typeof userId === 'string' && !users.has(userId))) return undefined
    const tagNumber = await tags.number(changes)
    while (spareIds.length < changes.length) if (!(await drawIds(changes.length))) return undefined
    return rowsOf(changes, tagNumber)
  }

  async function insertOr(
    rows: NewRows | undefined,
    again: () => readonly DeviceChange[],
  ): Promise<DeviceResult[]> {
    if (!rows) return write(again())
    // Repeated after a lost reply it fails with 23505, if it was committed.
    try {
      await retrying(() => insertNew(db, rows))
      // Not after an error: a connection may still be sending them.
      for (const text of [rows.devices, rows.bindings, rows.tags]) text.release()
    } catch (error) {
      if (codeOf(error) === '23505') lookUp = true
      else if (!(error instanceof UserGone)) throw error
      return write(again())
    }
    if (spareIds.length < rows.count && rows.count >= MANY) await drawIds(rows.count)
    return new Array(rows.count).fill(created)
  }

  return {
    write,
    // Not async: such a function would keep `changes`.
    insert(changes, again) {
      if (lookUp || inRounds(changes).length > 1) return write(changes)
      const tagNumber = tags.numberIfKnown(changes)
      if (!tagNumber || spareIds.length < changes.length || changes.some(({ userId }) => userId))
        return prepare(changes).then((rows) => insertOr(rows, again))
      return insertOr(rowsOf(changes, tagNumber), again)
    },
  }
}

const created: WrittenDevice = { outcome: 'created', pushToken: '' }
/** With fewer devices, another call is not expected. */
const MANY = 500

function namedUsers(changes: readonly DeviceChange[]): Set<string> {
  const named = new Set<string>()
  for (const { userId } of changes) if (typeof userId === 'string') named.add(userId)
  return named
}

/** Changes of unknown users are left out of the commit, which looks again. */
async function knownUsers(
  db: Database,
  appId: string,
  changes: readonly DeviceChange[],
): Promise<Set<string>> {
  const named = namedUsers(changes)
  if (named.size === 0) return named
  const { rows } = await db.pool.query<{ id: string }>(
    'SELECT id::text FROM app_user WHERE app_id = $1 AND id = ANY($2::bigint[])',
    [appId, [...named]],
  )
  return new Set(rows.map((row) => row.id))
}

type Writing = {
  runner: Runner
  /** Of the messages in inboxes. */
  days: Days
  tokens: PushTokens
  appId: string
  tagNumber: TagNumber
  showTokens: boolean
}

type Known = TokenRow & DeviceFields & { id: number }

/** A change on its way: `id` is 0 until the device is inserted. */
type Line = {
  change: DeviceChange
  known?: Known
  id: number
  changed: ChangedFields
  tags?: ReturnType<typeof tagsAfter>
  made?: NewToken
  isTouched: boolean
  refused?: RefusedDevice['refused']
}

async function writeOnce(
  writing: Writing,
  changes: DeviceChange[],
  lookUp: boolean,
): Promise<DeviceResult[]> {
  const named = namedUsers(changes)
  const users = named.size > 0 ? await lockUsers(writing.runner, writing.appId, [...named]) : named
  const known = lookUp ? await lockKnown(writing, changes) : new Map<string, Known>()
  const given = changes.map((change): Line => {
    const row = known.get(change.guid)
    const changed = applyChange(change, row)
    const refused = change.userId && !users.has(change.userId) ? 'unknown user' : undefined
    return { change, known: row, id: row?.id ?? 0, changed, isTouched: !row || changed.isChanged, refused }
  })
  await decideTags(writing, given)
  const lines = given.filter((line) => !line.refused).sort((a, b) => (a.change.guid < b.change.guid ? -1 : 1))
  await insertDevices(
    writing,
    lines.filter((line) => !line.known),
  )
  const old = lines.filter((line) => line.known)
  const replaced = old.length > 0 ? await updateDevices(writing, old) : new Map<number, string>()
  const rebound = await writeBindings(
    writing.runner,
    writing.appId,
    lines.map(({ id, known, change }) => ({
      id,
      known: known !== undefined,
      bindings: change.bindings,
    })),
    lookUp,
  )
  await writeTags(writing.runner, lines, old.length > 0)
  const shown = writing.showTokens ? await shownTokens(writing, old, replaced) : undefined
  return given.map(({ id, known, made, refused, tags, isTouched }): DeviceResult => {
    if (refused) return { refused }
    const retagged = tags !== undefined && tags.added.length + tags.removed.length > 0
    return {
      outcome: !known ? 'created' : isTouched || retagged || rebound.has(id) ? 'updated' : 'unchanged',
      pushToken: shown ? (made?.token ?? shown.get(id)!) : '',
    }
  })
}

/** Locks the known ones of these devices in the order of their guids. */
async function lockKnown(
  { runner, appId, showTokens }: Writing,
  changes: DeviceChange[],
): Promise<Map<string, Known>> {
  const guids = changes.map(({ guid }) => guid).sort()
  const columns = await runColumns(
    runner,
    showTokens ? 'write-known-tokens' : 'write-known',
    showTokens ? [...knownColumns, ...shownColumns] : knownColumns,
    // The subquery is searched for each line in turn, and in the order of the lines.
    `FROM unnest(${column(2)}) AS line (guid)
     CROSS JOIN LATERAL (SELECT * FROM device WHERE ${keyIs(['guid', 'app_id'], ['line.guid', '$1'])} FOR UPDATE) d`,
    [appId, joined(guids, (guid) => guid)],
  )
  const [ids, known, generations, users, platforms, aliases, locales, timezones, versions, attributes] =
    columns as unknown as Columns
  const [disabled, clear, hashes, legacy] = columns.slice(10) as unknown as Columns
  const rows = new Map<string, Known>()
  for (let i = 0; i < ids.length; i++)
    rows.set(known[i]!, {
      id: Number(ids[i]),
      app_id: appId,
      guid: known[i]!,
      token_generation: Number(generations[i]),
      push_token: clear?.[i] || null,
      push_token_hash: bytesOf(hashes?.[i]),
      legacy_push_token: bytesOf(legacy?.[i]),
      userId: users[i] || null,
      platform: platforms[i] || null,
      alias: aliases[i] || null,
      locale: locales[i] || null,
      timezone: timezones[i] || null,
      appVersion: versions[i] || null,
      attributes: attributes[i] || null,
      enabled: disabled[i] === '',
    })
  return rows
}

type Columns = [
  string[],
  string[],
  string[],
  string[],
  string[],
  string[],
  string[],
  string[],
  string[],
  string[],
]

const knownColumns = [
  'd.id',
  'd.guid',
  'd.token_generation',
  'd.user_id',
  'd.platform',
  'd.alias',
  'd.locale',
  'd.timezone',
  'd.app_version',
  'd.attributes',
  "CASE WHEN NOT d.enabled THEN 'd' END",
] as const
const shownColumns = [
  'd.push_token',
  "encode(d.push_token_hash, 'hex')",
  "encode(d.legacy_push_token, 'hex')",
] as const

function bytesOf(hex: string | undefined): Buffer | null {
  return hex ? Buffer.from(hex, 'hex') : null
}

/** Computes the tags of each device. A device that would have too many is left out of the commit. */
async function decideTags({ runner, tagNumber }: Writing, lines: Line[]): Promise<void> {
  const tagged = lines.filter(({ change }) => change.tags || change.addTags || change.removeTags)
  if (tagged.length === 0) return
  const current = new Map<number, Set<number>>()
  // Of a device that changes its owner the tags are cleared.
  const kept = tagged.filter(({ known, changed }) => known && !changed.ownerChanged).map(({ id }) => id)
  if (kept.length > 0) {
    const { rows } = await runner.query<[number, number]>({
      name: 'write-known-tags',
      text: 'SELECT device_id, tag_id FROM device_tag WHERE device_id = ANY($1)',
      values: [kept],
      rowMode: 'array',
    } as never)
    for (const [deviceId, tagId] of rows) {
      const tags = current.get(deviceId)
      if (tags) tags.add(tagId)
      else current.set(deviceId, new Set([tagId]))
    }
  }
  const none = new Set<number>()
  for (const line of tagged) {
    line.tags = tagsAfter(line.change, current.get(line.id) ?? none, tagNumber)
    // One that has too many already may lose some.
    if (line.tags!.total > tagsPerDevice && line.tags!.added.length > 0) line.refused ??= 'too many tags'
  }
}

/** `lines` in the order of guids, so that two commits with new devices in common wait for each other instead of deadlocking. */
async function insertDevices({ runner, tokens, appId }: Writing, lines: Line[]): Promise<void> {
  if (lines.length === 0) return
  for (const line of lines) line.made = tokens.make({ appId, guid: line.change.guid })
  const values = [
    appId,
    joined(lines, ({ change }) => change.guid),
    joined(lines, ({ made }) => made!.generation),
    joined(lines, ({ made }) => made!.hash),
    joined(lines, ({ made }) => made!.token),
    ...fieldColumns(lines, usualFields),
  ]
  // Most imports have none of the further fields; sending and storing empty ones costs a tenth of the import.
  const isPlain = lines.every(
    ({ changed: { fields } }) =>
      fields.enabled !== false &&
      !fields.locale &&
      !fields.timezone &&
      !fields.appVersion &&
      !fields.attributes,
  )
  if (!isPlain) values.push(...fieldColumns(lines, furtherFields), disabledColumn(lines))
  const [further, furtherValues, furtherColumns] = isPlain
    ? ['', '', '']
    : [
        ', locale, timezone, app_version, attributes, enabled',
        `, locale, timezone, app_version, attributes::jsonb, disabled IS NULL`,
        ', locale, timezone, app_version, attributes, disabled',
      ]
  const { rows } = await runner.query<[number]>({
    name: isPlain ? 'write-insert' : 'write-insert-all',
    text: `INSERT INTO device (app_id, guid, token_generation, push_token_hash, push_token, user_id, platform, alias ${further})
      SELECT $1, guid, generation::int, hash::bytea, CASE WHEN ${clearTextNeededSql} THEN token END, user_id::bigint, platform,
        alias ${furtherValues}
      FROM unnest(${values.slice(1).map((_, i) => column(i + 2))})
        AS line (guid, generation, hash, token, user_id, platform, alias ${furtherColumns})
      RETURNING id`,
    values,
    rowMode: 'array',
  } as never)
  lines.forEach((line, i) => {
    line.id = rows[i]![0]
  })
}

const usualFields = ['userId', 'platform', 'alias'] as const
const furtherFields = ['locale', 'timezone', 'appVersion', 'attributes'] as const

function fieldColumns(lines: Line[], names: readonly Exclude<keyof DeviceFields, 'enabled'>[]): string[] {
  return names.map((name) => joined(lines, ({ changed }) => changed.fields[name] ?? undefined))
}

const disabledColumn = (lines: Line[]) =>
  joined(lines, ({ changed }) => (changed.fields.enabled === false ? 'd' : undefined))

/** Returns the push tokens that were replaced, by device. */
async function updateDevices({ runner, days, tokens }: Writing, old: Line[]): Promise<Map<number, string>> {
  const disowned = old.filter(({ changed }) => changed.ownerChanged)
  await clearOwnerData(runner, days, idsOf(disowned))
  const replaced = await replaceTokens(
    runner,
    tokens,
    disowned.map(({ known }) => known!),
  )
  const unwanted = old.filter(
    ({ changed }) => !changed.ownerChanged && (changed.personChanged || changed.disabled),
  )
  if (unwanted.length > 0) await clearInboxesOf(runner, days, idsOf(unwanted))
  const handedOver = unwanted.filter(({ changed }) => changed.personChanged)
  if (handedOver.length > 0) await clearActivitiesOf(runner, idsOf(handedOver))
  const changed = old.filter((line) => line.changed.isChanged)
  if (changed.length > 0)
    await runner.query({
      name: 'write-update',
      text: `UPDATE device d SET user_id = line.user_id::bigint, platform = line.platform, alias = line.alias, locale = line.locale,
         timezone = line.timezone, app_version = line.app_version, attributes = line.attributes::jsonb,
         enabled = line.disabled IS NULL, moved_at = CASE WHEN line.moved IS NULL THEN d.moved_at ELSE clock_timestamp() END
       FROM unnest($1::bigint[], ${Array.from({ length: 9 }, (_, i) => column(i + 2))})
         AS line (id, user_id, platform, alias, locale, timezone, app_version, attributes, disabled, moved)
       WHERE d.id = line.id`,
      values: [
        changed.map(({ id }) => id),
        ...fieldColumns(changed, [...usualFields, ...furtherFields]),
        disabledColumn(changed),
        joined(changed, (line) => (line.changed.personChanged ? 'm' : undefined)),
      ],
    })
  return new Map(disowned.map(({ id }, i) => [id, replaced[i]!]))
}

const idsOf = (lines: Line[]) => lines.map(({ id }) => id).sort((a, b) => a - b)

async function writeTags(runner: Runner, lines: Line[], someKnown: boolean): Promise<void> {
  const wanted = `SELECT line.tag::int, line.device::bigint FROM unnest(${column(1)}, ${column(2)}) AS line (device, tag)`
  const removed = tagColumns(lines, 'removed')
  if (removed)
    await runner.query({
      name: 'write-untag',
      text: `DELETE FROM device_tag WHERE (tag_id, device_id) IN (${wanted})`,
      values: removed,
    })
  const added = tagColumns(lines, 'added')
  if (added)
    await runner.query({
      name: someKnown ? 'write-tags-again' : 'write-tags',
      text: `INSERT INTO device_tag (tag_id, device_id) ${wanted} ${someKnown ? 'ON CONFLICT DO NOTHING' : ''}`,
      values: added,
    })
}

/** The devices and their tags as two columns, in the order of the primary key; undefined if there are none. */
function tagColumns(lines: Line[], which: 'added' | 'removed'): [devices: string, tags: string] | undefined {
  const devicesOf = new Map<number, number[]>()
  for (const { id, tags } of lines)
    for (const tag of tags?.[which] ?? []) {
      const devices = devicesOf.get(tag)
      if (devices) devices.push(id)
      else devicesOf.set(tag, [id])
    }
  if (devicesOf.size === 0) return undefined
  const groups = [...devicesOf].sort(([a], [b]) => a - b)
  const devices = groups.map(([, ids]) => ids.sort((a, b) => a - b).join(separator))
  const tags = groups.map(([tag, ids]) => `${tag}${`${separator}${tag}`.repeat(ids.length - 1)}`)
  return [devices.join(separator), tags.join(separator)]
}

async function shownTokens(
  { runner, tokens }: Writing,
  old: Line[],
  replaced: Map<number, string>,
): Promise<Map<number, string>> {
  const shown = new Map(replaced)
  const lost: Known[] = []
  for (const { id, known } of old) {
    if (shown.has(id)) continue
    const token = tokens.tokenOf(known!)
    if (token !== undefined) shown.set(id, token)
    else lost.push(known!)
  }
  const renewed = await replaceTokens(runner, tokens, lost)
  lost.forEach(({ id }, i) => {
    shown.set(id, renewed[i]!)
  })
  return shown
}
