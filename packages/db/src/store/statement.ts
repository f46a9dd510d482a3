import type pg from 'pg'
import type { Prisma } from '../generated/client.ts'
import type { Database } from './database.ts'
import { CommitInDoubt, isInDoubt } from './errors.ts'

/** The pool, or a client inside a transaction. */
export type Runner = Pick<Database['pool'], 'query'>

/**
 * Runs a statement that is prepared once per connection under its name, which must be unique. Rows are arrays, which cost half as
 * much as objects. `Row` is the tuple of the columns; only the specs check it. Without a name the statement is planned for this call.
 */
export async function run<Row extends unknown[]>(
  runner: Runner,
  name: string | undefined,
  text: string,
  values: unknown[],
): Promise<Row[]> {
  const result = await runner.query({ name, text, values, rowMode: 'array' })
  return result.rows as Row[]
}

/** Selects SQL expressions by field: `sql` is the list of columns, `read` turns a row of them into an object. */
export function fields<T>(columns: Record<keyof T, string>) {
  const names = Object.keys(columns) as (keyof T)[]
  return {
    sql: Object.values(columns).join(', '),
    read(row: unknown[]): T {
      const object = {} as T
      for (let i = 0; i < names.length; i++) object[names[i]!] = row[i] as T[keyof T]
      return object
    },
  }
}

/**
 * Finds the row with these values by the index that has these columns in this order. With a plain comparison of each column, and
 * statistics of an empty table, Postgres may choose any other index with one of them and read all of its rows.
 */
export function keyIs(columns: readonly string[], values: readonly string[]): string {
  return `(${columns}) >= (${values}) AND (${columns}) <= (${values})`
}

/**
 * Begins a transaction whose statements find rows by an index, once for each line of their parameters. A prepared statement keeps
 * its plan: one that was planned while the table was small would read the whole table forever, or until the next ANALYZE.
 */
export const indexesOnly = beginWithout('seqscan', 'hashjoin', 'mergejoin', 'material')

/** Begins a transaction in which Postgres avoids these plans. */
export function beginWithout(...plans: string[]): string {
  return plans.reduce((sql, plan) => `${sql}; SET LOCAL enable_${plan} = off`, 'BEGIN')
}

/** A connection of the pool. With `close` it is not returned to the pool. */
export type Connection = { client: pg.PoolClient; close?: Error | true }

export async function onConnection<T>(
  db: Database,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection: Connection = { client: await db.pool.connect() }
  const { client } = connection
  // The pool does not listen to a client in use; without a listener the loss of its connection would crash the process.
  const onError = (error: Error) => {
    connection.close = error
  }
  client.on('error', onError)
  try {
    return await work(connection)
  } finally {
    client.off('error', onError)
    client.release(connection.close)
  }
}

/** Runs `work` between `begin` and COMMIT. An error rolls back and is thrown to the caller. */
export async function transaction<T>(
  connection: Connection,
  work: (runner: Runner) => Promise<T>,
  begin = 'BEGIN',
): Promise<T> {
  const { client } = connection
  try {
    await client.query(begin)
    const value = await work(client)
    await client.query('COMMIT')
    return value
  } catch (error) {
    // A connection that cannot roll back must not return to the pool with an open transaction.
    await client.query('ROLLBACK').catch((failure: Error) => {
      connection.close = failure
    })
    throw error
  }
}

/** A transaction on a connection of its own. Throws CommitInDoubt. */
export function inTransaction<T>(
  db: Database,
  work: (runner: Runner) => Promise<T>,
  begin?: string,
): Promise<T> {
  return committing(work, (all) => onConnection(db, (connection) => transaction(connection, all, begin)))
}

/**
 * The same without the check of the COMMIT: if its reply is lost, the error is thrown as it is. For reads, and for searches whose writes a
 * later round finds or repeats: their callers do not need to know whether it was carried out.
 */
export function inUncheckedTransaction<T>(
  db: Database,
  work: (runner: Runner) => Promise<T>,
  begin?: string,
): Promise<T> {
  return onConnection(db, (connection) => transaction(connection, work, begin))
}

/** A transaction of Prisma. Throws CommitInDoubt. */
export function inPrismaTransaction<T>(
  db: Database,
  work: (prisma: Prisma.TransactionClient) => Promise<T>,
): Promise<T> {
  return committing(work, (all) => db.prisma.$transaction(all))
}

/** `transact` calls `work` and then commits, so an error after the end of `work` is one of the COMMIT. */
async function committing<Client, T>(
  work: (client: Client) => Promise<T>,
  transact: (work: (client: Client) => Promise<T>) => Promise<T>,
): Promise<T> {
  let isDone = false
  try {
    return await transact(async (client) => {
      const value = await work(client)
      isDone = true
      return value
    })
  } catch (error) {
    throw isDone && isInDoubt(error) ? new CommitInDoubt(error as Error) : error
  }
}
