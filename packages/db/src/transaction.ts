import type pg from 'pg'
import type { Database } from './database.ts'

/** Runs `work` on one connection between BEGIN and COMMIT; anything thrown rolls back and is thrown on. */
export async function inTransaction<T>(
  db: Database,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await db.pool.connect()
  let broken: Error | undefined
  try {
    await client.query('BEGIN')
    const result = await work(client)
    await client.query('COMMIT')
    return result
  } catch (error) {
    // A connection that cannot even roll back must not return to the pool with an open transaction.
    await client.query('ROLLBACK').catch((failure: Error) => {
      broken = failure
    })
    throw error
  } finally {
    client.release(broken)
  }
}
