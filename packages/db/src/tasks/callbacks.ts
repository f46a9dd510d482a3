import type { VendorChannel } from '@herald/domain'
import type { Database } from '../store/database.ts'
import { retrying } from '../store/errors.ts'

/** A vendor's receipt as it came in, kept until it has been read. */
export type StoredCallback = {
  id: number
  certificateId: number
  headers: Record<string, string>
  query: Record<string, string>
  body: Buffer
  /** Unix ms: signatures that carry a time are checked against it. */
  arrivedAt: number
  attempts: number
}

export type NewCallback = Pick<StoredCallback, 'certificateId' | 'headers' | 'query' | 'body'>

/** Which certificate a callback address belongs to; the caller still compares the key. */
export async function callbackKeys(
  db: Database,
  appId: string,
  channel: VendorChannel,
): Promise<{ certificateId: number; callbackKey: string }[]> {
  const { rows } = await db.pool.query<{ id: number; callback_key: string }>({
    name: 'callback-keys',
    text: 'SELECT id, callback_key FROM certificate WHERE app_id = $1 AND channel = $2',
    values: [appId, channel],
  })
  return rows.map((row) => ({ certificateId: row.id, callbackKey: row.callback_key }))
}

/** One insert, hence one fsync, for all callbacks that arrived together. Leased to the caller, who reads them next. */
export async function storeCallbacks(
  db: Database,
  callbacks: NewCallback[],
  leaseSeconds: number,
): Promise<number[]> {
  const { rows } = await db.pool.query<{ id: number }>(
    `INSERT INTO callback (certificate_id, headers, query, body, lease_until)
     SELECT certificate_id, headers::jsonb, query::jsonb, body, now() + make_interval(secs => $5)
     FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bytea[])
       WITH ORDINALITY AS c (certificate_id, headers, query, body, ord)
     ORDER BY ord RETURNING id`,
    [
      callbacks.map((callback) => callback.certificateId),
      callbacks.map((callback) => JSON.stringify(callback.headers)),
      callbacks.map((callback) => JSON.stringify(callback.query)),
      callbacks.map((callback) => callback.body),
      leaseSeconds,
    ],
  )
  return rows.map((row) => row.id)
}

/** Takes callbacks whose reader died or failed, oldest first. */
export async function leaseCallbacks(
  db: Database,
  limit: number,
  leaseSeconds: number,
): Promise<StoredCallback[]> {
  const { rows } = await db.pool.query<{
    id: number
    certificate_id: number
    headers: Record<string, string>
    query: Record<string, string>
    body: Buffer
    arrived_at: Date
    attempts: number
  }>(
    `UPDATE callback SET lease_until = now() + make_interval(secs => $2), attempts = attempts + 1
     WHERE id IN (
       SELECT id FROM callback WHERE lease_until IS NULL OR lease_until < now() ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED)
     RETURNING *`,
    [limit, leaseSeconds],
  )
  return rows.map((row) => ({
    id: row.id,
    certificateId: row.certificate_id,
    headers: row.headers,
    query: row.query,
    body: row.body,
    arrivedAt: row.arrived_at.getTime(),
    attempts: row.attempts,
  }))
}

export async function forgetCallbacks(db: Database, ids: number[]): Promise<void> {
  await retrying(() => db.pool.query('DELETE FROM callback WHERE id = ANY($1)', [ids]))
}

/**
 * The devices behind vendor tokens, those of retired tokens included. A token that moved names both its devices: only one of
 * them is a recipient of the task a receipt is about.
 */
export async function devicesOfTokens(
  db: Database,
  appId: string,
  channel: VendorChannel,
  tokens: string[],
): Promise<Map<string, number[]>> {
  const { rows } = await db.pool.query<{ token: string; device_id: number }>({
    name: 'devices-of-tokens',
    text: `SELECT token, device_id FROM binding WHERE app_id = $1 AND channel = $2 AND token = ANY($3)
      UNION SELECT token, device_id FROM retired_token WHERE app_id = $1 AND channel = $2 AND token = ANY($3)`,
    values: [appId, channel, tokens],
  })
  const devices = new Map<string, number[]>()
  for (const { token, device_id } of rows) {
    const known = devices.get(token)
    if (known) known.push(device_id)
    else devices.set(token, [device_id])
  }
  return devices
}
