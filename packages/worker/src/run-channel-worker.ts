import { getHeapStatistics } from 'node:v8'
import type { ChannelAdapter } from '@herald/channels'
import { leaveReleased, putBackReleased } from '@herald/db/tasks'
import { publicName } from '@herald/domain'
import { DRAIN_MS, runProgram, type Service, transportDeps } from '@herald/program'
import { pushQueue } from '@herald/queue'
import { createAnswers } from './answers.ts'
import { heapNeedMb } from './heap-need.ts'
import { createMetrics } from './metrics.ts'
import { createRunner, PUT_BACK_SECONDS } from './runner.ts'
import { createSilenceWarnings } from './silence-warnings.ts'
import { createSlots } from './slots.ts'
import { createTransports } from './transports.ts'

/** Time for calls in flight after SIGTERM; the other half of the drain is for writing their results. */
const CALLS_END_MS = DRAIN_MS / 2
/** Jobs taken per slot and lane: those that wait for a slot let the jobs of several applications take turns. */
const TAKEN_PER_SLOT = 2

/** The service that sends the queued batches of one channel. */
export function channelWorker(adapter: ChannelAdapter): Service {
  return {
    name: `worker-${adapter.name}`,
    start(context) {
      const { settings, db, queues, certificates, die } = context
      const log = context.log.child({ channel: publicName(adapter.name) })
      const heap = { limitMb: heapLimitMb(), neededMb: heapNeedMb(settings.workerTransports) }
      if (heap.limitMb < heap.neededMb)
        log.warn(
          heap,
          `connections of HERALD_WORKER_TRANSPORTS=${settings.workerTransports} certificates need a larger heap: with all of them open the process would spend most of its time on garbage collection; raise --max-old-space-size or the memory of the container`,
        )
      const transports = createTransports(
        (certificateId) => transportDeps(context, certificateId),
        (error) => log.warn({ err: error }, 'a transport did not close cleanly'),
        { max: settings.workerTransports, idleMs: settings.workerIdleMinutes * 60_000 },
      )
      const stopping = new AbortController()
      const metrics = createMetrics(context.registry)
      const answers = createAnswers(db, (error) => log.warn({ err: error }, 'answers were not counted yet'))
      const warnings = createSilenceWarnings((fields, message) => log.warn(fields, message))
      const run = createRunner({
        db,
        answers,
        certificates,
        transports,
        channel: adapter.name,
        worker: `${adapter.name}@${settings.nodeId}`,
        timeoutMs: settings.sendTimeoutSeconds * 1000,
        stopping: stopping.signal,
        pauses: context.pauses,
        warnings,
        log,
        metrics,
      })
      const concurrency = settings.workerConcurrency
      const slots = createSlots({
        size: concurrency,
        onStalledError: (error) => log.error({ err: error }, 'a stalled job failed'),
      })
      const workers = (['high', 'normal'] as const).map((lane) =>
        queues.work(
          pushQueue(adapter.name, lane),
          { concurrency: concurrency * TAKEN_PER_SLOT, onDead: die },
          (job) =>
            slots.run({
              lane,
              certificateIds: job.certificateIds,
              work: (certificateIds, progress) =>
                metrics
                  .timed(adapter.name, () => run({ ...job, certificateIds }, progress))
                  .finally(context.activity?.note),
              putBack: (certificateIds) =>
                job.bundle === undefined
                  ? putBackReleased(db, { ...job, certificateIds }, PUT_BACK_SECONDS)
                  : leaveReleased(db, [job.bundle], certificateIds, PUT_BACK_SECONDS),
            }),
        ),
      )
      return {
        async stop() {
          const timer = setTimeout(() => stopping.abort(new Error('the process is ending')), CALLS_END_MS)
          await Promise.all(workers.map((worker) => worker.drain()))
          await slots.stalledEnded()
          clearTimeout(timer)
          await transports.close()
          await answers.flush()
          warnings.end()
        },
      }
    },
  }
}

const heapLimitMb = () => Math.floor(getHeapStatistics().heap_size_limit / 1024 / 1024)

/** The `main` of a worker app. */
export function runChannelWorker(adapter: ChannelAdapter): Promise<void> {
  return runProgram(channelWorker(adapter))
}
