import { isSeenLongAgoSql } from '../devices/last-seen.ts'
import { hashOf, tokenKeySql } from '../devices/push-tokens.ts'
import type { Database } from '../store/database.ts'
import { run } from '../store/statement.ts'

/** Registers a gateway node. Its devices count as online until its lease expires. */
export async function joinNode(db: Database, node: string, leaseSeconds: number): Promise<void> {
  await run(
    db.pool,
    'join-node',
    `INSERT INTO gateway_node (id, lease_until) VALUES ($1, now() + make_interval(secs => $2))
     ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until`,
    [node, leaseSeconds],
  )
}

/** Returns false if the node was fenced: its batches were given to others, and it must join again under another name. */
export async function renewNode(db: Database, node: string, leaseSeconds: number): Promise<boolean> {
  const rows = await run(
    db.pool,
    'renew-node',
    'UPDATE gateway_node SET lease_until = now() + make_interval(secs => $2) WHERE id = $1 RETURNING 1',
    [node, leaseSeconds],
  )
  return rows.length > 0
}

/** Returns the gateways with a valid lease, the newest last. */
export async function gatewayNodes(db: Database): Promise<string[]> {
  const rows = await run<[string]>(
    db.pool,
    'gateway-nodes',
    'SELECT id FROM gateway_node WHERE lease_until > now() ORDER BY started_at, id',
    [],
  )
  return rows.map(([id]) => id)
}

/** Ends the lease at once, so that the node's batches are given to others without waiting for the expiry. */
export async function leaveNode(db: Database, node: string): Promise<void> {
  await run(db.pool, 'leave-node', 'UPDATE gateway_node SET lease_until = now() WHERE id = $1', [node])
}

/**
 * Deletes nodes whose lease had expired at `time`, with their presence, and returns their names. A node that was only slow notices when
 * it renews. Its batches are left to `settleOrphans`, because a planner may just be adding more. `time` is that of an earlier answer
 * (`leaseTime`): a statement that Postgres runs late, after an outage in which all leases expired, would fence every gateway.
 */
export async function fenceNodes(db: Database, time: string): Promise<string[]> {
  const rows = await run<[string]>(
    db.pool,
    'fence-nodes',
    `WITH dead AS (
       DELETE FROM gateway_node WHERE id IN (
         SELECT id FROM gateway_node WHERE lease_until < $1::timestamptz ORDER BY id FOR UPDATE SKIP LOCKED) RETURNING id
     ), gone AS (DELETE FROM presence WHERE node IN (SELECT id FROM dead))
     SELECT id FROM dead`,
    [time],
  )
  return rows.map(([id]) => id)
}

/** `newest`: no other connection of the device has a higher number. `generation`: that of the push token. */
export type ConnectedDevice = {
  deviceId: number
  appId: string
  connection: number
  generation: number
  newest: boolean
  isSeenLongAgo: boolean
}

/**
 * Looks up devices by their push tokens and records them as connected to this node. Returns them in the order of `pushTokens`,
 * undefined for unknown tokens. Connection numbers rise in the same order; a higher one of another node is not overwritten.
 * `away`, in the same order: the app is in the background; false if it is left out.
 */
export async function connectDevices(
  db: Database,
  node: string,
  pushTokens: readonly string[],
  away: readonly boolean[] = [],
): Promise<(ConnectedDevice | undefined)[]> {
  const rows = await run<
    [
      ord: number,
      deviceId: number,
      appId: string,
      connection: number,
      generation: number,
      newest: boolean,
      isSeenLongAgo: boolean,
    ]
  >(
    db.pool,
    'connect-devices',
    `WITH found AS MATERIALIZED (
       SELECT ord, id, app_id, token_generation, long_ago, away, nextval('connection_number') AS connection FROM (
         SELECT i.ord, d.id, d.app_id, d.token_generation, ${isSeenLongAgoSql('d')} AS long_ago, i.away
         FROM unnest($1::text[], $3::boolean[]) WITH ORDINALITY AS i (hash, away, ord)
         JOIN device d ON ${tokenKeySql('d')} = i.hash::bytea ORDER BY i.ord
       ) f
     ), here AS (
       INSERT INTO presence AS p (device_id, node, connection, away)
       SELECT DISTINCT ON (id) id, $2::text, connection, away FROM found ORDER BY id, connection DESC
       ON CONFLICT (device_id) DO UPDATE SET node = excluded.node, connection = excluded.connection, away = excluded.away
         WHERE p.connection < excluded.connection
       RETURNING p.connection
     )
     SELECT f.ord::int, f.id, f.app_id, f.connection, f.token_generation, f.connection IN (SELECT connection FROM here),
       f.long_ago
     FROM found f`,
    [pushTokens.map(hashOf), node, pushTokens.map((_, i) => away[i] ?? false)],
  )
  const connected: (ConnectedDevice | undefined)[] = pushTokens.map(() => undefined)
  for (const [ord, deviceId, appId, connection, generation, newest, isSeenLongAgo] of rows)
    connected[ord - 1] = { deviceId, appId, connection, generation, newest, isSeenLongAgo }
  return connected
}

export type PresenceConnection = { deviceId: number; connection: number }

/** Deletes the presence of connections that ended, except where a newer connection has replaced it. */
export async function dropPresence(db: Database, ended: readonly PresenceConnection[]): Promise<void> {
  await run(
    db.pool,
    'drop-presence',
    `DELETE FROM presence WHERE (device_id, connection) IN (
       SELECT p.device_id, p.connection FROM presence p
       JOIN unnest($1::bigint[], $2::bigint[]) AS e (device_id, connection) USING (device_id, connection)
       ORDER BY 1 FOR UPDATE OF p)`,
    [ended.map((c) => c.deviceId), ended.map((c) => c.connection)],
  )
}

export type PresenceChange = PresenceConnection & { away: boolean }

/** Records whether the apps of connected devices are in the background. Devices that are connected elsewhere by now are left out. */
export async function changeAway(db: Database, changes: readonly PresenceChange[]): Promise<void> {
  await run(
    db.pool,
    'change-away',
    `WITH changed AS MATERIALIZED (
       SELECT p.device_id, c.away FROM presence p
       JOIN unnest($1::bigint[], $2::bigint[], $3::boolean[]) AS c (device_id, connection, away) USING (device_id, connection)
       WHERE p.away <> c.away ORDER BY 1 FOR UPDATE OF p
     ) UPDATE presence p SET away = c.away FROM changed c WHERE p.device_id = c.device_id`,
    [changes.map((c) => c.deviceId), changes.map((c) => c.connection), changes.map((c) => c.away)],
  )
}

export type OpenConnection = PresenceConnection & { generation: number; away?: boolean }

/**
 * Compares the connections of a node with the table. Writes those that are missing (a crash of Postgres empties the table) or have
 * a former name of this node. Returns the devices that have a newer connection elsewhere, and those whose push token was replaced
 * or that were removed.
 *
 * Replacing a token deletes the presence, which the gateway is told. A connection that was opened while its token was replaced keeps
 * its presence; therefore the token of every connection is compared.
 */
export async function reconcilePresence(
  db: Database,
  node: string,
  open: readonly OpenConnection[],
): Promise<{ replaced: number[]; revoked: number[] }> {
  const rows = await run<[number]>(
    db.pool,
    'wrong-presence',
    `SELECT o.device_id FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::boolean[]) AS o (device_id, connection, generation, away)
     LEFT JOIN presence p ON p.device_id = o.device_id LEFT JOIN device d ON d.id = o.device_id
     WHERE p.connection IS DISTINCT FROM o.connection OR p.node <> $5 OR p.away <> o.away
       OR d.token_generation IS DISTINCT FROM o.generation`,
    [...columnsOf(open), node],
  )
  const result = { replaced: [] as number[], revoked: [] as number[] }
  if (rows.length === 0) return result
  const wrong = new Set(rows.map(([deviceId]) => deviceId))
  const left = await run<[number, boolean]>(
    db.pool,
    'restore-presence',
    `WITH open AS MATERIALIZED (
       SELECT o.*, d.id IS NOT NULL AS valid
       FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::boolean[]) AS o (device_id, connection, generation, away)
       LEFT JOIN device d ON d.id = o.device_id AND d.token_generation = o.generation
     ), written AS (
       INSERT INTO presence AS p (device_id, node, connection, away)
       SELECT device_id, $5, connection, away FROM open WHERE valid ORDER BY 1
       ON CONFLICT (device_id) DO UPDATE SET node = excluded.node, connection = excluded.connection, away = excluded.away
         WHERE p.connection <= excluded.connection
       RETURNING p.device_id
     )
     SELECT device_id, valid FROM open WHERE device_id NOT IN (SELECT device_id FROM written)`,
    [...columnsOf(open.filter(({ deviceId }) => wrong.has(deviceId))), node],
  )
  for (const [deviceId, valid] of left) result[valid ? 'replaced' : 'revoked'].push(deviceId)
  return result
}

function columnsOf(open: readonly OpenConnection[]): unknown[][] {
  return [
    open.map((c) => c.deviceId),
    open.map((c) => c.connection),
    open.map((c) => c.generation),
    open.map((c) => c.away ?? false),
  ]
}
