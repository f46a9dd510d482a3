import { randomBytes } from 'node:crypto'
import { certificatesOf } from '@herald/db/certificates'
import { findImbalances } from '@herald/db/readings'
import { createSealer, type Database, openDatabase } from '@herald/db/store'
import { cancelAccepted, finishTasks, readyCertificates, recordReceipts, settleEnded } from '@herald/db/tasks'
import { type TestDatabase, testDatabase } from '@herald/testkit/database'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { emptySizes, partitionCount, prepare, smallSizes, wide, wideTask } from '../prepare.ts'

let database: TestDatabase
let db: Database
const sealer = createSealer(randomBytes(32))

beforeAll(async () => {
  database = await testDatabase()
  db = openDatabase(database.url, { max: 4, name: 'prepare', waitMs: 60_000 })
  await prepare(db, sealer, smallSizes)
})
afterAll(async () => {
  await db.close()
  await database.drop()
})

const all = async <Row>(sql: string) => (await db.pool.query(sql)).rows as Row[]

describe('a loaded database', () => {
  it('has the wanted number of partitions in every partitioned table', async () => {
    expect(await partitionCount(db)).toBeGreaterThanOrEqual(smallSizes.partitions)
  })

  it('has waiting tasks of every kind, of all applications', async () => {
    const kinds = await all<{ kind: string; count: number }>(
      `SELECT concat_ws(' ', t.state, CASE WHEN t.paused THEN 'paused' END, b.state, CASE WHEN i.task_id IS NOT NULL THEN 'inbox' END) AS kind,
         count(*)::int AS count
       FROM task t LEFT JOIN batch b ON b.task_id = t.id LEFT JOIN inbox i ON i.task_id = t.id
       WHERE t.app_id LIKE 'tenant-%' GROUP BY 1 ORDER BY 1`,
    )
    expect(kinds).toEqual([
      { kind: 'accepted', count: 400 },
      { kind: 'sending inbox', count: 200 },
      { kind: 'sending paused held', count: 200 },
      { kind: 'sending ready', count: 200 },
    ])
    const [spread] = await all(
      `SELECT count(DISTINCT app_id)::int AS apps FROM task WHERE app_id LIKE 'tenant-%'`,
    )
    expect(spread).toEqual({ apps: smallSizes.applications })
  })

  it('has pushes behind one closed certificate, which is never probed', async () => {
    const [held] = await all(
      `SELECT count(*)::int AS count, bool_and(not_before = 'infinity') AS infinite FROM batch WHERE app_id = 'closed'`,
    )
    expect(held).toEqual({ count: smallSizes.held, infinite: true })
    const [certificate] = await certificatesOf(db, sealer, 'closed')
    expect(certificate).toMatchObject({ state: 'closed' })
    expect(certificate!.probeAt).toBeGreaterThan(Date.now() + 365 * 86_400_000)
  })

  it('has a broadcast of which the last devices can report receipts', async () => {
    const taskId = await wideTask(db)
    const [batches] = await all(
      `SELECT count(*)::int AS all, (count(*) FILTER (WHERE state = 'held'))::int AS held FROM batch WHERE task_id = ${taskId}`,
    )
    expect(batches).toEqual({ all: smallSizes.batches, held: smallSizes.batches / 10 })
    const devices = await all<{ id: number }>(`SELECT id FROM device WHERE app_id = 'wide' ORDER BY id`)
    expect(devices).toHaveLength(wide.devices)
    const report = (deviceId: number) => ({ appId: wide.appId, taskId, deviceId, event: 'received' as const })
    expect(await recordReceipts(db, [report(devices[0]!.id), report(devices.at(-1)!.id)])).toBe(2)
  })

  it('is what the pipeline itself could have written: nothing is due, nothing ends, counters are in balance', async () => {
    expect(await findImbalances(db)).toEqual([])
    expect((await readyCertificates(db, 0)).found).toEqual([])
    expect(await settleEnded(db)).toEqual([])
    expect(await cancelAccepted(db)).toBe(0)
    expect(await finishTasks(db)).toBe(0)
  })
})

describe('an empty database', () => {
  it('has only the broadcast for receipts, with the batches of a thousand devices each', async () => {
    const other = await testDatabase()
    const empty = openDatabase(other.url, { max: 2, name: 'prepare', waitMs: 60_000 })
    try {
      await prepare(empty, sealer, emptySizes)
      const { rows } = await empty.pool.query(
        `SELECT (SELECT count(*) FROM task) AS tasks, (SELECT count(*) FROM batch WHERE state = 'settled' AND size = 1000) AS batches,
           (SELECT count(*) FROM application) AS applications`,
      )
      expect(rows).toEqual([{ tasks: 1, batches: wide.devices / 1000, applications: 1 }])
      expect(await findImbalances(empty)).toEqual([])
    } finally {
      await empty.close()
      await other.drop()
    }
  })
})
