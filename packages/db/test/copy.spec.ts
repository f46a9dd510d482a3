import { describeWith, startPgBouncer, type TestPooler } from '@herald/testkit'
import { type TestDatabase, testDatabase } from '@herald/testkit/database'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Copied, copyInto } from '../src/store/copy.ts'
import { type Database, openDatabase } from '../src/store/index.ts'

describeWith('pgbouncer')('copying rows behind PgBouncer in transaction mode', () => {
  let database: TestDatabase
  let pooler: TestPooler
  let db: Database
  beforeAll(async () => {
    // One session: what one statement leaves behind is seen by the next one.
    database = await testDatabase()
    pooler = await startPgBouncer(database.url, 1)
    db = openDatabase(pooler.url, { max: 3 })
  })
  afterAll(async () => {
    await db.close()
    await pooler.stop()
    await database.drop()
  })

  const rowsOf = (from: number): Copied[] => {
    const numbers = Array.from({ length: 2000 }, (_, i) => from + i)
    const rows = (line: (n: number) => string) => Buffer.from(numbers.map((n) => `${line(n)}\n`).join(''))
    return [
      {
        table: 'device',
        columns: ['id', 'app_id', 'guid'],
        rows: rows((n) => `${n}\tcopied\tguid-${n}`),
      },
      {
        table: 'binding',
        columns: ['device_id', 'channel', 'app_id', 'token'],
        rows: rows((n) => `${n}\thuawei\tcopied\ttoken-${n % 7000}`),
      },
      { table: 'device_tag', columns: ['tag_id', 'device_id'], rows: rows((n) => `1\t${n}`) },
    ]
  }
  const counts = async () => {
    const { rows } = await db.pool.query(
      `SELECT (SELECT count(*)::int FROM device) AS devices, (SELECT count(*)::int FROM binding) AS bindings,
         (SELECT count(*)::int FROM device_tag) AS tags`,
    )
    return rows[0]
  }

  it('inserts all rows, or none of a call in which one is refused', async () => {
    const results = await Promise.allSettled([1000, 3000, 5000].map((from) => copyInto(db, rowsOf(from))))
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled'])
    expect(await counts()).toEqual({ devices: 6000, bindings: 6000, tags: 6000 })
    // Devices are accepted, their tokens from the second thousand on are refused.
    await expect(copyInto(db, rowsOf(7000))).rejects.toMatchObject({ code: '23505' })
    expect(await counts()).toEqual({ devices: 6000, bindings: 6000, tags: 6000 })
    await copyInto(db, rowsOf(14_000).slice(0, 1))
    expect(await counts()).toEqual({ devices: 8000, bindings: 6000, tags: 6000 })
  })
})

describe('copying rows over connections that prepare nothing', () => {
  let database: TestDatabase
  let db: Database
  beforeAll(async () => {
    database = await testDatabase()
    db = openDatabase(database.url, { prepare: false })
  })
  afterAll(async () => {
    await db.close()
    await database.drop()
  })

  it('inserts them, alone and after a statement of the same transaction', async () => {
    const tag = (device: number): Copied[] => [
      { table: 'device_tag', columns: ['tag_id', 'device_id'], rows: Buffer.from(`1\t${device}\n`) },
    ]
    await copyInto(db, tag(1))
    await copyInto(db, tag(2), async (runner) => {
      await runner.query({ name: 'first', text: 'SELECT $1::int', values: [1] })
    })
    const { rows } = await db.pool.query('SELECT device_id FROM device_tag ORDER BY 1')
    expect(rows).toEqual([{ device_id: 1 }, { device_id: 2 }])
  })
})
