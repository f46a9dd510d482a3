import {
  type AuditAction,
  type Environment,
  environmentOf,
  type Platform,
  parseExact,
  type VendorChannel,
  vendorChannels,
} from '@herald/domain'
import { addAudit, type By } from '../ledger/audit-rows.ts'
import { clearInboxesOf } from '../ledger/inbox-clearing.ts'
import type { Database } from '../store/database.ts'
import type { Days } from '../store/days.ts'
import { retrying, retryingStatement } from '../store/errors.ts'
import { openDays } from '../store/open-days.ts'
import { DAY_MS } from '../store/partitions.ts'
import { inTransaction, type Runner } from '../store/statement.ts'
import { clearTextNeededSql } from '../store/upgrade-window.ts'
import { clearActivitiesOf } from './activities.ts'
import { retireAllBindings } from './bindings.ts'
import { isSeenLongAgoSql, seenNowSql } from './last-seen.ts'
import {
  currentToken,
  type FoundDevice,
  hashOf,
  type PushTokens,
  replaceTokens,
  replaceTokensOfUser,
  type TokenRow,
  tokenColumns,
  tokenKeySql,
} from './push-tokens.ts'
import { tagNumbersSql } from './tags.ts'

export type Device = {
  deviceId: number
  guid: string
  userId: bigint | null
  platform: Platform | null
  alias: string | null
  /** False: it receives nothing. */
  enabled: boolean
  /** Another one with every push token, and so with every owner. */
  tokenGeneration: number
}

/** The user does not exist any more. */
export class UserGone extends Error {}

/**
 * Locks users until the transaction ends and returns those that exist: one who is removed before the commit would leave a device. Called
 * before devices are locked, in the order in which the removal of a user locks them.
 */
export async function lockUsers(runner: Runner, appId: string, ids: readonly string[]): Promise<Set<string>> {
  const { rows } = await runner.query<{ id: string }>(
    `SELECT u.id::text FROM app_user u WHERE u.app_id = $1 AND u.id = ANY($2::bigint[])
     ORDER BY u.id FOR KEY SHARE`,
    [appId, ids],
  )
  return new Set(rows.map((row) => row.id))
}

/**
 * Makes the user the owner of the device with this guid, which is created if unknown. If the device had another owner, its push
 * token is replaced and its alias, tags, badge and inbox are cleared; its vendor tokens stay, because they belong to the
 * installation. Throws UserGone, also if the tokens of the user were revoked since `tokenVersion` was read: the push token would be a new one.
 */
export async function claimDevice(
  db: Database,
  tokens: PushTokens,
  claim: { appId: string; guid: string; userId: bigint; tokenVersion?: number },
): Promise<{ deviceId: number; pushToken: string }> {
  const { appId, guid, userId, tokenVersion } = claim
  const days = await openDays(db)
  return retrying(() =>
    inTransaction(db, async (runner) => {
      const { rowCount } = await runner.query(
        'SELECT FROM app_user WHERE app_id = $1 AND id = $2 AND token_version = coalesce($3, token_version) FOR SHARE',
        [appId, userId, tokenVersion ?? null],
      )
      if (rowCount === 0) throw new UserGone('The user does not exist, or its tokens were revoked.')
      for (;;) {
        const known = await lockDevice(runner, appId, guid)
        if (known) return moveDevice(runner, days, tokens, known, userId)
        const created = await createDevice(runner, tokens, claim)
        if (created) return { deviceId: created.id, pushToken: created.pushToken }
      }
    }),
  )
}

async function moveDevice(runner: Runner, days: Days, tokens: PushTokens, device: Found, userId: bigint) {
  const result = { deviceId: device.id, pushToken: await currentToken(runner, tokens, device) }
  if (device.user_id === String(userId)) {
    if (device.isSeenLongAgo) await touch(runner, device.id)
    return result
  }
  if (device.user_id !== null) {
    await clearOwnerData(runner, days, [device.id])
    result.pushToken = (await replaceTokens(runner, tokens, [device]))[0]!
  }
  // By the wall clock, as late as possible: messages planned until now were for the former owner.
  await runner.query(
    `UPDATE device SET user_id = $2, moved_at = CASE WHEN user_id IS NULL THEN moved_at ELSE clock_timestamp() END,
       last_seen = ${seenNowSql('device')} WHERE id = $1`,
    [device.id, userId],
  )
  return result
}

export type Registration = {
  appId: string
  guid: string
  platform?: Platform
  /** Proves that the caller knows the device. */
  pushToken?: string
  /** The user who calls. */
  userId?: bigint
}
export type Registered =
  | { pushToken: string }
  /** `off`: the application does not allow it. `known`: the caller did not prove that the device is its own. */
  | { refused: 'off' | 'known' }
  | { refused: 'limit'; waitSeconds: number }

/** Registers a device without a user, if its application allows it and its limit per day is not reached. */
export async function registerDevice(
  db: Database,
  tokens: PushTokens,
  registration: Registration,
): Promise<Registered> {
  const { appId, guid, platform } = registration
  return retrying(() =>
    inTransaction(db, async (runner): Promise<Registered> => {
      const { rows } = await runner.query<{ register: boolean }>(
        'SELECT register FROM application_setting WHERE app_id = $1',
        [appId],
      )
      if (!rows[0]?.register) return { refused: 'off' }
      for (;;) {
        const known = await lockDevice(runner, appId, guid)
        if (known) return registerAgain(runner, tokens, known, registration)
        const waitSeconds = await countRegistration(runner, appId)
        if (waitSeconds > 0) return { refused: 'limit', waitSeconds }
        const created = await createDevice(runner, tokens, { appId, guid, platform })
        if (created) return { pushToken: created.pushToken }
      }
    }),
  )
}

async function registerAgain(
  runner: Runner,
  tokens: PushTokens,
  known: Found,
  { userId, pushToken, platform }: Registration,
): Promise<Registered> {
  const isOwner = userId !== undefined && known.user_id === String(userId)
  if (!isOwner && (pushToken === undefined || pushToken !== tokens.tokenOf(known)))
    return { refused: 'known' }
  if (platform && platform !== known.platform)
    await runner.query('UPDATE device SET platform = $2 WHERE id = $1', [known.id, platform])
  if (known.isSeenLongAgo) await touch(runner, known.id)
  return { pushToken: await currentToken(runner, tokens, known) }
}

/** Counts a registration of today. Returns 0, or the seconds until the next day (UTC) if the limit is reached. */
async function countRegistration(runner: Runner, appId: string): Promise<number> {
  const today = `(now() AT TIME ZONE 'UTC')::date`
  const { rowCount } = await runner.query(
    `UPDATE application_setting SET registered_on = ${today},
       registered = CASE WHEN registered_on = ${today} THEN registered + 1 ELSE 1 END
     WHERE app_id = $1 AND register_per_day > CASE WHEN registered_on = ${today} THEN registered ELSE 0 END`,
    [appId],
  )
  return rowCount === 1 ? 0 : Math.ceil((DAY_MS - (Date.now() % DAY_MS)) / 1000)
}

/** Replaces the push token of a device. Returns undefined if there is no such device in the scope. */
export async function replacePushToken(
  db: Database,
  tokens: PushTokens,
  scope: { appId: string; groupId?: bigint },
  guid: string,
  by?: By,
): Promise<string | undefined> {
  return retrying(() =>
    inTransaction(db, async (runner) => {
      const { rows } = await runner.query<TokenRow & { id: number }>(
        `SELECT id, ${tokenColumns('d')} FROM device d WHERE app_id = $1 AND guid = $2 AND ($3::bigint IS NULL OR EXISTS (
           SELECT 1 FROM group_member m WHERE m.group_id = $3 AND m.user_id = d.user_id)) FOR UPDATE OF d`,
        [scope.appId, guid, scope.groupId ?? null],
      )
      const [token] = await replaceTokens(runner, tokens, rows)
      if (by && token !== undefined)
        await addAudit(runner, deviceEntry(scope.appId, by, 'device.token', guid))
      return token
    }),
  )
}

type Found = TokenRow & {
  id: number
  user_id: string | null
  platform: string | null
  isSeenLongAgo: boolean
}
const foundColumns = `id, user_id::text, platform, ${tokenColumns('device')}, ${isSeenLongAgoSql('device')} AS "isSeenLongAgo"`

/** Before an insert, because an upsert uses up an id every time, and broadcasts are planned by ranges of ids. */
async function lockDevice(runner: Runner, appId: string, guid: string): Promise<Found | undefined> {
  const { rows } = await runner.query<Found>(
    `SELECT ${foundColumns} FROM device WHERE app_id = $1 AND guid = $2 FOR UPDATE`,
    [appId, guid],
  )
  return rows[0]
}

async function touch(runner: Runner, deviceId: number): Promise<void> {
  await runner.query('UPDATE device SET last_seen = now() WHERE id = $1', [deviceId])
}

/** Returns undefined if another transaction has created it. */
async function createDevice(
  runner: Runner,
  tokens: PushTokens,
  wanted: { appId: string; guid: string; userId?: bigint; platform?: Platform },
): Promise<{ id: number; pushToken: string } | undefined> {
  const { appId, guid, userId, platform } = wanted
  const { token, hash, generation } = tokens.make(wanted)
  const { rows } = await runner.query<{ id: number }>(
    `INSERT INTO device (app_id, guid, user_id, platform, token_generation, push_token_hash, push_token, last_seen)
     VALUES ($1, $2, $3, $4, $5, $6::bytea, CASE WHEN ${clearTextNeededSql} THEN $7::text END, now())
     ON CONFLICT (app_id, guid) DO NOTHING RETURNING id`,
    [appId, guid, userId ?? null, platform ?? null, generation, hash, token],
  )
  return rows[0] && { id: rows[0].id, pushToken: token }
}

const columns = `d.id AS "deviceId", d.guid, d.user_id::text AS "userId", d.platform, d.alias, d.enabled,
  d.token_generation AS "tokenGeneration"`
type Row<D extends Device> = Omit<D, 'userId'> & { userId: string | null }

function deviceOf<D extends Device>(row: Row<D>): Omit<D, 'userId'> & { userId: bigint | null } {
  return { ...row, userId: row.userId === null ? null : BigInt(row.userId) }
}

export async function findDevice(
  db: Database,
  appId: string,
  by: { pushToken: string } | { guid: string },
): Promise<(Device & { isSeenLongAgo: boolean }) | undefined> {
  const [name, condition, value] =
    'guid' in by
      ? ['guid', 'd.guid = $2', by.guid]
      : ['push-token', `${tokenKeySql('d')} = $2::bytea`, hashOf(by.pushToken)]
  const { rows } = await db.pool.query<Row<Device & { isSeenLongAgo: boolean }>>({
    name: `find-device-by-${name}`,
    text: `SELECT ${columns}, ${isSeenLongAgoSql('d')} AS "isSeenLongAgo" FROM device d WHERE d.app_id = $1 AND ${condition}`,
    values: [appId, value],
  })
  return rows[0] && deviceOf(rows[0])
}

/**
 * Another alias is another person, as for the application's own server (`applyChange`): messages that wait or are on their way are not for
 * it any more. Returns false if the device was removed or has another push token.
 */
export async function setAlias(
  db: Database,
  appId: string,
  device: FoundDevice,
  alias: string | null,
): Promise<boolean> {
  // The first alias, or the same again: most calls.
  const { rowCount } = await retryingStatement(() =>
    db.pool.query(`UPDATE device SET alias = $4 WHERE ${isFoundSql} AND (alias IS NULL OR alias = $4)`, [
      device.deviceId,
      appId,
      device.tokenGeneration,
      alias,
    ]),
  )
  return rowCount === 1 || (await changeAlias(db, appId, device, alias)) !== undefined
}

/**
 * Clears the alias, with `expected` only if it is that: a person who logs out must not take the alias of the next one. Returns the alias
 * that the device has then; undefined if it was removed or has another push token.
 */
export async function clearAlias(
  db: Database,
  appId: string,
  device: FoundDevice,
  expected?: string,
): Promise<{ alias: string | null } | undefined> {
  return changeAlias(db, appId, device, null, expected)
}

const isFoundSql = 'id = $1 AND app_id = $2 AND token_generation = $3'

async function changeAlias(
  db: Database,
  appId: string,
  { deviceId, tokenGeneration }: FoundDevice,
  alias: string | null,
  expected?: string,
): Promise<{ alias: string | null } | undefined> {
  const days = await openDays(db)
  return retrying(() =>
    inTransaction(db, async (runner) => {
      const { rows } = await runner.query<{ alias: string | null }>(
        `SELECT alias FROM device WHERE ${isFoundSql} FOR UPDATE`,
        [deviceId, appId, tokenGeneration],
      )
      const present = rows[0]
      if (!present || (expected !== undefined && present.alias !== expected)) return present
      const isOther = present.alias !== null && present.alias !== alias
      if (isOther) {
        await clearInboxesOf(runner, days, [deviceId])
        await clearActivitiesOf(runner, [deviceId])
      }
      // By the wall clock, as in `moveDevice`.
      await runner.query(
        'UPDATE device SET alias = $2, moved_at = CASE WHEN $3 THEN clock_timestamp() ELSE moved_at END WHERE id = $1',
        [deviceId, alias, isOther],
      )
      return { alias }
    }),
  )
}

/** Returns false if the device was removed or has another push token. */
export async function setBadge(
  db: Database,
  appId: string,
  { deviceId, tokenGeneration }: FoundDevice,
  badge: number,
): Promise<boolean> {
  const { rowCount } = await retryingStatement(() =>
    db.pool.query(
      `WITH found AS MATERIALIZED (
         SELECT id FROM device WHERE id = $1 AND app_id = $2 AND token_generation = $3 FOR NO KEY UPDATE
       )
       SELECT show_badges(ARRAY[id], ARRAY[$4::int], false) FROM found`,
      [deviceId, appId, tokenGeneration, badge],
    ),
  )
  return rowCount === 1
}

/**
 * Returns whether the device existed, and with `tokenGeneration` whether it still had that. Late receipts still find it by its retired
 * vendor tokens.
 */
export async function removeDevice(
  db: Database,
  appId: string,
  deviceId: number,
  { by, tokenGeneration }: { by?: By; tokenGeneration?: number } = {},
): Promise<boolean> {
  const days = await openDays(db)
  return retrying(() =>
    inTransaction(db, async (runner) => {
      const { rows } = await runner.query<{ guid: string }>(
        `DELETE FROM device WHERE id = $1 AND app_id = $2 AND ($3::int IS NULL OR token_generation = $3)
         RETURNING guid`,
        [deviceId, appId, tokenGeneration ?? null],
      )
      const removed = rows[0]
      if (!removed) return false
      await retireAllBindings(runner, appId, deviceId)
      await clearOwnerData(runner, days, [deviceId])
      // Its gateway notices and closes the connection.
      await runner.query('DELETE FROM presence WHERE device_id = $1', [deviceId])
      if (by) await addAudit(runner, deviceEntry(appId, by, 'device.remove', removed.guid))
      return true
    }),
  )
}

function deviceEntry(appId: string, by: By, action: AuditAction, guid: string) {
  return { appId, by, action, detail: { device_guid: guid } }
}

/** Removes a deleted user from its devices, whose push tokens end. */
export async function disownDevicesOf(
  runner: Runner,
  days: Days,
  tokens: PushTokens,
  appId: string,
  userId: bigint,
): Promise<void> {
  const ids = await replaceTokensOfUser(runner, tokens, appId, userId)
  await clearOwnerData(runner, days, ids)
  await runner.query(
    'UPDATE device SET user_id = NULL, alias = NULL, moved_at = clock_timestamp() WHERE id = ANY($1)',
    [ids],
  )
}

/** Clears what belongs to the owner of a device and not to the installation. `days` as in `clearInboxesOf`. */
export async function clearOwnerData(runner: Runner, days: Days, deviceIds: number[]): Promise<void> {
  if (deviceIds.length === 0) return
  await runner.query('UPDATE device SET alias = NULL WHERE id = ANY($1) AND alias IS NOT NULL', [deviceIds])
  await runner.query('DELETE FROM device_tag WHERE device_id = ANY($1)', [deviceIds])
  await runner.query('SELECT clear_badges($1)', [deviceIds])
  await clearActivitiesOf(runner, deviceIds)
  await clearInboxesOf(runner, days, deviceIds)
}

export type DeviceFilter = {
  userId?: bigint
  alias?: string
  tag?: string
  /** A vendor token or a push token. */
  token?: string
  guid?: string
}

export type DeviceDetails = Device & {
  /** Blank if it cannot be shown: see PushTokens. The next login returns a new one. */
  pushToken: string
  locale: string | null
  timezone: string | null
  appVersion: string | null
  attributes: Record<string, string | number | bigint | boolean> | null
  /** When the app last called or connected, exact to an hour. */
  lastSeen: Date | null
  tags: string[]
  badge: number
  online: boolean
  bindings: {
    channel: VendorChannel
    environment: Environment
    token: string
    bundleId: string | null
    region: string | null
    registeredAt: Date
  }[]
  createdAt: Date
}

/** In the order of ids, so that later pages cost no more than the first. */
export async function listDevices(
  db: Database,
  tokens: PushTokens,
  scope: { appId: string; groupId?: bigint },
  filter: DeviceFilter,
  page: { after?: bigint; limit: number },
): Promise<DeviceDetails[]> {
  const values: unknown[] = [scope.appId, page.after ?? 0n, page.limit]
  const parameter = (value: unknown) => `$${values.push(value)}` as const
  const conditions = ['d.app_id = $1', 'd.id > $2']
  if (scope.groupId !== undefined)
    conditions.push(
      `EXISTS (SELECT 1 FROM group_member m WHERE m.group_id = ${parameter(scope.groupId)} AND m.user_id = d.user_id)`,
    )
  if (filter.userId !== undefined) conditions.push(`d.user_id = ${parameter(filter.userId)}`)
  if (filter.alias !== undefined) conditions.push(`d.alias = ${parameter(filter.alias)}`)
  if (filter.guid !== undefined) conditions.push(`d.guid = ${parameter(filter.guid)}`)
  if (filter.tag !== undefined)
    conditions.push(
      `d.id IN (SELECT device_id FROM device_tag
        WHERE tag_id = ANY(${tagNumbersSql(parameter([filter.tag]))}) AND device_id > $2)`,
    )
  if (filter.token !== undefined) {
    const token = parameter(filter.token)
    conditions.push(
      `d.id IN (SELECT device_id FROM binding WHERE app_id = $1 AND channel = ANY(${parameter(vendorChannels)}) AND token = ${token}
       UNION ALL SELECT id FROM device p WHERE ${tokenKeySql('p')} = ${parameter(hashOf(filter.token))}::bytea)`,
    )
  }
  type Listed = Omit<DeviceDetails, 'bindings' | 'pushToken' | 'attributes'> & {
    bindings: BindingJson[]
    attributes: string | null
  }
  const { rows } = await db.pool.query<Row<Listed> & TokenRow>(
    `WITH page AS (SELECT d.* FROM device d WHERE ${conditions.join(' AND ')} ORDER BY d.id LIMIT $3)
     SELECT ${columns}, ${tokenColumns('d')}, d.created_at AS "createdAt", d.locale, d.timezone, d.app_version AS "appVersion",
       d.attributes::text AS attributes, d.last_seen AS "lastSeen",
       ARRAY(SELECT name FROM device_tag t JOIN tag ON tag.id = t.tag_id WHERE t.device_id = d.id ORDER BY name) AS tags,
       badge_of(d.id) AS badge,
       EXISTS (SELECT 1 FROM presence p JOIN gateway_node n ON n.id = p.node AND n.lease_until > now()
               WHERE p.device_id = d.id) AS online,
       COALESCE((SELECT json_agg(b ORDER BY b.channel) FROM binding b WHERE b.device_id = d.id), '[]') AS bindings
     FROM page d ORDER BY d.id`,
    values,
  )
  return rows.map((row) => ({
    ...deviceOf<Listed & Device & TokenRow>(row),
    pushToken: tokens.tokenOf(row) ?? '',
    attributes: row.attributes === null ? null : (parseExact(row.attributes) as DeviceDetails['attributes']),
    bindings: row.bindings.map((binding) => ({
      channel: binding.channel,
      environment: environmentOf(binding.environment),
      token: binding.token,
      bundleId: binding.bundle_id,
      region: binding.region,
      registeredAt: new Date(binding.registered_at),
    })),
  }))
}

type BindingJson = {
  channel: VendorChannel
  environment: number
  token: string
  bundle_id: string | null
  region: string | null
  registered_at: string
}
