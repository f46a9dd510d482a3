import { randomBytes } from 'node:crypto'
import { type Platform, type VendorChannel, vendorChannels } from '@herald/domain'
import { clearInboxesOf } from '../ledger/inbox-clearing.ts'
import type { Database } from '../store/database.ts'
import { type Environment, environmentOf } from '../store/environments.ts'
import { retrying } from '../store/errors.ts'
import { inTransaction, type Runner } from '../store/statement.ts'
import { retireAllBindings } from './bindings.ts'
import { tagNumbers } from './tags.ts'

export type Device = {
  deviceId: number
  guid: string
  userId: bigint | null
  pushToken: string
  platform: Platform | null
  alias: string | null
}

const TOKEN_BYTES = 18
const TOKEN_LENGTH = 24

/**
 * URL-safe, 144 random bits each, behind the present second: tokens made together then lie together in their index, which
 * at ten million devices no longer fits into memory.
 */
export function newPushTokens(count: number): string[] {
  const second = Math.floor(Date.now() / 1000).toString(36)
  const text = randomBytes(TOKEN_BYTES * count).toString('base64url')
  return Array.from(
    { length: count },
    (_, i) => second + text.slice(i * TOKEN_LENGTH, (i + 1) * TOKEN_LENGTH),
  )
}

/**
 * The device of this guid, made when unknown, now owned by this user. A device that had another owner loses what was
 * theirs: alias, tags, badge, inbox; its vendor tokens stay, they belong to the installation.
 */
export async function claimDevice(
  db: Database,
  claim: { appId: string; guid: string; userId: bigint },
): Promise<{ deviceId: number; pushToken: string }> {
  const { appId, guid, userId } = claim
  return retrying(() =>
    inTransaction(db, async (runner) => {
      const { device, made } = await findOrMake(runner, { appId, guid, userId })
      const former = device.user_id
      if (made || former === String(userId)) return { deviceId: device.id, pushToken: device.push_token }
      if (former !== null) await clearPersonal(runner, [device.id])
      // Last before the commit, by the wall clock: what was planned until now was for the former owner.
      await runner.query(
        `UPDATE device SET user_id = $2, moved_at = CASE WHEN user_id IS NULL THEN moved_at ELSE clock_timestamp() END
         WHERE id = $1`,
        [device.id, userId],
      )
      return { deviceId: device.id, pushToken: device.push_token }
    }),
  )
}

/** A device without a user. 'owned' when the guid has one: a stranger must not learn its push token. */
export async function registerDevice(
  db: Database,
  registration: { appId: string; guid: string; platform?: Platform },
): Promise<{ pushToken: string } | 'owned'> {
  const { platform } = registration
  return retrying(() =>
    inTransaction(db, async (runner) => {
      const { device, made } = await findOrMake(runner, registration)
      if (device.user_id !== null) return 'owned' as const
      if (!made && platform && platform !== device.platform)
        await runner.query('UPDATE device SET platform = $2 WHERE id = $1', [device.id, platform])
      return { pushToken: device.push_token }
    }),
  )
}

type Found = { id: number; push_token: string; user_id: string | null; platform: string | null }

/**
 * Locks the device of this guid. Looks before it inserts: an upsert would burn an id every time, and slices of id ranges
 * want them dense.
 */
async function findOrMake(
  runner: Runner,
  wanted: { appId: string; guid: string; userId?: bigint; platform?: Platform },
): Promise<{ device: Found; made: boolean }> {
  const { appId, guid } = wanted
  const returned = 'id, push_token, user_id::text, platform'
  for (;;) {
    const known = await runner.query<Found>(
      `SELECT ${returned} FROM device WHERE app_id = $1 AND guid = $2 FOR UPDATE`,
      [appId, guid],
    )
    if (known.rows[0]) return { device: known.rows[0], made: false }
    const made = await runner.query<Found>(
      `INSERT INTO device (app_id, guid, user_id, push_token, platform) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (app_id, guid) DO NOTHING RETURNING ${returned}`,
      [appId, guid, wanted.userId ?? null, newPushTokens(1)[0], wanted.platform ?? null],
    )
    if (made.rows[0]) return { device: made.rows[0], made: true }
  }
}

const columns = 'd.id, d.guid, d.user_id::text, d.push_token, d.platform, d.alias'
type Row = {
  id: number
  guid: string
  user_id: string | null
  push_token: string
  platform: Platform | null
  alias: string | null
}

function deviceOf(row: Row): Device {
  return {
    deviceId: row.id,
    guid: row.guid,
    userId: row.user_id === null ? null : BigInt(row.user_id),
    pushToken: row.push_token,
    platform: row.platform,
    alias: row.alias,
  }
}

export async function findDevice(
  db: Database,
  appId: string,
  by: { pushToken: string } | { guid: string },
): Promise<Device | undefined> {
  const [column, value] = 'guid' in by ? ['guid', by.guid] : ['push_token', by.pushToken]
  const { rows } = await db.pool.query<Row>({
    name: `find-device-by-${column}`,
    text: `SELECT ${columns} FROM device d WHERE d.app_id = $1 AND d.${column} = $2`,
    values: [appId, value],
  })
  return rows[0] && deviceOf(rows[0])
}

export async function setAlias(
  db: Database,
  appId: string,
  deviceId: number,
  alias: string | null,
): Promise<void> {
  await db.pool.query('UPDATE device SET alias = $3 WHERE id = $1 AND app_id = $2', [deviceId, appId, alias])
}

export async function setBadge(db: Database, appId: string, deviceId: number, badge: number): Promise<void> {
  await retrying(() =>
    db.pool.query(
      `INSERT INTO badge (device_id, value) SELECT id, $3 FROM device WHERE id = $1 AND app_id = $2
       ON CONFLICT (device_id) DO UPDATE SET value = excluded.value`,
      [deviceId, appId, badge],
    ),
  )
}

/** Answers whether it existed. Its vendor tokens stay resolvable for late receipts. */
export async function removeDevice(db: Database, appId: string, deviceId: number): Promise<boolean> {
  return retrying(() =>
    inTransaction(db, async (runner) => {
      const { rowCount } = await runner.query('DELETE FROM device WHERE id = $1 AND app_id = $2', [
        deviceId,
        appId,
      ])
      if (rowCount === 0) return false
      await retireAllBindings(runner, appId, deviceId)
      await clearPersonal(runner, [deviceId])
      return true
    }),
  )
}

/** For a user who is no more: devices in id order, like everyone who locks several. */
export async function disownDevicesOf(runner: Runner, appId: string, userId: bigint): Promise<void> {
  const { rows } = await runner.query<{ id: number }>(
    'SELECT id FROM device WHERE app_id = $1 AND user_id = $2 ORDER BY id FOR UPDATE',
    [appId, userId],
  )
  const ids = rows.map((row) => row.id)
  await clearPersonal(runner, ids)
  await runner.query(
    'UPDATE device SET user_id = NULL, alias = NULL, moved_at = clock_timestamp() WHERE id = ANY($1)',
    [ids],
  )
}

/** What belongs to the owner and not to the installation. */
export async function clearPersonal(runner: Runner, deviceIds: number[]): Promise<void> {
  if (deviceIds.length === 0) return
  await runner.query('UPDATE device SET alias = NULL WHERE id = ANY($1) AND alias IS NOT NULL', [deviceIds])
  await runner.query('DELETE FROM device_tag WHERE device_id = ANY($1)', [deviceIds])
  await runner.query('DELETE FROM badge WHERE device_id = ANY($1)', [deviceIds])
  await clearInboxesOf(runner, deviceIds)
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
  tags: string[]
  badge: number
  online: boolean
  bindings: {
    channel: VendorChannel
    environment: Environment
    token: string
    bundleId: string | null
    registeredAt: Date
  }[]
  createdAt: Date
}

/** Ascending by id, so that a page costs the same however far in it is. */
export async function listDevices(
  db: Database,
  scope: { appId: string; groupId?: bigint },
  filter: DeviceFilter,
  page: { after?: bigint; limit: number },
): Promise<DeviceDetails[]> {
  const values: unknown[] = [scope.appId, page.after ?? 0n, page.limit]
  const bound = (value: unknown) => `$${values.push(value)}`
  const conditions = ['d.app_id = $1', 'd.id > $2']
  if (scope.groupId !== undefined)
    conditions.push(
      `EXISTS (SELECT 1 FROM group_member m WHERE m.group_id = ${bound(scope.groupId)} AND m.user_id = d.user_id)`,
    )
  if (filter.userId !== undefined) conditions.push(`d.user_id = ${bound(filter.userId)}`)
  if (filter.alias !== undefined) conditions.push(`d.alias = ${bound(filter.alias)}`)
  if (filter.guid !== undefined) conditions.push(`d.guid = ${bound(filter.guid)}`)
  if (filter.tag !== undefined)
    conditions.push(
      `d.id IN (SELECT device_id FROM device_tag
        WHERE tag_id = ANY(${tagNumbers(`ARRAY[${bound(filter.tag)}::text]`)}) AND device_id > $2)`,
    )
  if (filter.token !== undefined) {
    const token = bound(filter.token)
    conditions.push(
      `d.id IN (SELECT device_id FROM binding WHERE app_id = $1 AND channel = ANY(${bound(vendorChannels)}) AND token = ${token}
       UNION ALL SELECT id FROM device WHERE push_token = ${token})`,
    )
  }
  const { rows } = await db.pool.query<
    Row & { tags: string[]; badge: number; online: boolean; bindings: BindingJson[]; created_at: Date }
  >(
    `WITH page AS (SELECT d.* FROM device d WHERE ${conditions.join(' AND ')} ORDER BY d.id LIMIT $3)
     SELECT ${columns}, d.created_at,
       ARRAY(SELECT name FROM device_tag t JOIN tag ON tag.id = t.tag_id WHERE t.device_id = d.id ORDER BY name) AS tags,
       COALESCE((SELECT value FROM badge WHERE badge.device_id = d.id), 0) AS badge,
       EXISTS (SELECT 1 FROM presence p JOIN gateway_node n ON n.id = p.node AND n.lease_until > now()
               WHERE p.device_id = d.id) AS online,
       COALESCE((SELECT json_agg(b ORDER BY b.channel) FROM binding b WHERE b.device_id = d.id), '[]') AS bindings
     FROM page d ORDER BY d.id`,
    values,
  )
  return rows.map((row) => ({
    ...deviceOf(row),
    tags: row.tags,
    badge: row.badge,
    online: row.online,
    createdAt: row.created_at,
    bindings: row.bindings.map((binding) => ({
      channel: binding.channel,
      environment: environmentOf(binding.environment),
      token: binding.token,
      bundleId: binding.bundle_id,
      registeredAt: new Date(binding.registered_at),
    })),
  }))
}

type BindingJson = {
  channel: VendorChannel
  environment: number
  token: string
  bundle_id: string | null
  registered_at: string
}
