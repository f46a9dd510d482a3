import type { PoolClient } from 'pg'
import type { Database } from '../src/store/index.ts'

/** The name may end in the days of the statement (days.ts). */
type Statement = { name?: string; text: string; values: unknown[] }
type Query = (statement: unknown, values?: unknown[]) => Promise<{ rows: unknown[] }>

/** Postgres empties a session's catalog caches when other databases of the server change many tables; reading them again costs blocks too. */
const READINGS = 3

/**
 * Runs `work` and returns how many blocks (8 kB) Postgres read or found in memory for each of its statements: a measure of what they
 * cost that does not depend on the machine. Each statement first runs several times under EXPLAIN, undone afterwards; the least counts.
 */
export async function blocksRead(
  db: Database,
  work: (db: Database) => Promise<unknown>,
): Promise<Record<string, number>> {
  const blocks: Record<string, number> = {}
  async function explain(query: Query, { name, text, values }: Statement, begin: string, undo: string) {
    const readings: number[] = []
    for (let reading = 0; reading < READINGS; reading++) {
      await query(begin)
      try {
        const { rows } = await query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, values)
        const { Plan: plan } = (rows[0] as { 'QUERY PLAN': [{ Plan: Record<string, number> }] })[
          'QUERY PLAN'
        ][0]
        readings.push(plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!)
      } finally {
        await query(undo)
      }
    }
    const key = (name ?? /\b(\w+)\b/.exec(text)![1]!).split('@')[0]!
    blocks[key] = (blocks[key] ?? 0) + Math.min(...readings)
  }
  const onClient = (client: PoolClient, begin: string, undo: string) =>
    new Proxy(client, {
      get(target, key) {
        const value = Reflect.get(target, key)
        if (key !== 'query') return typeof value === 'function' ? value.bind(target) : value
        return async (statement: string | Statement, values?: unknown[]) => {
          const query = target.query.bind(target) as unknown as Query
          const given = typeof statement === 'string' && values ? { text: statement, values } : statement
          if (typeof given !== 'string') await explain(query, given, begin, undo)
          return query(statement, values)
        }
      },
    })
  const pool = new Proxy(db.pool, {
    get(target, key) {
      if (key === 'connect')
        return async () => onClient(await target.connect(), 'SAVEPOINT explained', 'ROLLBACK TO explained')
      if (key !== 'query') return Reflect.get(target, key)
      return async (statement: Statement, values?: unknown[]) => {
        const client = await target.connect()
        try {
          return await onClient(client, 'BEGIN', 'ROLLBACK').query(statement as never, values as never)
        } finally {
          client.release()
        }
      }
    },
  })
  await work({ ...db, pool })
  return blocks
}
