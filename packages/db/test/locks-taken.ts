import type { PoolClient } from 'pg'
import type { Database } from '../src/store/index.ts'

type Statement = string | { name?: string; text: string }
export type Locks = { tables: number; days: number }

const locksSql = `SELECT count(DISTINCT l.relation)::int AS tables, count(DISTINCT substring(c.relname FROM '_([0-9]{8})$'))::int AS days
  FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
  WHERE l.pid = pg_backend_pid() AND c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace`

/** A statement without a name is known by its beginning, without its numbers. */
function keyOf(statement: Statement): string {
  const { name, text } = typeof statement === 'string' ? { text: statement } : statement
  return name?.split('@')[0] ?? text.trim().replace(/\d+/g, '#').slice(0, 60)
}

/**
 * Runs `work` and returns, by statement, the largest number of tables that were locked after it, and of days that they are of. A statement
 * inside a transaction counts with those before it: their locks end together.
 */
export async function locksTaken(
  db: Database,
  work: (db: Database) => Promise<unknown>,
): Promise<Record<string, Locks>> {
  const taken: Record<string, Locks> = {}
  async function note(client: PoolClient, statement: Statement): Promise<void> {
    const { rows } = await client.query<Locks>(locksSql)
    const [locks, key] = [rows[0]!, keyOf(statement)]
    const known = taken[key] ?? { tables: 0, days: 0 }
    taken[key] = {
      tables: Math.max(known.tables, locks.tables),
      days: Math.max(known.days, locks.days),
    }
  }
  async function alone(statement: Statement, values?: unknown[]) {
    const client = await db.pool.connect()
    try {
      await client.query('BEGIN')
      const result = await client.query(statement as never, values as never)
      await note(client, statement)
      await client.query('COMMIT')
      return result
    } catch (error) {
      await client.query('ROLLBACK')
      throw error
    } finally {
      client.release()
    }
  }
  function within(client: PoolClient): PoolClient {
    const query = async (statement: Statement, values?: unknown[]) => {
      const result = await client.query(statement as never, values as never)
      if (!/^(BEGIN|COMMIT|ROLLBACK|SET)\b/.test(keyOf(statement))) await note(client, statement)
      return result
    }
    return new Proxy(client, {
      get(target, key) {
        if (key === 'query') return query
        const value = Reflect.get(target, key)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }
  const pool = new Proxy(db.pool, {
    get(target, key) {
      if (key === 'query') return alone
      if (key === 'connect') return async () => within(await target.connect())
      return Reflect.get(target, key)
    },
  })
  await work({ ...db, pool })
  return taken
}
