import type { VendorChannel } from '@herald/domain'
import type { Database } from '../store/database.ts'
import { retrying } from '../store/errors.ts'

/** A vendor's callback as it was received, stored until it has been processed. */
export type StoredCallback = {
  id: number
  certificateId: number
  headers: Record<string, string>
  query: Record<string, string>
  body: Buffer
  /** Unix ms. Signatures with a time are checked against it. */
  arrivedAt: number
  attempts: number
}

export type NewCallback = Pick<StoredCallback, 'certificateId' | 'headers' | 'query' | 'body'>

/** Stores callbacks with one insert, hence one fsync. They are leased to the caller, which processes them next. */
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

/** Takes callbacks whose processing crashed or failed, oldest first. */
export async function leaseCallbacks(
  db: Database,
  limit: number,
  leaseSeconds: number,
): Promise<StoredCallback[]> {
  const { rows } = await db.pool.query<StoredCallback>(
    `UPDATE callback SET lease_until = now() + make_interval(secs => $2), attempts = attempts + 1
     WHERE id IN (
       SELECT id FROM callback WHERE lease_until IS NULL OR lease_until < now() ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED)
     RETURNING id, certificate_id AS "certificateId", headers, query, body,
       floor(extract(epoch FROM arrived_at) * 1000)::bigint AS "arrivedAt", attempts`,
    [limit, leaseSeconds],
  )
  return rows
}

export async function forgetCallbacks(db: Database, ids: number[]): Promise<void> {
  await retrying(() => db.pool.query('DELETE FROM callback WHERE id = ANY($1)', [ids]))
}

/**
 * Returns the devices of vendor tokens, including retired ones. A token that moved to another device returns both; only one of them
 * is a recipient of the receipt's task.
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
