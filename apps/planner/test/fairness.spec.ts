import { pushQueue } from '@herald/queue'
import { until } from '@herald/testkit'
import type { StubEntry } from '@herald/testkit/stub-server'
import { afterEach, describe, expect, it } from '@jest/globals'
import { feedRound } from '../src/feed-round.ts'
import { sweepRound } from '../src/sweep-round.ts'
import { type Harness, startHarness } from './harness.ts'

let harness: Harness
afterEach(() => harness.stop())

const devices = (name: string, count: number, step = 'accepted') =>
  Array.from({ length: count }, (_, i) => ({ alias: `${name}${i}`, tokens: { oppo: `${name}${i}:${step}` } }))
const roundDeps = () => ({
  db: harness.db,
  queues: harness.queues,
  onQueueFailure: () => {},
  isSteady: () => true,
  onEnded: () => {},
  onLoopError: () => {},
})

describe('an application that sends more than the workers take', () => {
  const hasEnded = async () =>
    (
      await harness.db.pool.query(
        `SELECT state FROM batch WHERE state <> 'settled' UNION ALL SELECT state FROM bundle WHERE state <> 'settled' LIMIT 1`,
      )
    ).rowCount === 0
  /** How many pushes of the flood the vendor got before the task, or in all. */
  async function floodBefore(task?: number): Promise<number> {
    // In the order in which the vendor got them.
    const ledger = (await (await fetch(`${harness.stub.url}/ledger`)).json()) as StubEntry[]
    const place = task === undefined ? ledger.length : ledger.findIndex((entry) => entry.task === task)
    return ledger.slice(0, place).filter(({ token }) => token.startsWith('flood')).length
  }

  it('lets the pushes and the broadcasts of another through', async () => {
    harness = await startHarness()
    const flood = await harness.addApplication('flood')
    const other = await harness.addApplication('other')
    await harness.addDevices(flood, devices('flood', 1))
    await harness.addDevices(other, devices('other', 1000))
    const FLOOD = 3000
    await Promise.all(Array.from({ length: FLOOD }, () => harness.notify(flood)))
    const broadcasts = [await harness.notify(other, { lane: 'normal' })]
    const single = await harness.notify(other, { audience: { kind: 'alias', aliases: ['other0'] } })
    await harness.startPlanner()
    await harness.startWorkers(['oppo'])
    for (const task of [...broadcasts, single]) await harness.finished(task)
    await until(hasEnded, { what: 'the end of the flood' })
    expect(await floodBefore()).toBe(FLOOD)
    expect(await floodBefore(single)).toBeLessThan(FLOOD / 3)
    for (const task of broadcasts) expect(await floodBefore(task)).toBeLessThan(FLOOD / 3)
    expect(await harness.imbalances()).toEqual([])
  }, 600_000)

  it('has a window in flight also if its pushes have a speed that holds none of them back', async () => {
    harness = await startHarness()
    const flood = await harness.addApplication('flood')
    const other = await harness.addApplication('other')
    await harness.addDevices(flood, devices('flood', 1))
    await harness.addDevices(other, devices('other', 1))
    const FLOOD = 3000
    await Promise.all(Array.from({ length: FLOOD }, () => harness.notify(flood, { speed: 1_000_000 })))
    await harness.startPlanner()
    let most = 0
    const look = async () => {
      const { rows } = await harness.db.pool.query<{ paced: number; inFlight: number }>(
        `SELECT count(*) FILTER (WHERE state = 'paced')::int AS paced,
           coalesce(sum(size) FILTER (WHERE state IN ('released', 'sending')), 0)::int AS "inFlight"
         FROM batch WHERE app_id = $1`,
        [flood],
      )
      most = Math.max(most, rows[0]!.inFlight)
      return rows[0]!
    }
    const isFull = async () => {
      const { paced, inFlight } = await look()
      return paced === 0 && inFlight >= 400
    }
    await until(isFull, { what: 'a full window and no push that waits for its speed' })
    const single = await harness.notify(other)
    await harness.startWorkers(['oppo'])
    await harness.finished(single)
    const hasEndedInWindow = async () => {
      await look()
      return hasEnded()
    }
    await until(hasEndedInWindow, { what: 'the end of the flood' })
    expect(await floodBefore()).toBe(FLOOD)
    expect(await floodBefore(single)).toBeLessThan(FLOOD / 3)
    expect(most).toBe(400)
    expect(await harness.imbalances()).toEqual([])
  }, 600_000)
})

describe('an application whose vendor does not answer', () => {
  it('does not keep the slots from others, and its further batches wait without an attempt', async () => {
    harness = await startHarness({ settings: { HERALD_SEND_TIMEOUT_SECONDS: '300' } })
    const dark = await harness.addApplication('dark')
    const other = await harness.addApplication('other')
    await harness.addDevices(dark, devices('dark', 1, 'hang'))
    await harness.addDevices(other, devices('other', 1))
    const hanging: number[] = []
    for (let n = 0; n < 20; n++) hanging.push(await harness.notify(dark))
    await harness.startPlanner()
    await harness.startWorkers(['oppo'])
    const task = await harness.notify(other)
    await until(async () => (await harness.counters(task)).oppo?.sent === 1, {
      what: 'the push of the other application',
    })
    const batches = async () =>
      (
        await harness.db.pool.query<{ state: string; attempts: number }>(
          `SELECT state, attempts FROM batch WHERE task_id = ANY($1)
           UNION ALL SELECT b.state, (b.worker IS NOT NULL)::int FROM task t JOIN bundle b ON b.task_id = t.bundle
           WHERE t.id = ANY($1) AND t.state = 'bundled'`,
          [hanging],
        )
      ).rows
    // As many jobs stall as there are slots; the certificate gets no more until one of them ends.
    const isSending = ({ state }: { state: string }) => state === 'sending'
    await until(async () => (await batches()).filter(isSending).length >= 4, {
      what: 'a call in each slot',
    })
    await until(async () => (await batches()).some(({ state }) => state === 'ready'), {
      what: 'batches that were put back',
    })
    const rows = await batches()
    expect(rows.filter(isSending)).toHaveLength(4)
    expect(rows.filter(({ state, attempts }) => state !== 'sending' && attempts > 0)).toEqual([])
    await harness.stub.close()
  }, 600_000)
})

describe('a batch that no worker can read', () => {
  it('stops its neighbours once, then fails alone with a reason', async () => {
    harness = await startHarness()
    const app = await harness.addApplication('poisoned')
    await harness.addDevices(app, devices('p', 10))
    const tasks = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        harness.notify(app, { audience: { kind: 'alias', aliases: [`p${i}`] } }),
      ),
    )
    const poisoned = tasks[3]!
    await harness.db.pool.query(
      `UPDATE task SET audience = '{"kind":"user_id","userIds":["x"]}' WHERE id = $1`,
      [poisoned],
    )
    await harness.startWorkers(['oppo'])
    const states = async () =>
      (
        await harness.db.pool.query<{ task: number; state: string; lost: number; attempts: number }>(
          'SELECT task_id AS task, state, lost, attempts FROM batch WHERE task_id = ANY($1)',
          [tasks],
        )
      ).rows
    /** Lets the leases of jobs that failed expire, and everything be released again. */
    const cycle = async () => {
      await until(async () => (await harness.queues.counts(pushQueue('oppo'))).active === 0)
      for (const table of ['batch', 'bundle'])
        await harness.db.pool.query(
          `UPDATE ${table} SET lease_until = now() - interval '1 second' WHERE state = 'sending'`,
        )
      await sweepRound(roundDeps())
      await feedRound(roundDeps())
    }
    // The pushes were accepted together or one after the other.
    const claimed = async () =>
      (await harness.db.pool.query(`SELECT FROM bundle WHERE worker IS NULL`)).rowCount === 0
    await until(claimed)
    await cycle()
    const neighbours = async () => (await states()).filter(({ task }) => task !== poisoned)
    await until(async () => (await neighbours()).every(({ state }) => state === 'settled'))
    expect((await neighbours()).every(({ attempts, lost }) => attempts <= 2 && lost === 0)).toBe(true)

    const own = async () => (await states()).find(({ task }) => task === poisoned)!
    for (let attempts = 2; attempts <= 10; attempts++) {
      await until(async () => (await own()).attempts === attempts)
      await cycle()
    }
    expect(await own()).toMatchObject({ state: 'settled', attempts: 10 })
    expect(await harness.counters(poisoned)).toEqual({ oppo: { target: 1, failed: 1 } })
    const { rows } = await harness.db.pool.query('SELECT reason FROM failure WHERE task_id = $1', [poisoned])
    expect(rows).toEqual([{ reason: 'herald.attempts_lost' }])
    expect(await harness.imbalances()).toEqual([])
  }, 600_000)
})

describe('a job that the queue lost', () => {
  it('is added again when it would have had its turn, while thousands wait', async () => {
    harness = await startHarness()
    const app = await harness.addApplication('lossy')
    // Two devices each, so that they are not accepted as bundles.
    await harness.addDevices(app, devices('l', 2))
    const JOBS = 2000
    const tasks: number[] = []
    for (let n = 0; n < JOBS / 50; n++)
      tasks.push(...(await Promise.all(Array.from({ length: 50 }, () => harness.notify(app)))))
    const queue = pushQueue('oppo')
    // One job per task, released a second apart, the last one now.
    await harness.queues.remove(queue)
    const { rows } = await harness.db.pool.query<{ task: number; id: number; cert: string; at: number }>(
      `UPDATE batch b SET state = 'released', released_at = now() - make_interval(secs => $2 - n)
       FROM unnest($1::bigint[]) WITH ORDINALITY AS k (task_id, n) WHERE b.task_id = k.task_id
       RETURNING b.task_id AS task, b.id, b.certificate_id::text AS cert,
         extract(epoch FROM b.released_at)::float8 * 1000 AS at`,
      [tasks, JOBS],
    )
    const inOrder = rows.sort((a, b) => a.at - b.at)
    const lost = inOrder[5]!
    for (const { task, id, cert, at } of inOrder)
      if (task !== lost.task)
        await harness.queues.add(
          queue,
          { certificateIds: [cert], batches: [{ taskId: task, id }] },
          { releasedAt: at },
        )
    expect(await harness.queues.depth(queue)).toBe(JOBS - 1)

    const handled: number[] = []
    await sweepRound(roundDeps())
    expect(await harness.queues.depth(queue)).toBe(JOBS - 1)

    const [last, stopped] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const worker = harness.queues.work(queue, { concurrency: 1, onDead: () => {} }, async ({ batches }) => {
      if (handled.length === 20) {
        last.resolve()
        await stopped.promise
      }
      handled.push(batches[0]!.taskId)
      await harness.db.pool.query(`UPDATE batch SET state = 'settled' WHERE task_id = $1`, [
        batches[0]!.taskId,
      ])
    })
    await last.promise
    await sweepRound(roundDeps())
    expect(await harness.queues.depth(queue)).toBe(JOBS - 1 - 21 + 1)
    const [newest] = (await harness.queues.bullQueues([queue])[0]?.getJobs('waiting', 0, 0, false)) ?? []
    expect(newest?.data).toMatchObject({ batches: [[lost.task, lost.id]] })
    expect(handled).not.toContain(lost.task)
    stopped.resolve()
    await worker.drain()
  }, 600_000)
})
