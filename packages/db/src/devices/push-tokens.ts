import { createHmac, hash, randomBytes, randomInt } from 'node:crypto'
import type { Database } from '../store/database.ts'
import { sharedKey } from '../store/instance-keys.ts'
import { createSealer, type Sealer } from '../store/seal.ts'
import { inTransaction, type Runner } from '../store/statement.ts'
import { clearTextNeededSql } from '../store/upgrade-window.ts'

/** The columns of a device that its push token is derived from. */
export type TokenRow = {
  app_id: string
  guid: string
  token_generation: number
  push_token: string | null
  push_token_hash: Buffer | null
  legacy_push_token: Buffer | null
}
export const tokenColumns = (device: string) =>
  ['app_id', 'guid', 'token_generation', 'push_token', 'push_token_hash', 'legacy_push_token']
    .map((column) => `${device}.${column}`)
    .join(', ')

/** A device as a caller has found it: what is written for that caller must not reach a later owner, who has another push token. */
export type FoundDevice = { deviceId: number; tokenGeneration: number }

/** The key by which a token is found, as in the index device_token_hash. Compare it with `hashOf(token)::bytea`. */
export const tokenKeySql = (device: string) =>
  `COALESCE(${device}.push_token_hash, push_token_hash(${device}.push_token))`

export type NewToken = { token: string; hash: string; generation: number }

/** Derives push tokens from a key that all processes share, so that they can be shown again and are not stored. */
export type PushTokens = {
  /** A token for a new device, or with `generation` for the next generation of a known one. */
  make(device: { appId: string; guid: string }, generation?: number): NewToken
  /** Undefined if the token was derived from a key that was lost with the master key. */
  tokenOf(row: TokenRow): string | undefined
  /** Encrypts a token of the previous release, which cannot be derived. Undefined if it can be. */
  sealLegacy(row: TokenRow & { push_token: string }): Buffer | undefined
}

const PREFIX = 6
/** 144 bits in base64url. */
const SECRET = 24

/** Returns the look-up key of a token in the text form of bytea. The SQL function push_token_hash computes the same. */
export function hashOf(token: string): string {
  return `\\x${prefixHex(token.slice(0, PREFIX))}${hash('sha256', token, 'hex').slice(0, 32)}`
}

/** Tokens that are made one after another have the same prefix. */
let lastPrefix = { text: '', hex: '' }

function prefixHex(text: string): string {
  if (lastPrefix.text !== text) lastPrefix = { text, hex: Buffer.from(text).toString('hex') }
  return lastPrefix.hex
}

/** Length of a block of SHA-256. */
const BLOCK = 64

/**
 * Returns a function that computes HMAC-SHA-256 in base64url. With two calls of `hash`: each Hmac of Node is an object with memory
 * outside of the heap, which takes twice as long to make and several times as long to collect.
 */
function hmacWith(key: Buffer): (text: string) => string {
  const padded = Buffer.alloc(BLOCK)
  padded.set(key.length > BLOCK ? hash('sha256', key, 'buffer') : key)
  let inner = Buffer.alloc(1024)
  inner.set(padded.map((byte) => byte ^ 0x36))
  const outer = Buffer.alloc(BLOCK + 32)
  outer.set(padded.map((byte) => byte ^ 0x5c))
  // The beginnings of `inner` by length, which differs little between devices.
  let views: Buffer[] = []
  return (text) => {
    const needed = BLOCK + text.length * 3
    if (needed > inner.length) {
      inner = Buffer.concat([inner.subarray(0, BLOCK)], needed)
      views = []
    }
    const length = BLOCK + inner.write(text, BLOCK)
    views[length] ??= inner.subarray(0, length)
    outer.write(hash('sha256', views[length], 'binary'), BLOCK, 'latin1')
    return hash('sha256', outer, 'base64url')
  }
}

export function createPushTokens(key: Buffer): PushTokens {
  const legacy = createSealer(createHmac('sha256', key).update('legacy').digest())
  const boundTo = ({ app_id, guid }: TokenRow) => `push-token/${app_id}/${guid}`
  const hmac = hmacWith(key)
  const derive = (appId: string, guid: string, generation: number, prefix: string) =>
    prefix + hmac(`${appId}\0${guid}\0${generation}\0${prefix}`).slice(0, SECRET)
  const derived = (row: TokenRow) =>
    row.push_token_hash &&
    derive(row.app_id, row.guid, row.token_generation, row.push_token_hash.toString('latin1', 0, PREFIX))
  return {
    // Starts at a random number: a device that is removed and created again within a second gets another token.
    make({ appId, guid }, generation = randomInt(2 ** 30)) {
      const second = Math.floor(Date.now() / 1000).toString(36)
      const token = derive(appId, guid, generation, second.slice(-PREFIX).padStart(PREFIX, '0'))
      return { token, hash: hashOf(token), generation }
    },
    tokenOf(row) {
      if (row.push_token !== null) return row.push_token
      if (row.legacy_push_token) {
        const key = boundTo(row)
        return legacy.isCurrent(row.legacy_push_token, key)
          ? legacy.open(row.legacy_push_token, key)
          : undefined
      }
      const token = derived(row)
      return token && hashOf(token) === `\\x${row.push_token_hash!.toString('hex')}` ? token : undefined
    },
    sealLegacy: (row) =>
      derived(row) === row.push_token ? undefined : legacy.seal(row.push_token, boundTo(row)),
  }
}

export async function openPushTokens(db: Database, sealer: Sealer): Promise<PushTokens> {
  const key = await sharedKey(db, sealer, 'push-token', () => randomBytes(32).toString('base64url'))
  return createPushTokens(Buffer.from(key, 'base64url'))
}

/** Returns the token of a device, which the caller has locked; a new one if the current one cannot be shown. */
export async function currentToken(
  runner: Runner,
  tokens: PushTokens,
  device: TokenRow & { id: number },
): Promise<string> {
  return tokens.tokenOf(device) ?? (await replaceTokens(runner, tokens, [device]))[0]!
}

type Replaceable = { id: number; app_id: string; guid: string; token_generation: number }

/**
 * Replaces the tokens of devices, which the caller has locked, and returns the new ones in the same order. Deleting the presence
 * makes their gateways compare the generation and close the connections.
 */
export async function replaceTokens(
  runner: Runner,
  tokens: PushTokens,
  devices: readonly Replaceable[],
): Promise<string[]> {
  if (devices.length === 0) return []
  const made = devices.map(({ app_id: appId, guid, token_generation }) =>
    tokens.make({ appId, guid }, token_generation + 1),
  )
  await runner.query(
    `WITH ended AS (DELETE FROM presence WHERE device_id = ANY($1))
     UPDATE device d SET token_generation = t.generation, push_token_hash = t.hash::bytea, legacy_push_token = NULL,
       push_token = CASE WHEN ${clearTextNeededSql} THEN t.token END
     FROM unnest($1::bigint[], $2::int[], $3::text[], $4::text[]) AS t (id, generation, hash, token) WHERE d.id = t.id`,
    [
      devices.map(({ id }) => id),
      made.map(({ generation }) => generation),
      made.map(({ hash }) => hash),
      made.map(({ token }) => token),
    ],
  )
  return made.map(({ token }) => token)
}

/** Replaces the push tokens of all devices of a user, which it locks in the order of the device writer. Returns their ids. */
export async function replaceTokensOfUser(
  runner: Runner,
  tokens: PushTokens,
  appId: string,
  userId: bigint,
): Promise<number[]> {
  const { rows } = await runner.query<Replaceable>(
    `SELECT id, app_id, guid, token_generation FROM device WHERE app_id = $1 AND user_id = $2
     ORDER BY guid COLLATE "C" FOR UPDATE`,
    [appId, userId],
  )
  await replaceTokens(runner, tokens, rows)
  return rows.map(({ id }) => id)
}

/**
 * Replaces tokens in clear text, of the previous release, by their hash and a sealed copy; returns how many. Locks `limit` rows and
 * skips those that others have locked, so it may run at any time and in several processes.
 */
export async function hideClearTokens(db: Database, tokens: PushTokens, limit: number): Promise<number> {
  return inTransaction(db, async (runner) => {
    const { rows } = await runner.query<TokenRow & { id: number; push_token: string }>(
      `SELECT id, ${tokenColumns('device')} FROM device WHERE push_token IS NOT NULL
       ORDER BY push_token LIMIT $1 FOR UPDATE SKIP LOCKED`,
      [limit],
    )
    if (rows.length === 0) return 0
    await runner.query(
      `UPDATE device d SET push_token = NULL, push_token_hash = t.hash::bytea, legacy_push_token = t.legacy
       FROM unnest($1::bigint[], $2::text[], $3::bytea[]) AS t (id, hash, legacy) WHERE d.id = t.id`,
      [
        rows.map(({ id }) => id),
        rows.map(({ push_token }) => hashOf(push_token)),
        rows.map((row) => tokens.sealLegacy(row) ?? null),
      ],
    )
    return rows.length
  })
}
