import type { Database } from './database.ts'
import type { Runner } from './statement.ts'

export type AdvisoryLock = {
  /** The connection that owns the lock; when it is lost, so is the lock. */
  runner: Runner
  release(): Promise<void>
}

/**
 * Takes the lock for work that one process does for all; undefined if another process has it. The lock belongs to a connection,
 * which is out of the pool until the release, so that it ends with its process.
 */
export async function tryAdvisoryLock(db: Database, work: string): Promise<AdvisoryLock | undefined> {
  const client = await db.pool.connect()
  const onError = () => {}
  client.on('error', onError)
  let taken = false
  try {
    const { rows } = await client.query('SELECT pg_try_advisory_lock(hashtext($1)) AS taken', [
      `herald ${work}`,
    ])
    taken = rows[0].taken
  } finally {
    if (!taken) {
      client.off('error', onError)
      client.release()
    }
  }
  if (!taken) return undefined
  return {
    runner: client,
    // Closes the connection, which also unlocks; unlike a statement that unlocks, it cannot fail.
    release: async () => client.release(true),
  }
}
