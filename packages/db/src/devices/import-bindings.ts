import { cardOf, type VendorChannel } from '@herald/domain'
import type { Runner } from '../store/statement.ts'
import { column, joined } from '../store/text-columns.ts'
import { retireSql } from './retired-tokens.ts'

export type ImportBinding = {
  channel: VendorChannel
  token: string
  environment: 0 | 1
  bundleId?: string
  /** Unset: the vendor's usual one. */
  region?: string
}

type Line = { id: number; known: boolean; bindings: ImportBinding[] }
type Bound = ImportBinding & { deviceId: number }

/** Binds the devices to their tokens. Their former tokens on these channels, and other devices' bindings of these tokens, are retired. */
export async function importBindings(
  runner: Runner,
  appId: string,
  lines: Line[],
  lookUp: boolean,
): Promise<void> {
  const all: Bound[] = []
  const old: Bound[] = []
  for (const line of lines) {
    for (const binding of line.bindings) {
      const bound = Object.assign({ deviceId: line.id }, binding)
      all.push(bound)
      if (line.known) old.push(bound)
    }
  }
  if (all.length === 0) return
  const wanted = lookUp ? lastOfEach(all, tokenOf) : all
  const present = lookUp ? await lockBindings(runner, appId, wanted, old) : []
  const { retired, renewed, kept } = compare(wanted, present)
  if (retired.length > 0) await retireBindings(runner, retired)
  if (renewed.length > 0) await renewBindings(runner, renewed)
  const fresh = kept.size === 0 ? wanted : wanted.filter((bound) => !kept.has(keyOf(bound)))
  if (fresh.length === 0) return
  fresh.sort((a, b) => a.deviceId - b.deviceId || (a.channel < b.channel ? -1 : 1))
  if (old.length > 0) await forgetRetired(runner, appId, fresh)
  await insertBindings(runner, appId, fresh)
  const installed = fresh.filter(({ channel }) => cardOf(channel).absoluteBadge)
  // A new token is a new installation, whose icon has no badge.
  if (installed.length > 0)
    await runner.query(
      `INSERT INTO badge (device_id, value) SELECT id, 0 FROM unnest($1::bigint[]) id
       ON CONFLICT (device_id) DO UPDATE SET value = 0`,
      [installed.map((bound) => bound.deviceId)],
    )
}

/** Returns what has to happen to the existing bindings. */
function compare(wanted: Bound[], present: Present[]) {
  const retired: (Present & { reason: string })[] = []
  const renewed: Bound[] = []
  const kept = new Set<string>()
  if (present.length === 0) return { retired, renewed, kept }
  const owners = new Map(wanted.map((bound) => [tokenOf(bound), bound]))
  for (const row of present) {
    const owner = owners.get(tokenOf(row))
    if (!owner) retired.push({ ...row, reason: 'replaced' })
    else if (owner.deviceId !== row.deviceId) retired.push({ ...row, reason: 'moved' })
    else {
      kept.add(keyOf(row))
      if (
        owner.environment !== row.environment ||
        (owner.bundleId ?? null) !== row.bundleId ||
        (owner.region ?? null) !== row.region
      )
        renewed.push(owner)
    }
  }
  return { retired, renewed, kept }
}

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
       registered_at = now()
     FROM unnest($1::bigint[], ${column(2)}, ${column(3)}, ${column(4)}, ${column(5)})
       AS line (device_id, channel, environment, bundle_id, region)
     WHERE b.device_id = line.device_id AND b.channel = line.channel`,
    [
      rows.map((row) => row.deviceId),
      joined(rows, (row) => row.channel),
      joined(rows, (row) => row.environment),
      joined(rows, (row) => row.bundleId),
      joined(rows, (row) => row.region),
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
  old: Bound[],
): Promise<Present[]> {
  const { rows } = await runner.query<Present>({
    name: 'import-lock-bindings',
    text: `SELECT device_id AS "deviceId", channel, token, environment, bundle_id AS "bundleId", region FROM binding
      WHERE (device_id, channel) IN (
        SELECT b.device_id, b.channel FROM unnest(${column(2)}, ${column(3)}) AS line (channel, token)
          JOIN binding b ON b.app_id = $1 AND b.channel = line.channel AND b.token = line.token
        UNION SELECT device_id::bigint, channel FROM unnest(${column(4)}, ${column(5)}) AS line (device_id, channel))
      ORDER BY device_id, channel FOR UPDATE`,
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

/** Returns the last row of each key. */
export function lastOfEach<T>(rows: T[], keyOf: (row: T) => string): T[] {
  const last = new Map<string, T>()
  for (const row of rows) last.set(keyOf(row), row)
  return last.size === rows.length ? rows : [...last.values()]
}
