import { cardOf, type VendorChannel, vendorChannels } from '@herald/domain'
import { keyIs, type Runner, run } from '../store/statement.ts'
import { column, joined } from '../store/text-columns.ts'
import type { BindingChange } from './device-changes.ts'
import { retireSql } from './retired-tokens.ts'

type Line = { id: number; known: boolean; bindings?: BindingChange[] | null }
type Given = { deviceId: number; known: boolean; channel: VendorChannel; token: string | null } & Partial<
  Pick<BindingChange, 'environment' | 'bundleId' | 'region' | 'canonicalToken'>
>
type Bound = Omit<BindingChange, 'token'> & { token: string; deviceId: number; known: boolean }

/**
 * Binds devices to their tokens, of which none may occur twice. Their former tokens on these channels, and other devices' bindings of
 * these tokens, are retired. Returns the devices of `lines` whose bindings changed.
 */
export async function writeBindings(
  runner: Runner,
  appId: string,
  lines: Line[],
  lookUp: boolean,
): Promise<Set<number>> {
  const given: Given[] = []
  for (const { id: deviceId, known, bindings } of lines) {
    if (bindings === undefined) continue
    // null: all of them.
    for (const binding of bindings ?? vendorChannels.map((channel) => ({ channel, token: null })))
      given.push({ deviceId, known, ...binding })
  }
  if (given.length === 0) return new Set()
  const { free, taken } = lookUp ? await findChanges(runner, appId, given) : { free: given, taken: [] }
  const fresh = free.filter(isBound)
  const changed = new Set<number>()
  if (taken.length > 0) {
    const wanted = taken.filter(isBound)
    const { retired, renewed, kept } = compare(
      wanted,
      taken,
      await lockBindings(runner, appId, wanted, taken),
    )
    if (retired.length > 0) await retireBindings(runner, retired)
    if (renewed.length > 0) await renewBindings(runner, renewed)
    for (const { deviceId } of [...retired, ...renewed]) changed.add(deviceId)
    fresh.push(...wanted.filter((bound) => !kept.has(keyOf(bound))))
  }
  if (fresh.length > 0) {
    fresh.sort((a, b) => a.deviceId - b.deviceId || (a.channel < b.channel ? -1 : 1))
    await insertBindings(runner, appId, fresh)
    // After the insert, as in `bind`.
    const again = fresh.filter(({ known }) => known)
    if (again.length > 0) await forgetRetired(runner, appId, again)
    await resetBadges(runner, fresh)
    for (const { deviceId } of fresh) changed.add(deviceId)
  }
  return changed
}

const isBound = (binding: Given): binding is Bound => binding.token !== null

/**
 * Leaves out the bindings that are as given, which are most of those of known devices: they are neither locked nor written. `free`:
 * neither the device's channel nor the token is bound. If one of them is bound in the meantime, the insert fails and the commit is
 * repeated.
 */
async function findChanges(
  runner: Runner,
  appId: string,
  given: Given[],
): Promise<{ free: Given[]; taken: Given[] }> {
  const rows = await run<[nth: number, isFree: boolean]>(
    runner,
    'write-changed-bindings',
    `SELECT line.nth, own.token IS NULL AND holder.device_id IS NULL
     FROM unnest(${[2, 3, 4, 5, 6, 7].map(column)})
       WITH ORDINALITY AS line (device_id, channel, token, environment, bundle_id, region, nth)
     LEFT JOIN LATERAL (
       SELECT * FROM binding WHERE ${keyIs(['device_id', 'channel'], ['line.device_id::bigint', 'line.channel'])}
     ) own ON line.device_id IS NOT NULL
     LEFT JOIN LATERAL (
       SELECT device_id FROM binding
       WHERE ${keyIs(['token', 'channel', 'app_id'], ['line.token', 'line.channel', '$1'])}
     ) holder ON line.token IS DISTINCT FROM own.token
     WHERE line.device_id IS NULL AND holder.device_id IS NOT NULL
       OR line.device_id IS NOT NULL AND (line.token IS DISTINCT FROM own.token OR line.token IS NOT NULL
         AND (line.environment::smallint, line.bundle_id, line.region)
           IS DISTINCT FROM (own.environment, own.bundle_id, own.region))`,
    [
      appId,
      joined(given, ({ known, deviceId }) => (known ? deviceId : undefined)),
      joined(given, ({ channel }) => channel),
      joined(given, ({ token }) => token ?? undefined),
      joined(given, ({ environment }) => environment),
      joined(given, ({ bundleId }) => bundleId),
      joined(given, ({ region }) => region),
    ],
  )
  const found = new Map(rows)
  const free: Given[] = []
  const taken: Given[] = []
  given.forEach((binding, i) => {
    const isFree = found.get(i + 1) ?? (binding.known ? undefined : true)
    if (isFree !== undefined) (isFree ? free : taken).push(binding)
  })
  return { free, taken }
}

/** A new token is a new installation, whose icon has no badge. */
async function resetBadges(runner: Runner, fresh: Bound[]): Promise<void> {
  const installed = fresh.filter(({ channel }) => cardOf(channel).absoluteBadge)
  if (installed.length === 0) return
  await runner.query('SELECT clear_badges($1)', [installed.map((bound) => bound.deviceId)])
}

/** Returns what has to happen to the existing bindings. */
function compare(wanted: Bound[], given: Given[], present: Present[]) {
  const retired: (Present & { reason: string })[] = []
  const renewed: Bound[] = []
  const kept = new Set<string>()
  const unbound = new Set(given.flatMap((binding) => (binding.token === null ? keyOf(binding) : [])))
  const owners = new Map(wanted.map((bound) => [tokenOf(bound), bound]))
  const wantedOf = new Map(wanted.map((bound) => [keyOf(bound), bound]))
  for (const row of present) {
    const own = wantedOf.get(keyOf(row))
    const owner = own && isSameToken(own, row) ? own : owners.get(tokenOf(row))
    if (!owner) retired.push({ ...row, reason: unbound.has(keyOf(row)) ? 'unbound' : 'replaced' })
    else if (owner.deviceId !== row.deviceId) retired.push({ ...row, reason: 'moved' })
    else {
      kept.add(keyOf(row))
      if (
        owner.token !== row.token ||
        owner.environment !== row.environment ||
        (owner.bundleId ?? null) !== row.bundleId ||
        (owner.region ?? null) !== row.region
      )
        renewed.push(owner)
    }
  }
  return { retired, renewed, kept }
}

const isSameToken = ({ token, canonicalToken }: Bound, row: Present) =>
  (canonicalToken?.(row.token) ?? row.token) === token

async function insertBindings(runner: Runner, appId: string, rows: Bound[]): Promise<void> {
  await runner.query({
    name: 'import-bindings',
    text: `INSERT INTO binding (device_id, channel, app_id, token, environment, bundle_id, region)
      SELECT device_id::bigint, channel, $1, token, environment::smallint, bundle_id, region
      FROM unnest(${column(2)}, ${column(3)}, ${column(4)}, ${column(5)}, ${column(6)}, ${column(7)})
        AS line (device_id, channel, token, environment, bundle_id, region)`,
    values: [
      appId,
      joined(rows, (row) => row.deviceId),
      joined(rows, (row) => row.channel),
      joined(rows, (row) => row.token),
      joined(rows, (row) => row.environment),
      joined(rows, (row) => row.bundleId),
      joined(rows, (row) => row.region),
    ],
  })
}

async function renewBindings(runner: Runner, rows: Bound[]): Promise<void> {
  await runner.query(
    `UPDATE binding b SET environment = line.environment::smallint, bundle_id = line.bundle_id, region = line.region,
       token = line.token, registered_at = now()
     FROM unnest($1::bigint[], ${column(2)}, ${column(3)}, ${column(4)}, ${column(5)}, ${column(6)})
       AS line (device_id, channel, environment, bundle_id, region, token)
     WHERE b.device_id = line.device_id AND b.channel = line.channel`,
    [
      rows.map((row) => row.deviceId),
      joined(rows, (row) => row.channel),
      joined(rows, (row) => row.environment),
      joined(rows, (row) => row.bundleId),
      joined(rows, (row) => row.region),
      joined(rows, (row) => row.token),
    ],
  )
}

function tokenOf(row: { channel: string; token: string }): string {
  return `${row.channel}/${row.token}`
}

function keyOf(row: { deviceId: number; channel: string }): string {
  return `${row.deviceId}/${row.channel}`
}

type Present = {
  deviceId: number
  channel: VendorChannel
  token: string
  environment: number
  bundleId: string | null
  region: string | null
}

/** Locks the bindings that have one of the new tokens, and those that the known devices have on these channels. */
async function lockBindings(
  runner: Runner,
  appId: string,
  wanted: Bound[],
  taken: Given[],
): Promise<Present[]> {
  const old = taken.filter(({ known }) => known)
  const { rows } = await runner.query<Present>({
    name: 'write-lock-bindings',
    text: `SELECT b.device_id AS "deviceId", b.channel, b.token, b.environment, b.bundle_id AS "bundleId", b.region FROM (
        SELECT holder.device_id, holder.channel FROM unnest(${column(2)}, ${column(3)}) AS line (channel, token)
          CROSS JOIN LATERAL (
            SELECT device_id, channel FROM binding
            WHERE ${keyIs(['token', 'channel', 'app_id'], ['line.token', 'line.channel', '$1'])}
          ) holder
        UNION SELECT device_id::bigint, channel FROM unnest(${column(4)}, ${column(5)}) AS line (device_id, channel)
        ORDER BY device_id, channel
      ) AS place CROSS JOIN LATERAL (
        SELECT * FROM binding
        WHERE ${keyIs(['device_id', 'channel'], ['place.device_id', 'place.channel'])} FOR UPDATE
      ) b`,
    values: [
      appId,
      joined(wanted, (bound) => bound.channel),
      joined(wanted, (bound) => bound.token),
      joined(old, (bound) => bound.deviceId),
      joined(old, (bound) => bound.channel),
    ],
  })
  return rows
}

async function retireBindings(
  runner: Runner,
  retired: { deviceId: number; channel: string; reason: string }[],
): Promise<void> {
  await runner.query(
    `WITH gone AS (
       DELETE FROM binding b USING unnest($1::bigint[], ${column(2)}, ${column(3)}) AS line (device_id, channel, reason)
       WHERE b.device_id = line.device_id AND b.channel = line.channel RETURNING b.*, line.reason
     )
     ${retireSql('gone', 'reason')}`,
    [
      retired.map((row) => row.deviceId),
      joined(retired, (row) => row.channel),
      joined(retired, (row) => row.reason),
    ],
  )
}

async function forgetRetired(runner: Runner, appId: string, rows: Bound[]): Promise<void> {
  await runner.query(
    `DELETE FROM retired_token r USING unnest($2::bigint[], ${column(3)}, ${column(4)}) AS line (device_id, channel, token)
     WHERE r.app_id = $1 AND r.channel = line.channel AND r.token = line.token AND r.device_id = line.device_id`,
    [
      appId,
      rows.map((row) => row.deviceId),
      joined(rows, (row) => row.channel),
      joined(rows, (row) => row.token),
    ],
  )
}
