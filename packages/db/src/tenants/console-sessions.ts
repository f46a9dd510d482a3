import { createHash } from 'node:crypto'
import type { Database } from '../store/database.ts'
import { run } from '../store/statement.ts'

export type ConsoleSessionRow = {
  /** Undefined for the operator. */
  appId?: string
  stamp: string
}

/** Stores a session under the key in the browser's cookie, and deletes expired sessions. */
export async function openConsoleSession(
  db: Database,
  key: string,
  { appId, stamp }: ConsoleSessionRow,
  seconds: number,
): Promise<void> {
  await run(
    db.pool,
    'open-console-session',
    `WITH ended AS (DELETE FROM console_session WHERE expires_at <= now())
     INSERT INTO console_session (key_hash, app_id, stamp, expires_at)
     VALUES ($1, $2, $3, now() + make_interval(secs => $4))`,
    [hashOf(key), appId ?? null, stamp, seconds],
  )
}

export async function findConsoleSession(db: Database, key: string): Promise<ConsoleSessionRow | undefined> {
  const [row] = await run<[appId: string | null, stamp: string]>(
    db.pool,
    'find-console-session',
    'SELECT app_id, stamp FROM console_session WHERE key_hash = $1 AND expires_at > now()',
    [hashOf(key)],
  )
  return row && { appId: row[0] ?? undefined, stamp: row[1] }
}

export async function closeConsoleSession(db: Database, key: string): Promise<void> {
  await run(db.pool, 'close-console-session', 'DELETE FROM console_session WHERE key_hash = $1', [
    hashOf(key),
  ])
}

function hashOf(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}
