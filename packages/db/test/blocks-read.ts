import type { PoolClient } from 'pg'
import type { Database } from '../src/store/index.ts'

/** The name may end in the days of the statement (days.ts). */
type Statement = { name?: string; text: string; values: unknown[] }
type Query = (statement: unknown, values?: unknown[]) => Promise<{ rows: unknown[] }>

/**
 * Postgres empties a session's catalog caches when other databases of the server change many tables; reading them again costs blocks too. So a
 * statement is read until two readings are equal, but at most this often.
 */
const MAX_READINGS = 3

type Plan = { 'Node Type': string; 'Shared Hit Blocks': number; 'Shared Read Blocks': number; Plans?: Plan[] }
const blocksOf = (plan: Plan) => plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
/** Not of those that read a step of a WITH: the blocks that they show are those of the step, which is also in the plan. */
function blocksOfScans(plan: Plan): number {
  if (plan.Plans) return plan.Plans.reduce((sum, part) => sum + blocksOfScans(part), 0)
  return plan['Node Type'] === 'CTE Scan' ? 0 : blocksOf(plan)
}

const explainSql = 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)'

type Simple = number | boolean | string | readonly string[]
const literal = (value: Simple) =>
  typeof value === 'object' ? `'{${value}}'` : typeof value === 'string' ? `'${value}'` : value
const argumentsOf = (values: readonly Simple[]) => (values.length > 0 ? ` (${values.map(literal)})` : '')

/**
 * Runs `work` and returns how many blocks (8 kB) Postgres read or found in memory for each of its statements: a measure of what they
 * cost that does not depend on the machine. Each statement first runs under EXPLAIN, several times, undone afterwards; the least counts. With
 * `prepared` it has the plan of a prepared statement, which does not depend on the values; they are numbers, booleans, words or lists of words then.
 * A statement that reads no more than `enough`, by its name, is read once.
 */
export async function blocksRead(
  db: Database,
  work: (db: Database) => Promise<unknown>,
  { prepared = false, enough = {} }: { prepared?: boolean; enough?: Record<string, number> } = {},
): Promise<Record<string, number>> {
  const blocks: Record<string, number> = {}
  async function explain(query: Query, { name, text, values }: Statement, begin: string, undo: string) {
    const key = (name ?? /\b(\w+)\b/.exec(text)![1]!).split('@')[0]!
    const before = blocks[key] ?? 0
    const read = () =>
      prepared
        ? query(`${explainSql} EXECUTE explained${argumentsOf(values as Simple[])}`)
        : query(`${explainSql} ${text}`, values)
    let least = Number.POSITIVE_INFINITY
    let known = false
    try {
      for (let reading = 0, isEnough = false; reading < MAX_READINGS && !isEnough; reading++) {
        await query(begin)
        try {
          if (prepared && !known) await query(`PREPARE explained AS ${text}`)
          known = prepared
          const { rows } = await read()
          const { Plan: plan } = (rows[0] as { 'QUERY PLAN': [{ Plan: Plan }] })['QUERY PLAN'][0]
          // Steps that write and that no other step reads are run at the end, and are not part of the root.
          const count = Math.max(blocksOf(plan), blocksOfScans(plan))
          isEnough = count === least || before + count <= (enough[key] ?? -1)
          least = Math.min(least, count)
        } finally {
          await query(undo)
        }
      }
    } finally {
      if (known) await query('DEALLOCATE explained')
    }
    blocks[key] = before + least
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

/**
 * Afterwards index-only scans read no tables. VACUUM notes that the rows of a block are visible to all only if their commit is in the WAL on disk,
 * and without synchronous commits that happens a moment later.
 */
export async function vacuumAnalyze(db: Database, tables: string): Promise<void> {
  await db.pool.query(`SELECT pg_logical_emit_message(false, 'flush', '', true)`)
  await db.pool.query(`VACUUM ANALYZE ${tables}`)
}
