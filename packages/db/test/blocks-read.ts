import type { PoolClient } from 'pg'
import type { Database } from '../src/store/index.ts'

/** The name may end in the days of the statement (days.ts). */
type Statement = { name?: string; text: string; values: unknown[] }
type Query = (statement: unknown, values?: unknown[]) => Promise<{ rows: unknown[] }>

/** Postgres empties a session's catalog caches when other databases of the server change many tables; reading them again costs blocks too. */
const READINGS = 3

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

async function explainPrepared(query: Query, text: string, values: readonly Simple[]) {
  await query(`PREPARE explained AS ${text}`)
  const result = await query(
    `${explainSql} EXECUTE explained${values.length > 0 ? ` (${values.map(literal)})` : ''}`,
  )
  await query('DEALLOCATE explained')
  return result
}

/**
 * Runs `work` and returns how many blocks (8 kB) Postgres read or found in memory for each of its statements: a measure of what they
 * cost that does not depend on the machine. Each statement first runs several times under EXPLAIN, undone afterwards; the least counts. With
 * `prepared` it has the plan of a prepared statement, which does not depend on the values; they are numbers, booleans, words or lists of words then.
 */
export async function blocksRead(
  db: Database,
  work: (db: Database) => Promise<unknown>,
  { prepared = false } = {},
): Promise<Record<string, number>> {
  const blocks: Record<string, number> = {}
  async function explain(query: Query, { name, text, values }: Statement, begin: string, undo: string) {
    const readings: number[] = []
    for (let reading = 0; reading < READINGS; reading++) {
      await query(begin)
      try {
        const { rows } = prepared
          ? await explainPrepared(query, text, values as Simple[])
          : await query(`${explainSql} ${text}`, values)
        const { Plan: plan } = (rows[0] as { 'QUERY PLAN': [{ Plan: Plan }] })['QUERY PLAN'][0]
        // Steps that write and that no other step reads are run at the end, and are not part of the root.
        readings.push(Math.max(blocksOf(plan), blocksOfScans(plan)))
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
