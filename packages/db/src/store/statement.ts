import type { Database } from './database.ts'

/** Anything that can run a statement: the pool, or a client inside a transaction. */
export type Runner = Pick<Database['pool'], 'query'>

/**
 * A hot statement: prepared once per connection under its name, rows as arrays (half the cost of objects). `Row` is the
 * tuple of its columns; nothing checks it but the specs.
 */
export async function run<Row extends unknown[]>(
  runner: Runner,
  name: string,
  text: string,
  values: unknown[],
): Promise<Row[]> {
  const result = await runner.query({ name, text, values, rowMode: 'array' })
  return result.rows as Row[]
}

/** Runs `work` on one connection between BEGIN and COMMIT; anything thrown rolls back and is thrown on. */
export async function inTransaction<T>(db: Database, work: (runner: Runner) => Promise<T>): Promise<T> {
  const client = await db.pool.connect()
  let broken: Error | undefined
  // While the client is out of the pool nobody else hears the loss of its connection, which would end the process.
  const onError = (error: Error) => {
    broken = error
  }
  client.on('error', onError)
  try {
    await client.query('BEGIN')
    const value = await work(client)
    await client.query('COMMIT')
    return value
  } catch (error) {
    // A connection that cannot even roll back must not return to the pool with an open transaction.
    await client.query('ROLLBACK').catch((failure: Error) => {
      broken = failure
    })
    throw error
  } finally {
    client.off('error', onError)
    client.release(broken)
  }
}
