import type { ChannelAdapter, TransportDeps } from '@herald/channels'
import { taskMemory, vendorSession } from '@herald/db'
import { publicName } from '@herald/domain'
import { type Context, DRAIN_MS, runProgram, type Service } from '@herald/program'
import { pushQueue } from '@herald/queue'
import { createMetrics } from './metrics.ts'
import { createRunner } from './runner.ts'
import { createTransports } from './transports.ts'

/** A vendor that hangs gets so long after SIGTERM; the rest of the drain is for writing down what is known. */
const GIVE_UP_MS = DRAIN_MS / 2

/** The service that sends what is queued for one vendor. */
export function channelWorker(adapter: ChannelAdapter): Service {
  return {
    name: `worker-${adapter.name}`,
    start(context) {
      const { settings, db, queues, certificates, die } = context
      const log = context.log.child({ channel: publicName(adapter.name) })
      const transports = createTransports(
        (certificateId) => transportDeps(context, certificateId),
        (error) => log.warn({ err: error }, 'a transport did not close cleanly'),
      )
      const stopping = new AbortController()
      const metrics = createMetrics(context.registry)
      const run = createRunner({
        db,
        certificates,
        transports,
        worker: `${adapter.name}@${settings.nodeId}`,
        timeoutMs: settings.sendTimeoutSeconds * 1000,
        stopping: stopping.signal,
        log,
        metrics,
      })
      const worker = queues.work(
        pushQueue(adapter.name),
        { concurrency: settings.workerConcurrency, onDead: die },
        (job) => metrics.timed(adapter.name, () => run(job)),
      )
      return {
        async stop() {
          const giveUp = setTimeout(() => stopping.abort(new Error('the process is ending')), GIVE_UP_MS)
          await worker.drain()
          clearTimeout(giveUp)
          await transports.close()
        },
      }
    },
  }
}

function transportDeps({ settings, db, sealer }: Context, certificateId: number): TransportDeps {
  return {
    urls: settings.vendorUrls,
    proxy: settings.proxy,
    ca: settings.vendorCa,
    client: settings.vendorClient,
    now: Date.now,
    timeoutMs: settings.sendTimeoutSeconds * 1000,
    session: (key, mint, stale) => vendorSession(db, sealer, certificateId, key, mint, stale),
    taskMemory: (taskId, key, make) => taskMemory(db, taskId, certificateId, key, make),
  }
}

/** The whole `main` of a worker app. */
export function runChannelWorker(adapter: ChannelAdapter): Promise<void> {
  return runProgram(channelWorker(adapter))
}
