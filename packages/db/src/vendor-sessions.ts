import type { Database } from './database.ts'
import type { Sealer } from './seal.ts'
import { run } from './statement.ts'

export type Minted = { value: string; renewAt: number; expiresAt: number }

/** How long one process may take to mint before another tries. */
const MINT_SECONDS = 20
const POLL_MS = 100

/**
 * A vendor's pass shared by all processes. A fresh one is returned as stored; one past `renewAt` still serves while a single
 * caller mints; an absent, expired or `stale` one (refused by the vendor) makes everybody wait for the one who mints.
 */
export async function vendorSession(
  db: Database,
  sealer: Sealer,
  certificateId: number,
  key: string,
  mint: () => Promise<Minted>,
  stale?: string,
): Promise<string> {
  const boundTo = `session:${certificateId}:${key}`
  for (;;) {
    const [row] = await run<[sealed: Buffer | null, usable: boolean, due: boolean]>(
      db.pool,
      'session-read',
      `SELECT sealed, coalesce(expires_at > now(), false), coalesce(renew_at <= now(), true) FROM vendor_session
       WHERE certificate_id = $1 AND key = $2`,
      [certificateId, key],
    )
    const present = row?.[0] && row[1] ? sealer.open(row[0], boundTo) : undefined
    const usable = present !== undefined && present !== stale
    if (usable && !row![2]) return present
    const [won] = await run<[boolean]>(
      db.pool,
      'session-claim',
      `INSERT INTO vendor_session AS s (certificate_id, key, minting_until)
       VALUES ($1, $2, now() + make_interval(secs => ${MINT_SECONDS}))
       ON CONFLICT (certificate_id, key) DO UPDATE SET minting_until = excluded.minting_until
         WHERE s.minting_until IS NULL OR s.minting_until < now()
       RETURNING true`,
      [certificateId, key],
    )
    if (won) return mintOne(db, sealer, certificateId, key, boundTo, mint)
    if (usable) return present
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

async function mintOne(
  db: Database,
  sealer: Sealer,
  certificateId: number,
  key: string,
  boundTo: string,
  mint: () => Promise<Minted>,
): Promise<string> {
  try {
    const { value, renewAt, expiresAt } = await mint()
    // Times arrive by the minter's clock and are stored relative to the database's.
    const now = Date.now()
    await run(
      db.pool,
      'session-store',
      `UPDATE vendor_session SET sealed = $3, renew_at = now() + make_interval(secs => $4),
         expires_at = now() + make_interval(secs => $5), minting_until = NULL WHERE certificate_id = $1 AND key = $2`,
      [certificateId, key, sealer.seal(value, boundTo), (renewAt - now) / 1000, (expiresAt - now) / 1000],
    )
    return value
  } catch (error) {
    await run(
      db.pool,
      'session-give-up',
      'UPDATE vendor_session SET minting_until = NULL WHERE certificate_id = $1 AND key = $2',
      [certificateId, key],
    )
    throw error
  }
}

/** A value made once for all chunks of a task on one certificate; whoever comes meanwhile waits for it. */
export async function taskMemory(
  db: Database,
  taskId: number,
  certificateId: number,
  key: string,
  make: () => Promise<string>,
): Promise<string> {
  for (;;) {
    const [won] = await run<[boolean]>(
      db.pool,
      'memory-claim',
      `INSERT INTO task_memory AS m (task_id, certificate_id, key, making_until)
       VALUES ($1, $2, $3, now() + make_interval(secs => ${MINT_SECONDS}))
       ON CONFLICT (task_id, certificate_id, key) DO UPDATE SET making_until = excluded.making_until
         WHERE m.value IS NULL AND m.making_until < now()
       RETURNING true`,
      [taskId, certificateId, key],
    )
    if (won) break
    const [row] = await run<[string | null]>(
      db.pool,
      'memory-read',
      'SELECT value FROM task_memory WHERE task_id = $1 AND certificate_id = $2 AND key = $3',
      [taskId, certificateId, key],
    )
    if (row && row[0] !== null) return row[0]
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  try {
    const value = await make()
    await run(
      db.pool,
      'memory-store',
      'UPDATE task_memory SET value = $4 WHERE task_id = $1 AND certificate_id = $2 AND key = $3',
      [taskId, certificateId, key, value],
    )
    return value
  } catch (error) {
    await run(
      db.pool,
      'memory-give-up',
      'DELETE FROM task_memory WHERE task_id = $1 AND certificate_id = $2 AND key = $3 AND value IS NULL',
      [taskId, certificateId, key],
    )
    throw error
  }
}
