import { expect, it, jest } from '@jest/globals'
import { analyzeGrown } from '../src/store/index.ts'
import { useDatabase } from './setup.ts'

const db = useDatabase()

const known = async () => {
  const { rows } = await db.pool.query<{ rows: number }>(
    `SELECT reltuples::int AS rows FROM pg_class
     WHERE oid = to_regclass('receipt_' || to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD'))`,
  )
  return rows[0]!.rows
}
const add = (rows: number) =>
  db.pool.query(
    `INSERT INTO receipt (task_id, device_id, channel)
     SELECT next_task_id(), n, 'native' FROM generate_series(1, $1::int) AS n`,
    [rows],
  )

it('takes the statistics of a partition of today that has grown, and only then', async () => {
  // Autovacuum would take them as well.
  await db.pool.query(
    `DO $$ BEGIN EXECUTE format('ALTER TABLE receipt_%s SET (autovacuum_enabled = false)',
       to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD')); END $$`,
  )
  const statements = jest.spyOn(db.pool, 'query')
  const analyzed = () => statements.mock.calls.filter(([query]) => String(query).startsWith('ANALYZE')).length
  await add(100)
  await analyzeGrown(db)
  expect([analyzed(), await known()]).toEqual([0, -1])
  await add(20_000)
  await analyzeGrown(db)
  expect([analyzed(), await known()]).toEqual([1, 20_100])
  await add(20_000)
  await analyzeGrown(db)
  expect(analyzed()).toBe(1)
  await add(60_000)
  await analyzeGrown(db)
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
