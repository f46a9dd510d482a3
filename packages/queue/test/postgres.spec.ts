import { channels } from '@herald/domain'
import { until } from '@herald/testkit'
import { type TestDatabase, testDatabase } from '@herald/testkit/database'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import pg from 'pg'
import { QueueUnavailable } from '../src/errors.ts'
import { nativeQueue, openQueues, pushQueue } from '../src/index.ts'
import { encodePushJob } from '../src/push-job.ts'
import { alive, job, recordingLog } from './jobs.ts'

const name = pushQueue('fcm')

describe('queues on Postgres', () => {
  let database: TestDatabase
  /** With a limit that no call reaches: eight processes that prepare a database may take longer than the product's two seconds. */
  const open = (url = database.url) => openQueues({ url, log: recordingLog(), limitMs: 60_000 })

  beforeEach(async () => {
    database = await testDatabase({ migrated: false })
  })
  afterEach(() => database.drop())

  async function ask(statement: string, ...values: unknown[]) {
    const client = new pg.Client(database.url)
    await client.connect()
    const { rows } = await client.query(statement, values)
    await client.end()
    return rows
  }

  /** Opens a transaction of another client; it ends with the connection. */
  async function lockWith(statement: string): Promise<pg.Client> {
    const client = new pg.Client(database.url)
    await client.connect()
    await client.query('BEGIN')
    await client.query(statement)
    return client
  }

  it('prepares an empty database once, however many processes start together', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => open()))
    await Promise.all(all.map((queues, id) => queues.add(name, job(id))))
    expect(await all[0]?.depth(name)).toBe(8)
    await Promise.all(all.map((queues) => queues.close()))
  })

  it('changes nothing in a database that is prepared', async () => {
    await (await open()).close()
    const before = await ask('SELECT max(xmin::text::bigint) AS last FROM bullmq.migration')
    await (await open()).close()
    expect(await ask('SELECT max(xmin::text::bigint) AS last FROM bullmq.migration')).toEqual(before)
  })

  it('keeps connections for jobs while the lengths of all queues are asked', async () => {
    const queues = await open()
    const names = channels.flatMap((channel) =>
      channel === 'native' ? [] : [pushQueue(channel), pushQueue(channel, 'normal')],
    )
    await Promise.all(names.map((queue, n) => queues.add(queue, job(n))))
    const lock = await lockWith('LOCK TABLE bullmq.job')
    const lengths = Promise.all(names.map((queue) => queues.ahead(queue)))
    const blocked = () =>
      ask(`SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'
      AND datname = current_database()`)
    await until(async () => (await blocked()).length > 0, { what: 'the question' })
    await queues.ping()
    expect(await blocked()).toHaveLength(1)
    await lock.end()
    expect(await lengths).toEqual(names.map(() => 1))
    await queues.close()
  })

  it('opens one connection for all workers to listen and four for queries', async () => {
    const connections = async () => {
      const [{ n }] = await ask(
        // Autovacuum workers, which Postgres starts when it likes, have a database too.
        `SELECT count(*)::int AS n FROM pg_stat_activity
         WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`,
      )
      return n
    }
    // Connections of the spec before may still be closing.
    await until(async () => (await connections()) === 0, { what: 'no other connection' })
    const queues = await open()
    const names = [
      ...channels.map((channel) => (channel === 'native' ? nativeQueue('a') : pushQueue(channel))),
    ]
    let handled = 0
    for (const queue of names) {
      queues.work(queue, { concurrency: 20, onDead: alive }, async () => {
        handled += 1
      })
    }
    await Promise.all(
      names.flatMap((queue) => Array.from({ length: 50 }, (_, id) => queues.add(queue, job(id)))),
    )
    await until(() => handled === names.length * 50)
    expect(await connections()).toBeLessThanOrEqual(5)
    await queues.close()
  })

  it('stores jobs that are added together with one statement, in their order and without temporary tables', async () => {
    const queues = await open()
    const names = channels.flatMap((channel) => (channel === 'native' ? [] : pushQueue(channel)))
    const ids = Array.from({ length: 20 }, (_, id) => id)
    await Promise.all(ids.flatMap((id) => names.map((queue) => queues.add(queue, job(id)))))
    const stored = await ask(
      `SELECT queue, xmin::text AS statement, array_agg(data ORDER BY seq) AS jobs FROM bullmq.job GROUP BY 1, 2 ORDER BY 1`,
    )
    expect(stored.map(({ queue }) => queue)).toEqual(names.toSorted())
    expect(new Set(stored.map(({ statement }) => statement)).size).toBe(1)
    for (const { jobs } of stored) expect(jobs).toEqual(ids.map((id) => encodePushJob(job(id))))
    // Postgres creates the schema with the first temporary table of a session.
    expect(await ask(`SELECT FROM pg_namespace WHERE nspname LIKE 'pg_temp_%'`)).toEqual([])
    await queues.close()
  })

  it('reports each job of a statement that failed', async () => {
    const queues = await open()
    await queues.add(name, job(0))
    await ask('ALTER TABLE bullmq.job RENAME TO moved')
    const added = await Promise.allSettled([1, 2, 3].map((id) => queues.add(name, job(id))))
    const reason = new QueueUnavailable(
      'the queue in Postgres cannot be written to: relation "job" does not exist',
    )
    expect(added).toEqual(added.map(() => ({ status: 'rejected', reason })))
    await ask('ALTER TABLE bullmq.moved RENAME TO job')
    await queues.add(name, job(4))
    expect(await queues.depth(name)).toBe(2)
    await queues.close()
  })

  it('stores the jobs of other queues while one is being closed', async () => {
    const queues = await open()
    const [closing, other] = [nativeQueue('gone'), pushQueue('apns')]
    await Promise.all([queues.add(closing, job(1)), queues.add(other, job(2))])
    const added = [queues.add(closing, job(3)), queues.add(other, job(4))]
    await queues.forget(closing)
    await Promise.all(added)
    expect([await queues.depth(closing), await queues.depth(other)]).toEqual([2, 2])
    await queues.close()
  })

  it('does not ask for delayed jobs and limits, which Herald does not have', async () => {
    await ask(`ALTER DATABASE ${new URL(database.url).pathname.slice(1)} SET track_functions = 'all'`)
    const queues = await open()
    let handled = 0
    queues.work(name, { concurrency: 2, onDead: alive }, async () => {
      handled += 1
    })
    for (let id = 1; id <= 3; id++) {
      await queues.add(name, job(id))
      await until(() => handled === id)
    }
    // Sessions report what they called at their end.
    await queues.close()
    const called = async () =>
      (await ask('SELECT funcname FROM pg_stat_user_functions')).map(({ funcname }) => funcname)
    await until(async () => (await called()).includes('move_to_completed'), { what: 'the report' })
    for (const never of ['next_signal', 'next_delay', 'rate_limit_effective'])
      expect(await called()).not.toContain(never)
  })

  it('counts the jobs of each queue, and those of many queues with one statement', async () => {
    const queues = await open()
    const other = pushQueue('apns')
    await Promise.all([queues.add(name, job(1)), queues.add(name, job(2), { lane: 'normal' })])
    const empty = pushQueue('oppo')
    for (const queue of queues.bullQueues([other, empty])) await queue.pause()
    await queues.add(other, job(3))
    const none = { active: 0, completed: 0, failed: 0 }
    const shared = await Promise.all([name, other, empty, pushQueue('vivo')].map(queues.counts))
    expect(shared).toEqual([
      { ...none, waiting: 2, paused: false },
      { ...none, waiting: 1, paused: true },
      { ...none, waiting: 0, paused: true },
      { ...none, waiting: 0, paused: false },
    ])
    const [{ calls }] = await ask(
      `SELECT count(*)::int AS calls FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%GROUP BY queue%'
         AND pid <> pg_backend_pid()`,
    )
    expect(calls).toBe(1)
    await queues.close()
  })

  it('wakes every worker after the connection on which they listen was lost, and when some workers have ended', async () => {
    const queues = await open()
    const names = [pushQueue('fcm'), pushQueue('apns'), pushQueue('xiaomi')]
    const handled = new Map<string, number>()
    const workers = names.map((queue) =>
      queues.work(queue, { concurrency: 1, onDead: alive }, async () => {
        handled.set(queue, (handled.get(queue) ?? 0) + 1)
      }),
    )
    // BullMQ names the connection on which a worker listens after the queue.
    const listening = () =>
      ask(
        `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'push-%'`,
      )
    const allHandle = async (some: typeof names, count: number) => {
      await Promise.all(some.map((queue) => queues.add(queue, job(count))))
      await until(() => some.every((queue) => handled.get(queue) === count))
    }
    await allHandle(names, 1)
    await until(async () => (await listening()).length === 1)
    const [{ pid }] = await listening()
    await ask('SELECT pg_terminate_backend($1)', pid)
    await until(async () => (await listening()).some((row) => row.pid !== pid))
    await allHandle(names, 2)
    await workers[0]!.drain()
    await allHandle(names.slice(1), 3)
    expect(await listening()).toHaveLength(1)
    await queues.close()
  })

  it('keeps the options of the address', async () => {
    await (await open()).close()
    const queues = await open(`${database.url}?options=-c%20default_transaction_read_only%3Don`)
    await expect(queues.add(name, job(1))).rejects.toThrow(/read-only/)
    expect(await queues.depth(name)).toBe(0)
    await queues.close()
  })

  it('lets workers finish jobs without waiting for each other', async () => {
    const queues = await open()
    let handled = 0
    queues.work(name, { concurrency: 10, onDead: alive }, async () => {
      handled += 1
    })
    await Promise.all(Array.from({ length: 400 }, (_, id) => queues.add(name, job(id))))
    await until(async () => handled === 400 && (await queues.counts(name)).active === 0)
    const other = await lockWith(`SELECT FROM bullmq.job WHERE state = 'completed' FOR UPDATE`)
    await queues.add(name, job(400))
    // While the other client keeps its locks.
    await until(async () => handled === 401 && (await queues.counts(name)).active === 0)
    expect(await queues.counts(name)).toMatchObject({ failed: 0 })
    await other.end()
    await queues.close()
  })

  it('does not fail a job because of a lost connection', async () => {
    const queues = await open()
    const end = Promise.withResolvers<void>()
    const worker = queues.work(name, { concurrency: 1, onDead: alive }, () => end.promise)
    await queues.add(name, job(1))
    await until(() => worker.inFlight() === 1)
    const other = await lockWith('SELECT FROM bullmq.job FOR UPDATE')
    end.resolve()
    await until(async () => {
      const [ended] = await ask(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%move_to_completed%'`,
      )
      return ended
    })
    await other.end()
    await until(async () => (await queues.counts(name)).active === 0)
    expect(await queues.counts(name)).toMatchObject({ completed: 1, failed: 0 })
    await queues.close()
  })

  it('does not end a drain before a job that was being fetched has been handled', async () => {
    const queues = await open()
    await queues.add(name, job(1))
    const other = await lockWith('LOCK TABLE bullmq.job IN SHARE MODE')
    const started = Promise.withResolvers<void>()
    const end = Promise.withResolvers<void>()
    const worker = queues.work(name, { concurrency: 1, onDead: alive }, () => {
      started.resolve()
      return end.promise
    })
    await until(async () => {
      const [taking] = await ask(
        `SELECT pid FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%move_to_active%'`,
      )
      return taking
    })
    const drained = worker.drain().then(() => 'drained')
    await other.end()
    await started.promise
    const later = new Promise((resolve) => setTimeout(resolve, 4_000))
    expect(await Promise.race([drained, later])).toBeUndefined()
    end.resolve()
    expect(await drained).toBe('drained')
    await queues.close()
  })

  it('survives the loss of its very first connection', async () => {
    const queues = await open()
    const other = await lockWith('LOCK TABLE bullmq.migration')
    const seen: number[] = []
    queues.work(name, { concurrency: 1, onDead: alive }, async () => {
      seen.push(1)
    })
    await until(async () => {
      const [ended] = await ask(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%migration%'`,
      )
      return ended
    })
    await other.end()
    await queues.add(name, job(1))
    await until(() => seen.length === 1)
    await queues.close()
  })

  it('keeps the event stream short', async () => {
    const queues = await open()
    let handled = 0
    queues.work(name, { concurrency: 10, onDead: alive }, async () => {
      handled += 1
    })
    await Promise.all(Array.from({ length: 1_000 }, (_, id) => queues.add(name, job(id))))
    await until(() => handled === 1_000)
    const [{ n }] = await ask('SELECT count(*)::int AS n FROM bullmq.event')
    expect(n).toBeLessThan(1_000)
    await queues.close()
  })

  it('reports why it cannot be opened', async () => {
    const wrong = new URL(database.url)
    wrong.pathname = '/no_such_database'
    await expect(open(wrong.href)).rejects.toThrow(
      'the queue in Postgres cannot be opened: database "no_such_database" does not exist',
    )
  })
})
