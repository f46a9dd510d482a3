import { until } from '@herald/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { nativeQueue, openQueues, type PushJob, type PushQueues, pushQueue } from '../src/index.ts'
import { backends, type Place } from './backends.ts'
import { alive, idOf, job, recordingLog } from './jobs.ts'

const name = pushQueue('apns')

for (const backend of backends) {
  backend.describe(`queues on ${backend.kind}`, () => {
    const log = recordingLog()
    let place: Place
    let queues: PushQueues
    let opened: PushQueues[] = []
    /** The limit is the spec's own: thousands of adds at once may take longer than the product's two seconds on a loaded machine. */
    const open = async () => {
      const made = await openQueues({ url: place.url, log, limitMs: 60_000 })
      opened.push(made)
      return made
    }

    beforeAll(async () => {
      place = await backend.open()
    })
    afterAll(() => place.close())
    beforeEach(async () => {
      queues = await open()
      await queues.remove(name)
    })
    afterEach(async () => {
      await Promise.all(opened.map((made) => made.close()))
      opened = []
    })

    it('delivers a job as it was added', async () => {
      const jobs = [
        { certificateIds: ['9007199254740993'], batches: [{ taskId: 2 ** 53 - 1, id: 5 }] },
        { certificateIds: [], batches: Array.from({ length: 1000 }, (_, n) => ({ taskId: 8, id: n })) },
      ]
      const got: PushJob[] = []
      queues.work(name, { concurrency: 1, onDead: alive }, async (done) => {
        got.push(done)
      })
      for (const one of jobs) await queues.add(name, one)
      await until(() => got.length === 2)
      expect(got).toEqual(jobs)
    })

    it('stores a job before the add resolves', async () => {
      await queues.add(name, job(1))
      expect(await queues.depth(name)).toBe(1)
    })

    it('counts waiting jobs of the high lane, and of both lanes', async () => {
      await queues.add(name, job(1), { lane: 'normal' })
      await queues.add(name, job(2), { lane: 'high' })
      expect(await queues.ahead(name)).toBe(1)
      expect(await queues.depth(name)).toBe(2)
    })

    it('tells when the batches of the job that waits longest were released', async () => {
      expect(await queues.oldestWaiting(name)).toBeUndefined()
      await queues.add(name, job(1), { releasedAt: 5000.7 })
      await queues.add(name, job(2), { releasedAt: 6000 })
      expect(await queues.oldestWaiting(name)).toBe(5000)
      await queues.add(name, job(3), { lane: 'normal', releasedAt: 3000 })
      expect(await queues.oldestWaiting(name)).toBe(3000)
      queues.work(name, { concurrency: 1, onDead: alive }, async () => {})
      await until(async () => (await queues.oldestWaiting(name)) === undefined)
    })

    it('handles each of thousands of jobs once, in several processes', async () => {
      const other = await open()
      const seen = new Map<number, number>()
      const handler = async (done: PushJob) => {
        seen.set(idOf(done), (seen.get(idOf(done)) ?? 0) + 1)
      }
      queues.work(name, { concurrency: 5, onDead: alive }, handler)
      other.work(name, { concurrency: 5, onDead: alive }, handler)
      await Promise.all(Array.from({ length: 2_000 }, (_, n) => (n % 2 ? queues : other).add(name, job(n))))
      await until(() => seen.size === 2_000)
      await until(async () => (await queues.counts(name)).active === 0)
      expect([...seen.values()].every((times) => times === 1)).toBe(true)
    })

    it('accepts batches again that were handled before, although their first job is kept', async () => {
      const got: PushJob[] = []
      queues.work(name, { concurrency: 1, onDead: alive }, async (done) => {
        got.push(done)
      })
      for (const times of [1, 2]) {
        await queues.add(name, job(1))
        await until(async () => (await queues.counts(name)).completed === times)
      }
      expect(got).toEqual([job(1), job(1)])
    })

    it('takes the high lane before the normal one, each in order', async () => {
      for (const id of [1, 2]) await queues.add(name, job(id), { lane: 'normal' })
      for (const id of [3, 4]) await queues.add(name, job(id), { lane: 'high' })
      const order: number[] = []
      queues.work(name, { concurrency: 1, onDead: alive }, async (done) => {
        order.push(idOf(done))
      })
      await until(() => order.length === 4)
      expect(order).toEqual([3, 4, 1, 2])
    })

    it('keeps queues apart', async () => {
      await queues.add(name, job(1))
      await queues.add(nativeQueue('a'), job(2))
      const got: number[] = []
      queues.work(nativeQueue('a'), { concurrency: 1, onDead: alive }, async (done) => {
        got.push(idOf(done))
      })
      await until(() => got.length === 1)
      expect(got).toEqual([2])
      expect(await queues.depth(name)).toBe(1)
      await queues.remove(nativeQueue('a'))
    })

    it('fails a job whose handler throws once, with the message and no stack', async () => {
      let runs = 0
      queues.work(name, { concurrency: 1, onDead: alive }, async () => {
        runs += 1
        throw Object.assign(new Error('the certificate is gone'), { detail: 'a row with a token' })
      })
      await queues.add(name, job(1))
      await until(async () => (await queues.counts(name)).failed === 1)
      const [failed] = (await queues.bullQueues([name])[0]?.getFailed()) ?? []
      expect({ runs, reason: failed?.failedReason, stack: failed?.stacktrace }).toEqual({
        runs: 1,
        reason: 'the certificate is gone',
        stack: [],
      })
      expect(JSON.stringify(failed)).not.toContain('a row with a token')
      expect(log.lines).toContain('a job failed')
    })

    it('fails a job of an unknown version without handling it, and continues', async () => {
      await queues.bullQueues([name])[0]?.add('push', { v: 3, certificateId: '7', batches: [[1, 1]] })
      await queues.add(name, job(2))
      const got: number[] = []
      queues.work(name, { concurrency: 1, onDead: alive }, async (done) => {
        got.push(idOf(done))
      })
      await until(() => got.length === 1)
      expect(got).toEqual([2])
      expect(await queues.counts(name)).toMatchObject({ failed: 1, waiting: 0 })
    })

    it('refuses a job that could not be decoded', async () => {
      await expect(queues.add(name, { certificateIds: [''], batches: [] })).rejects.toThrow(/certificateId/)
      expect(await queues.depth(name)).toBe(0)
    })

    it('counts', async () => {
      expect(await queues.counts(name)).toEqual({
        waiting: 0,
        active: 0,
        completed: 0,
        failed: 0,
        paused: false,
      })
      await Promise.all([
        queues.add(name, job(1), { lane: 'high' }),
        queues.add(name, job(2), { lane: 'normal' }),
        queues.add(name, job(3), { lane: 'normal' }),
      ])
      expect(await queues.counts(name)).toMatchObject({ waiting: 3, paused: false })
      await queues.bullQueues([name])[0]?.pause()
      expect(await queues.counts(name)).toMatchObject({ waiting: 3, paused: true })
    })

    it('keeps at most 300 finished jobs, without return values', async () => {
      let done = 0
      queues.work(name, { concurrency: 10, onDead: alive }, async () => {
        done += 1
      })
      await Promise.all(Array.from({ length: 1_500 }, (_, n) => queues.add(name, job(n))))
      await until(() => done === 1_500)
      await until(async () => (await queues.counts(name)).completed <= 300)
      const [kept] = (await queues.bullQueues([name])[0]?.getCompleted(0, 0)) ?? []
      expect(kept?.returnvalue ?? null).toBeNull()
    })

    it('drains: takes nothing new, finishes jobs in flight, leaves the others', async () => {
      const release = Promise.withResolvers<void>()
      const ended: number[] = []
      const worker = queues.work(name, { concurrency: 2, onDead: alive }, async (done) => {
        await release.promise
        ended.push(idOf(done))
      })
      for (const id of [1, 2, 3, 4]) await queues.add(name, job(id))
      await until(() => worker.inFlight() === 2)
      let over = false
      const drained = worker.drain().then(() => {
        over = true
      })
      await queues.ping()
      expect({ over, ended }).toEqual({ over: false, ended: [] })
      release.resolve()
      await drained
      expect(ended).toEqual([1, 2])
      expect(await queues.counts(name)).toMatchObject({ waiting: 2, active: 0, completed: 2 })
    })

    it('drains an idle worker, which then takes nothing', async () => {
      const worker = queues.work(name, { concurrency: 2, onDead: alive }, async () => {})
      await queues.add(name, job(1))
      await until(async () => (await queues.counts(name)).completed === 1)
      await worker.drain()
      await queues.add(name, job(2))
      expect(await queues.depth(name)).toBe(1)
    })

    it('drains a worker that has just started', async () => {
      const workers = ['a', 'b', 'c', 'd', 'e', 'f'].map((node) =>
        queues.work(nativeQueue(node), { concurrency: 1, onDead: alive }, async () => {}),
      )
      await Promise.all(workers.map((worker) => worker.drain()))
      await queues.close()
    })

    it('removes a queue with its jobs', async () => {
      await queues.add(name, job(1))
      await queues.remove(name)
      expect(await queues.depth(name)).toBe(0)
      await queues.add(name, job(2))
      expect(await queues.depth(name)).toBe(1)
    })

    it('does not report the worker of a paused queue as dead', async () => {
      await queues.bullQueues([name])[0]?.pause()
      await queues.add(name, job(1))
      let dead = false
      let handled = false
      queues.work(name, { concurrency: 1, deadAfterMs: 100, onDead: () => (dead = true) }, async () => {
        handled = true
      })
      await new Promise((resolve) => setTimeout(resolve, 500))
      expect({ dead, handled }).toEqual({ dead: false, handled: false })
      await queues.bullQueues([name])[0]?.resume()
      await until(() => handled)
    })
  })
}
