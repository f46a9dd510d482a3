import { retryWithBackoff } from '@herald/async'
import {
  cardOf,
  type Environment,
  environmentNumber,
  type Platform,
  type VendorChannel,
} from '@herald/domain'
import type { Database } from '../store/database.ts'
import { codeOf, retrying } from '../store/errors.ts'
import { inTransaction, type Runner } from '../store/statement.ts'
import { seenNowSql } from './last-seen.ts'
import type { FoundDevice } from './push-tokens.ts'
import { retireSql } from './retired-tokens.ts'

export type NewBinding = {
  appId: string
  deviceId: number
  /** Set for a caller that found the device by its push token: the device must still have that one. */
  tokenGeneration?: number
  channel: VendorChannel
  token: string
  environment: Environment
  bundleId?: string
  /** Unset: the vendor's usual one. */
  region?: string
  platform?: Platform
  /** The form of `token`. A row of an earlier release, which stored tokens as typed, may have another form of the same. */
  canonicalToken?(token: string): string
}

const UNIQUE_VIOLATION = '23505'
/** How long a bind is repeated while other devices take the token. */
const RACE_MS = 10_000

/** The device was removed or erased since the caller found it, or has another push token. */
export class DeviceGone extends Error {}

/**
 * Binds the device to this vendor token. Its former token on this channel is retired as `replaced`; if another device had the
 * token, that binding is retired as `moved`. Binding the same token again only renews `registered_at`. Throws DeviceGone.
 */
export function bind(db: Database, binding: NewBinding): Promise<void> {
  return retryWithBackoff(() => retrying(() => inTransaction(db, (client) => bindOnce(client, binding))), {
    // Another device was bound to the same token between our select and our insert. It is visible now and will be retired.
    isTransient: (error) => codeOf(error) === UNIQUE_VIOLATION,
    firstMs: 2,
    maxMs: 200,
    forMs: RACE_MS,
  })
}

async function bindOnce(client: Runner, binding: NewBinding): Promise<void> {
  const { appId, deviceId, channel, token, canonicalToken } = binding
  const { solePlatform, defaultPlatform, absoluteBadge } = cardOf(channel)
  const { rowCount } = await client.query(
    `UPDATE device SET platform = COALESCE($3, platform, $4), last_seen = ${seenNowSql('device')}
     WHERE id = $1 AND app_id = $2 AND ($5::int IS NULL OR token_generation = $5)`,
    [
      deviceId,
      appId,
      binding.platform ?? solePlatform ?? null,
      defaultPlatform,
      binding.tokenGeneration ?? null,
    ],
  )
  // Its token must not be stored any more.
  if (rowCount === 0) throw new DeviceGone('the device was removed or has another push token')
  // In the order in which settles lock bindings; another order would deadlock with them.
  const { rows } = await client.query<{ device_id: number; token: string }>(
    `SELECT device_id, token FROM binding
     WHERE channel = $3 AND app_id = $2
       AND device_id IN ($1, (SELECT device_id FROM binding WHERE app_id = $2 AND channel = $3 AND token = $4))
     ORDER BY device_id FOR UPDATE`,
    [deviceId, appId, channel, token],
  )
  const own = rows.find((row) => row.device_id === deviceId)
  const isSame = own !== undefined && (canonicalToken?.(own.token) ?? own.token) === token
  const other = rows.find((row) => row.device_id !== deviceId && row.token === token)
  if (other) await retire(client, appId, other.device_id, channel, 'moved')
  if (own && !isSame) await retire(client, appId, deviceId, channel, 'replaced')
  await client.query(
    `INSERT INTO binding (device_id, channel, app_id, environment, token, bundle_id, region) VALUES ($1, $2, $3, $4, $5, $6, $7)
     ON CONFLICT (device_id, channel) DO UPDATE
     SET environment = excluded.environment, bundle_id = excluded.bundle_id, region = excluded.region, token = excluded.token,
       registered_at = now()`,
    [
      deviceId,
      channel,
      appId,
      environmentNumber(binding.environment),
      token,
      binding.bundleId ?? null,
      binding.region ?? null,
    ],
  )
  // After the insert, which waits for those that retire the same token: they need the row that is deleted here.
  await client.query(
    'DELETE FROM retired_token WHERE app_id = $1 AND channel = $2 AND token = $3 AND device_id = $4',
    [appId, channel, token, deviceId],
  )
  // A new token is a new installation, whose icon has no badge.
  if (absoluteBadge && !isSame) await client.query('SELECT clear_badges(ARRAY[$1::bigint])', [deviceId])
}

/** Returns whether there was a binding; undefined if the device was removed or has another push token. */
export async function unbind(
  db: Database,
  binding: FoundDevice & { appId: string; channel: VendorChannel },
): Promise<boolean | undefined> {
  const { appId, deviceId, tokenGeneration, channel } = binding
  return retrying(() =>
    inTransaction(db, async (client) => {
      const { rowCount } = await client.query(
        'SELECT 1 FROM device WHERE id = $1 AND app_id = $2 AND token_generation = $3 FOR NO KEY UPDATE',
        [deviceId, appId, tokenGeneration],
      )
      return rowCount === 0 ? undefined : retire(client, appId, deviceId, channel, 'unbound')
    }),
  )
}

/** Deletes a binding and stores its token for 30 days, so that late receipts find their device. */
async function retire(
  client: Runner,
  appId: string,
  deviceId: number,
  channel: VendorChannel,
  reason: 'replaced' | 'unbound' | 'moved',
): Promise<boolean> {
  const { rowCount } = await client.query(
    `WITH gone AS (DELETE FROM binding WHERE device_id = $1 AND channel = $2 AND app_id = $3 RETURNING *)
     ${retireSql('gone', '$4')}`,
    [deviceId, channel, appId, reason],
  )
  return rowCount === 1
}

/** For a device that is removed. */
export async function retireAllBindings(client: Runner, appId: string, deviceId: number): Promise<void> {
  const { rows } = await client.query<{ channel: VendorChannel }>(
    'SELECT channel FROM binding WHERE device_id = $1 AND app_id = $2 ORDER BY channel FOR UPDATE',
    [deviceId, appId],
  )
  for (const { channel } of rows) await retire(client, appId, deviceId, channel, 'unbound')
}
