import type { ChannelAdapter } from '@herald/channels'
import { publicName } from '@herald/domain'
import { DRAIN_MS, runProgram, type Service, transportDeps } from '@herald/program'
import { pushQueue } from '@herald/queue'
import { createMetrics } from './metrics.ts'
import { createRunner } from './runner.ts'
import { createTransports } from './transports.ts'

/** Time for calls in flight after SIGTERM; the other half of the drain is for writing their results. */
const CALLS_END_MS = DRAIN_MS / 2

/** The service that sends the queued batches of one channel. */
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
        channel: adapter.name,
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
          const timer = setTimeout(() => stopping.abort(new Error('the process is ending')), CALLS_END_MS)
          await worker.drain()
          clearTimeout(timer)
          await transports.close()
        },
      }
    },
  }
}

/** The `main` of a worker app. */
export function runChannelWorker(adapter: ChannelAdapter): Promise<void> {
  return runProgram(channelWorker(adapter))
}
