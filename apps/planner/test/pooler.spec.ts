import { migrate } from '@herald/db/store'
import {
  describeWith,
  keepsPrepared,
  startPgBouncer,
  type TestRedis,
  testRedis,
  until,
} from '@herald/testkit'
import { testDatabase } from '@herald/testkit/database'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { type Harness, startHarness } from './harness.ts'

describeWith('pgbouncer', 'redis-server')('behind PgBouncer in transaction mode', () => {
  let redis: TestRedis
  let harness: Harness
  beforeAll(async () => {
    redis = await testRedis()
  })
  afterAll(() => redis.stop())

  async function deliver(): Promise<void> {
    const { addApplication, addDevices, notify, finished, counters, imbalances, db } = harness
    const app = await addApplication('pooled')
    await addDevices(
      app,
      Array.from({ length: 3_000 }, (_, i) => ({
        tokens: i % 2 === 0 ? { xiaomi: `${i}:accepted` } : { huawei: `${i}:rejected`, fcm: `${i}:accepted` },
        ...(i < 10 && { alias: `alias ${i}` }),
      })),
    )
    const large = await notify(app)
    const small = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        notify(app, { audience: { kind: 'alias', aliases: [`alias ${i}`] } }),
      ),
    )
    for (const task of [large, ...small]) await finished(task)
    expect(await counters(large)).toEqual({
      xiaomi: { target: 1_500, sent: 1_500 },
      huawei: { target: 1_500, moved: 1_500 },
      fcm: { target: 1_500, sent: 1_500 },
    })
    expect(await imbalances()).toEqual([])
    const leads = `SELECT FROM lead WHERE work = 'sampler' AND until > now()`
    await until(async () => (await db.pool.query(leads)).rowCount === 1, { what: 'the lead of the sampler' })
    const sessions = await db.pool.query(
      `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'`,
    )
    expect(sessions.rows[0].n).toBeLessThanOrEqual(4)
  }

  it.each(keepsPrepared() ? ['on', 'off'] : ['off'])(
    'delivers, with prepared statements %s',
    async (prepare) => {
      // Fewer sessions than clients, so that every statement of a client may run in another session.
      harness = await startHarness({
        queueUrl: redis.url,
        settings: { HERALD_DATABASE_PREPARE: prepare },
        pooler: (url) => startPgBouncer(url, 4),
      })
      try {
        await harness.startPlanner()
        await harness.startWorkers()
        await deliver()
      } finally {
        await harness.stop()
      }
    },
  )

  it('does not migrate, because its lock needs a session of its own', async () => {
    const database = await testDatabase({ migrated: false })
    const pooler = await startPgBouncer(database.url)
    try {
      await expect(migrate(pooler.url)).rejects.toThrow(/cannot be applied through a pooler/)
      await migrate(database.url)
      await migrate(pooler.url)
    } finally {
      await pooler.stop()
      await database.drop()
    }
  })
})
