import { until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { openTestApi, type TestApi } from './harness.ts'

let api: TestApi
beforeAll(async () => {
  api = await openTestApi()
})
afterAll(() => api.close())

const count = (audience: unknown = 'all') => api.call('/push/audience/count', { body: { audience } })

describe('POST /push/audience/count', () => {
  /** Runs `work` while counts wait for a lock; `waiting` returns the sessions of `count` of them. */
  async function whileCountsWait(work: (waiting: (count: number) => Promise<number[]>) => Promise<void>) {
    const holder = await api.context.db.pool.connect()
    try {
      await holder.query(
        'BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0; LOCK TABLE device IN ACCESS EXCLUSIVE MODE',
      )
      await work((count) =>
        until(async () => {
          const { rows } = await holder.query<{ pid: number }>(
            `SELECT pid FROM pg_locks WHERE NOT granted AND relation = 'device'::regclass
               AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
          )
          return rows.length === count && rows.map(({ pid }) => pid)
        }),
      )
    } finally {
      await holder.query('ROLLBACK')
      holder.release()
    }
  }

  it('counts two audiences of an application at a time', async () => {
    let running: ReturnType<typeof count>[] = []
    await whileCountsWait(async (waiting) => {
      running = [count(), count()]
      await waiting(2)
      expect((await count()).code).toBe(42901)
    })
    expect((await Promise.all(running)).map(({ code }) => code)).toEqual([200, 200])
    expect((await count()).code).toBe(200)
  })

  it('leaves its place when it fails', async () => {
    await whileCountsWait(async (waiting) => {
      for (let i = 0; i < 3; i++) {
        const failing = count()
        const [pid] = await waiting(1)
        await api.context.db.pool.query('SELECT pg_cancel_backend($1)', [pid])
        expect([200, 42901]).not.toContain((await failing).code)
      }
    })
    expect((await count()).code).toBe(200)
  })

  it('is refused while other applications have all places', async () => {
    const { counts } = api.deps.admission
    const leave = ['one', 'one', 'two', 'two'].map((app) => counts.enter(app))
    expect((await count()).code).toBe(50301)
    leave[0]!()
    expect((await count()).code).toBe(200)
    for (const one of leave) one()
  })
})
