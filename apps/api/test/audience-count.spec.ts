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

  it('counts two audiences of an application at a time; others wait, too many are refused', async () => {
    let running: ReturnType<typeof count>[] = []
    await whileCountsWait(async (waiting) => {
      running = Array.from({ length: 53 }, () => count())
      await waiting(2)
      expect((await Promise.race(running)).code).toBe(42901)
    })
    const codes = (await Promise.all(running)).map(({ code }) => code)
    expect(codes.filter((code) => code === 200)).toHaveLength(52)
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

  it('waits while other applications have all places, and has its turn before further calls of theirs', async () => {
    const { counts } = api.deps.admission
    const leave = await Promise.all(['one', 'one', 'two', 'two'].map((app) => counts.enter(app)))
    const order: string[] = []
    const further = ['one', 'one'].map(async (app) => {
      const end = await counts.enter(app)
      order.push(app)
      end()
    })
    const own = count().then(({ code }) => order.push(`own ${code}`))
    leave[2]!()
    await own
    expect(order[0]).toBe('own 200')
    for (const one of leave) one()
    await Promise.all(further)
  })
})
