import type { Database } from './database.ts'
import type { Runner } from './statement.ts'

export type Lead = {
  /** The connection that holds the lead; when it is lost, so is the lead. */
  runner: Runner
  release(): Promise<void>
}

/**
 * The lead among processes for work that one of them does for all, and that may be left undone for a while: undefined when
 * somebody else has it. Held by a connection, so that it ends with its process; that connection is out of the pool meanwhile.
 */
export async function takeLead(db: Database, work: string): Promise<Lead | undefined> {
  const client = await db.pool.connect()
  const onError = () => {}
  client.on('error', onError)
  let held = false
  try {
    const { rows } = await client.query('SELECT pg_try_advisory_lock(hashtext($1)) AS held', [
      `herald ${work}`,
    ])
    held = rows[0].held
  } finally {
    if (!held) {
      client.off('error', onError)
      client.release()
    }
  }
  if (!held) return undefined
  return {
    runner: client,
    async release() {
      // Ending the connection is the one way to let go that cannot fail.
      client.release(true)
    },
  }
}
