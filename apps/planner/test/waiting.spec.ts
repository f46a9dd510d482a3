import type { Database } from '@herald/db/store'
import type { PushQueues } from '@herald/queue'
import { acceptPlan } from '@herald/testkit/accept-plan'
import { useDatabase } from '@herald/testkit/use-database'
import { afterEach, expect, it, jest } from '@jest/globals'
import { feedRound, newFeedTurns } from '../src/feed-round.ts'

const db = useDatabase()
afterEach(() => void jest.restoreAllMocks())

const walks = ['ready-certificates', 'paced-tasks']

/** A database that counts the statements that walk over certificates and tasks. */
function counted() {
  const walked: string[] = []
  const pool = new Proxy(db.pool, {
    get(target, key) {
      const value = Reflect.get(target, key)
      if (key !== 'connect') return typeof value === 'function' ? value.bind(target) : value
      return async () => {
        const client = await target.connect()
        const query = (statement: string | { name?: string }) => {
          const name = typeof statement === 'string' ? undefined : statement.name?.split('@')[0]
          if (name && walks.includes(name)) walked.push(name)
          return client.query(statement as string)
        }
        return new Proxy(client, {
          get(of, member) {
            const value = Reflect.get(of, member)
            return member === 'query' ? query : typeof value === 'function' ? value.bind(of) : value
          },
        })
      }
    },
  })
  return { walked, db: { ...db, pool } as Database }
}

const ready = (certificateId: number, count = 1, speed?: number) =>
  acceptPlan(
    db,
    'app',
    {
      batches: Array.from({ length: count }, () => ({
        channel: 'fcm' as const,
        certificateId,
        recipients: [1],
        tried: [],
      })),
    },
    { released: false, speed },
  )

it('the feeder walks over certificates at the start, when much is due, and from time to time', async () => {
  let now = 1_000_000
  jest.spyOn(performance, 'now').mockImplementation(() => now)
  const { walked, db: measured } = counted()
  const deps = { db: measured, queues: { add: async () => {} } as unknown as PushQueues, onQueueFailure() {} }
  const turns = newFeedTurns()
  const round = async () => {
    walked.length = 0
    const { batches } = await feedRound(deps, turns)
    return { batches, walked: [...walked] }
  }
  await ready(1)
  await ready(2, 1, 10)
  await db.pool.query(`UPDATE batch SET not_before = now() + interval '1 hour'`)
  expect(await round()).toEqual({ batches: 0, walked: walks })
  expect(await round()).toEqual({ batches: 0, walked: [] })

  await db.pool.query(`UPDATE batch SET not_before = now(); UPDATE task SET speed_tokens = 10`)
  // The one without a speed limit, and what that made ready in the same round.
  expect(await round()).toEqual({ batches: 1, walked: [] })
  expect(turns.newlyReady).toBe(1)
  expect(await round()).toEqual({ batches: 1, walked: [] })
  expect(turns.newlyReady).toBe(0)
  expect(await round()).toEqual({ batches: 0, walked: [] })

  await ready(3, 1000)
  expect(await round()).toEqual({ batches: 400, walked: ['ready-certificates'] })

  await db.pool.query(`UPDATE batch SET state = 'settled'`)
  expect(await round()).toEqual({ batches: 0, walked: [] })
  now += 300_000
  expect(await round()).toEqual({ batches: 0, walked: walks })
})

it('what is ready does not wait for the tasks with a speed limit', async () => {
  await db.pool.query(`UPDATE batch SET state = 'settled'`)
  for (let n = 0; n < 5; n++) await ready(4, 1, 10)
  await db.pool.query(`UPDATE task SET speed_tokens = 10`)
  await ready(5)
  const steps: string[] = []
  const pool = new Proxy(db.pool, {
    get(target, key) {
      const value = Reflect.get(target, key)
      if (key !== 'query') return typeof value === 'function' ? value.bind(target) : value
      return (statement: string | { name?: string }, ...rest: unknown[]) => {
        const name = typeof statement === 'string' ? undefined : statement.name?.split('@')[0]
        if (name === 'paced-ready') steps.push(name)
        return value.call(target, statement, ...rest)
      }
    },
  })
  const add = async () => void steps.push('enqueued')
  const deps = {
    db: { ...db, pool } as Database,
    queues: { add } as unknown as PushQueues,
    onQueueFailure(error: unknown) {
      throw error
    },
  }
  expect(await feedRound(deps)).toEqual({ batches: 1, recipients: 1 })
  expect(steps).toEqual(['enqueued', ...Array(5).fill('paced-ready')])
})
