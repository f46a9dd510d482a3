import { expect, it, jest } from '@jest/globals'
import { analyzeGrown, type Database } from '../src/store/index.ts'
import { firstTaskIdAt } from '../src/store/partitions.ts'
import { useDatabase } from './setup.ts'

const db = useDatabase()
/** Of today, also if midnight passes while the spec runs. */
const noon = new Date().setUTCHours(12, 0, 0, 0)
const partition = `receipt_${new Date(noon).toISOString().slice(0, 10).replaceAll('-', '')}`

/** The database at noon, for the statement that looks for the partitions of today. */
function atNoon(): Database {
  const time = `to_timestamp(${noon / 1000})`
  const query = (statement: string | { text: string }) => {
    if (typeof statement === 'string') return db.pool.query(statement)
    return db.pool.query({ ...statement, name: undefined, text: statement.text.replace('now()', time) })
  }
  return { ...db, pool: { query } as unknown as Database['pool'] }
}

const known = async () => {
  const { rows } = await db.pool.query<{ rows: number }>(
    'SELECT reltuples::int AS rows FROM pg_class WHERE oid = to_regclass($1)',
    [partition],
  )
  return rows[0]!.rows
}
let added = 0
const add = async (rows: number) => {
  await db.pool.query(
    `INSERT INTO receipt (task_id, device_id, channel)
     SELECT $2::bigint + n, n, 'native' FROM generate_series(1, $1::int) AS n`,
    [rows, firstTaskIdAt(noon) + added],
  )
  added += rows
}

it('takes the statistics of a partition of today that has grown, and only then', async () => {
  // Autovacuum would take them as well.
  await db.pool.query(`ALTER TABLE ${partition} SET (autovacuum_enabled = false)`)
  const statements = jest.spyOn(db.pool, 'query')
  const analyzed = () => statements.mock.calls.filter(([query]) => String(query).startsWith('ANALYZE')).length
  const today = atNoon()
  await add(100)
  await analyzeGrown(today)
  expect([analyzed(), await known()]).toEqual([0, -1])
  await add(20_000)
  await analyzeGrown(today)
  expect([analyzed(), await known()]).toEqual([1, 20_100])
  await add(20_000)
  await analyzeGrown(today)
  expect(analyzed()).toBe(1)
  await add(60_000)
  await analyzeGrown(today)
  expect([analyzed(), await known()]).toEqual([2, 100_100])
})

it('takes those of the partition of request ids, which is searched for each push', async () => {
  await db.pool.query('ALTER TABLE request_1 SET (autovacuum_enabled = false)')
  // As after a restore: Postgres knows that the table is empty, and a statement that is prepared now reads all of it for each request id.
  await db.pool.query('ANALYZE request_1')
  await db.pool.query(
    `INSERT INTO request (period, app_id, request_id, task_id) SELECT 1, 'app', 'request-' || n, n FROM generate_series(1, 20000) n`,
  )
  await analyzeGrown(db)
  const { rows } = await db.pool.query(`SELECT reltuples FROM pg_class WHERE relname = 'request_1'`)
  expect(rows).toEqual([{ reltuples: 20_000 }])
})
