import { sleep } from '@herald/async'
import type { Database } from '../store/database.ts'
import type { Sealer } from '../store/seal.ts'
import { run } from '../store/statement.ts'

export type NewSession = { value: string; renewAt: number; expiresAt: number }

/** A process that takes longer than this to get a session is overtaken by another. */
const MINT_SECONDS = 20
const POLL_MS = 100

/**
 * Returns a vendor's access token, which all processes share. Past `renewAt` one caller gets a new one with `mint` while the others
 * still use the old. If there is none, it has expired or it is `stale` (refused by the vendor), all callers wait for the new one.
 */
export async function vendorSession(
  db: Database,
  sealer: Sealer,
  certificateId: number,
  key: string,
  mint: () => Promise<NewSession>,
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
    const current = row?.[0] && row[1] ? sealer.open(row[0], boundTo) : undefined
    const usable = current !== undefined && current !== stale
    if (usable && !row![2]) return current
    // Only if the row is unchanged: another process may have stored a new one, and vendors limit their number (one rejects
    // a third one within twenty minutes).
    const [claim] = await run<[until: string]>(
      db.pool,
      'session-claim',
      `INSERT INTO vendor_session AS s (certificate_id, key, minting_until)
       VALUES ($1, $2, now() + make_interval(secs => ${MINT_SECONDS}))
       ON CONFLICT (certificate_id, key) DO UPDATE SET minting_until = excluded.minting_until
         WHERE (s.minting_until IS NULL OR s.minting_until < now()) AND s.sealed IS NOT DISTINCT FROM $3
       RETURNING minting_until::text`,
      [certificateId, key, row?.[0] ?? null],
    )
    const minted =
      claim && (await mintOne(db, sealer, { certificateId, key, until: claim[0] }, boundTo, mint))
    if (minted !== undefined) return minted
    if (usable) return current
    if (claim) continue
    await sleep(POLL_MS)
  }
}

type Claim = { certificateId: number; key: string; until: string }

/** Returns undefined if it took so long that another process has taken over. */
async function mintOne(
  db: Database,
  sealer: Sealer,
  { certificateId, key, until }: Claim,
  boundTo: string,
  mint: () => Promise<NewSession>,
): Promise<string | undefined> {
  try {
    const { value, renewAt, expiresAt } = await mint()
    // The times are by this process's clock and are stored relative to the database's.
    const now = Date.now()
    const stored = await run(
      db.pool,
      'session-store',
      `UPDATE vendor_session SET sealed = $3, renew_at = now() + make_interval(secs => $4),
         expires_at = now() + make_interval(secs => $5), minting_until = NULL
       WHERE certificate_id = $1 AND key = $2 AND minting_until = $6::timestamptz RETURNING true`,
      [
        certificateId,
        key,
        sealer.seal(value, boundTo),
        (renewAt - now) / 1000,
        (expiresAt - now) / 1000,
        until,
      ],
    )
    return stored.length > 0 ? value : undefined
  } catch (error) {
    await run(
      db.pool,
      'session-give-up',
      `UPDATE vendor_session SET minting_until = NULL
       WHERE certificate_id = $1 AND key = $2 AND minting_until = $3::timestamptz`,
      [certificateId, key, until],
    )
    throw error
  }
}

/** Returns a value that is made once per task and certificate. Concurrent callers wait for it. */
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
    await sleep(POLL_MS)
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
