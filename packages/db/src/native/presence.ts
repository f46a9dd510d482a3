import type { Database } from '../store/database.ts'
import { run } from '../store/statement.ts'

/** Announces a gateway node; its devices count as online while the lease lives. */
export async function joinNode(db: Database, node: string, leaseSeconds: number): Promise<void> {
  await run(
    db.pool,
    'join-node',
    `INSERT INTO gateway_node (id, lease_until) VALUES ($1, now() + make_interval(secs => $2))
     ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until`,
    [node, leaseSeconds],
  )
}

/** False when the node was fenced: its batches are others' by now, and it must come back under another name. */
export async function renewNode(db: Database, node: string, leaseSeconds: number): Promise<boolean> {
  const rows = await run(
    db.pool,
    'renew-node',
    'UPDATE gateway_node SET lease_until = now() + make_interval(secs => $2) WHERE id = $1 RETURNING 1',
    [node, leaseSeconds],
  )
  return rows.length > 0
}

/** Gateways that live, the newest last. */
export async function gatewayNodes(db: Database): Promise<string[]> {
  const rows = await run<[string]>(
    db.pool,
    'gateway-nodes',
    'SELECT id FROM gateway_node WHERE lease_until > now() ORDER BY started_at, id',
    [],
  )
  return rows.map(([id]) => id)
}

/** Ends the lease at once, so that what is left for the node is given to others without waiting for it to run out. */
export async function leaveNode(db: Database, node: string): Promise<void> {
  await run(db.pool, 'leave-node', 'UPDATE gateway_node SET lease_until = now() WHERE id = $1', [node])
}

/**
 * Forgets nodes whose lease ran out, with all their presence, and answers their names. A node that was only slow learns it
 * when it renews; its batches are found by `settleOrphans`, because more may be planned for it in this very moment.
 */
export async function fenceNodes(db: Database): Promise<string[]> {
  const rows = await run<[string]>(
    db.pool,
    'fence-nodes',
    `WITH dead AS (
       DELETE FROM gateway_node WHERE id IN (
         SELECT id FROM gateway_node WHERE lease_until < now() ORDER BY id FOR UPDATE SKIP LOCKED) RETURNING id
     ), gone AS (DELETE FROM presence WHERE node IN (SELECT id FROM dead))
     SELECT id FROM dead`,
    [],
  )
  return rows.map(([id]) => id)
}

/** A device as a gateway knows it; the connection with the highest number is the one that counts. */
export type Greeted = { deviceId: number; appId: string; connection: number; newest: boolean }

/**
 * Looks devices up by their push tokens and notes them as connected here; undefined for unknown tokens. Numbers rise in the
 * order given, and a higher one that another node wrote meanwhile stays. Same order as `pushTokens`.
 */
export async function greetDevices(
  db: Database,
  node: string,
  pushTokens: readonly string[],
): Promise<(Greeted | undefined)[]> {
  const rows = await run<[ord: number, deviceId: number, appId: string, connection: number, newest: boolean]>(
    db.pool,
    'greet',
    `WITH found AS MATERIALIZED (
       SELECT ord, id, app_id, nextval('connection_number') AS connection FROM (
         SELECT i.ord, d.id, d.app_id FROM unnest($1::text[]) WITH ORDINALITY AS i (token, ord)
         JOIN device d ON d.push_token = i.token ORDER BY i.ord
       ) f
     ), here AS (
       INSERT INTO presence AS p (device_id, node, connection)
       SELECT id, $2, max(connection) FROM found GROUP BY id ORDER BY id
       ON CONFLICT (device_id) DO UPDATE SET node = excluded.node, connection = excluded.connection
         WHERE p.connection < excluded.connection
       RETURNING p.connection
     )
     SELECT f.ord::int, f.id, f.app_id, f.connection, f.connection IN (SELECT connection FROM here) FROM found f`,
    [pushTokens, node],
  )
  const greeted: (Greeted | undefined)[] = pushTokens.map(() => undefined)
  for (const [ord, deviceId, appId, connection, newest] of rows)
    greeted[ord - 1] = { deviceId, appId, connection, newest }
  return greeted
}

export type Connection = { deviceId: number; connection: number }

/** Takes back the presence of connections that ended; one that was replaced meanwhile is not ours to take back. */
export async function dropPresence(db: Database, ended: readonly Connection[]): Promise<void> {
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

/**
 * Holds the connections of a node against the table: writes those that are missing (a crash of Postgres empties it) or under
 * a former name of this node, and answers the devices that a newer connection has taken elsewhere.
 */
export async function alignPresence(
  db: Database,
  node: string,
  held: readonly Connection[],
): Promise<number[]> {
  const rows = await run<[number, number | null]>(
    db.pool,
    'stray-presence',
    `SELECT h.device_id, p.connection FROM unnest($1::bigint[], $2::bigint[]) AS h (device_id, connection)
     LEFT JOIN presence p ON p.device_id = h.device_id
     WHERE p.connection IS DISTINCT FROM h.connection OR p.node <> $3`,
    [held.map((c) => c.deviceId), held.map((c) => c.connection), node],
  )
  if (rows.length === 0) return []
  const astray = new Set(rows.map(([deviceId]) => deviceId))
  const missing = held.filter(({ deviceId }) => astray.has(deviceId))
  const written = await run<[number]>(
    db.pool,
    'restore-presence',
    `INSERT INTO presence AS p (device_id, node, connection)
     SELECT h.device_id, $3, h.connection FROM unnest($1::bigint[], $2::bigint[]) AS h (device_id, connection) ORDER BY 1
     ON CONFLICT (device_id) DO UPDATE SET node = excluded.node, connection = excluded.connection
       WHERE p.connection <= excluded.connection
     RETURNING p.device_id`,
    [missing.map((c) => c.deviceId), missing.map((c) => c.connection), node],
  )
  for (const [deviceId] of written) astray.delete(deviceId)
  return [...astray]
}
