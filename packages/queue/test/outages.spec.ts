import { type SilentProxy, startSilentProxy, until } from '@herald/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { QueueUnavailable } from '../src/errors.ts'
import { nativeQueue, openQueues, type PushQueues, pushQueue } from '../src/index.ts'
import { type CrashingServer, crashingServers } from './crashing-servers.ts'
import { alive, idOf, job, recordingLog } from './jobs.ts'

const name = pushQueue('apns')

for (const { kind, describe: describeServer, open: openServer } of crashingServers) {
  describeServer(`queues on ${kind} that fails`, () => {
    let server: CrashingServer
    /** Its calls may take as long as the machine needs. */
    let queues: PushQueues
    /** Its calls fail after a second. */
    let hasty: PushQueues
    const open = (limitMs: number, port = server.port) =>
      openQueues({
        url: server.url.replace(String(server.port), String(port)),
        log: recordingLog(),
        limitMs,
      })

    beforeAll(async () => {
      server = await openServer()
    })
    afterAll(() => server.close())
    beforeEach(async () => {
      queues = await open(60_000)
      hasty = await open(1_000)
      await queues.remove(name)
    })
    afterEach(() => Promise.all([queues.close(), hasty.close()]))

    it('works again after the server crashed and came back, and fails adds in between', async () => {
      const seen = new Set<number>()
      queues.work(name, { concurrency: 2, onDead: alive }, async (done) => {
        seen.add(idOf(done))
      })
      await queues.add(name, job(1))
      await until(() => seen.has(1))
      await server.crash()
      await expect(hasty.add(name, job(2))).rejects.toThrow(QueueUnavailable)
      await expect(hasty.depth(name)).rejects.toThrow(QueueUnavailable)
      await expect(hasty.ping()).rejects.toThrow(QueueUnavailable)
      await server.start()
      await until(() => hasty.add(name, job(3)).then(() => true))
      await until(() => seen.has(3))
    })

    it('reports a job that ended while the server was down', async () => {
      const release = Promise.withResolvers<void>()
      let runs = 0
      const worker = queues.work(name, { concurrency: 1, onDead: alive }, async () => {
        runs += 1
        await release.promise
      })
      await queues.add(name, job(1))
      await until(() => worker.inFlight() === 1)
      await server.crash()
      release.resolve()
      await until(() => worker.inFlight() === 0)
      await server.start()
      // Redis without persistence lost the job; Postgres must record its end.
      const forgot = kind === 'redis'
      await until(async () => (await hasty.counts(name)).completed === (forgot ? 0 : 1))
      expect(runs).toBe(1)
    })

    it('lets a worker that started while the server was down begin when it is up', async () => {
      const seen: number[] = []
      await server.crash()
      queues.work(name, { concurrency: 1, onDead: alive }, async (done) => {
        seen.push(idOf(done))
      })
      await expect(hasty.add(name, job(1))).rejects.toThrow(QueueUnavailable)
      await server.start()
      await until(() => hasty.add(name, job(2)).then(() => true))
      await until(() => seen.includes(2))
    })

    it('drains while the server is down', async () => {
      const release = Promise.withResolvers<void>()
      const worker = queues.work(name, { concurrency: 1, onDead: alive }, () => release.promise)
      const idle = queues.work(nativeQueue('a'), { concurrency: 1, onDead: alive }, async () => {})
      await queues.add(name, job(1))
      await until(() => worker.inFlight() === 1)
      await server.crash()
      release.resolve()
      await Promise.all([worker.drain(), idle.drain()])
      await queues.close()
      await server.start()
    })

    describe('behind a network that goes silent', () => {
      let proxy: SilentProxy
      let far: PushQueues
      beforeEach(async () => {
        proxy = await startSilentProxy(server.port)
        far = await open(1_000, proxy.port)
      })
      afterEach(async () => {
        await far.close()
        await proxy.close()
      })

      it('fails adds within the limit, and adds again when the network is back', async () => {
        await until(() => far.add(name, job(1)).then(() => true))
        proxy.silenceAll()
        const answers = await Promise.allSettled([
          far.add(name, job(2)),
          far.add(nativeQueue('a'), job(3)),
          far.depth(name),
          far.ping(),
        ])
        const late = { message: expect.stringContaining('did not answer within 1000 ms') }
        expect(answers).toMatchObject(Array(4).fill({ status: 'rejected', reason: late }))
        proxy.restore()
        await until(() => far.add(name, job(4)).then(() => true))
      })

      it('reports a worker that takes nothing while jobs wait', async () => {
        let death: string | undefined
        const onDead = (reason: string) => {
          death = reason
        }
        far.work(name, { concurrency: 1, deadAfterMs: 500, onDead }, async () => {})
        await queues.add(name, job(1))
        await until(async () => (await queues.counts(name)).completed === 1)
        // Also on the connections that the worker opens to recover, the statement with which it fetches a job is lost.
        proxy.loseEvery(/move_to_active|:limiter/)
        proxy.silenceOpen()
        // Two jobs: one may have been handed out in a reply that was lost.
        for (const id of [2, 3]) await queues.add(name, job(id))
        await until(() => death, { what: 'the report' })
        expect(death).toBe('the worker of push-apns took nothing for 0.5 s while jobs waited')
      })

      it('lets a worker recover whose blocking wait was lost', async () => {
        const lost = proxy.lose(/LISTEN|bzpopmin/i)
        const seen: number[] = []
        far.work(name, { concurrency: 1, onDead: alive }, async (done) => {
          seen.push(idOf(done))
        })
        await lost
        await queues.add(name, job(1))
        await until(() => seen.length === 1)
      })

      it('lets a worker recover by itself', async () => {
        const seen: number[] = []
        far.work(name, { concurrency: 1, onDead: alive }, async (done) => {
          seen.push(idOf(done))
        })
        await queues.add(name, job(1))
        await until(() => seen.length === 1)
        proxy.silenceOpen()
        // A job handed out in a lost reply is retried only after its lock expired: hence several.
        await until(
          async () => {
            await queues.add(name, job(2))
            return seen.includes(2)
          },
          { everyMs: 500 },
        )
      })
    })
  })
}
