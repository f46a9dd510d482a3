import { tendSuspects } from '@herald/db/devices'
import { isConnectionLost, resealSecrets } from '@herald/db/store'
import { applyRetention, feelPulse, type PlanningFailed } from '@herald/db/tasks'
import { type Channel, type Plan, publicName, targetsOf } from '@herald/domain'
import type { Service } from '@herald/program'
import { counter } from '@herald/telemetry'
import { feedRound } from './feed-round.ts'
import { startLoop } from './loop.ts'
import { nativeRound, trimRound } from './native-round.ts'
import { planRound } from './plan-round.ts'
import { createSampler } from './sampler.ts'
import { sweepRound } from './sweep-round.ts'

/** How soon an idle planner notices new work: one cheap query. */
const PULSE_MS = 250
/** How often rounds run without being told to. */
const UNTOLD_MS = 10_000
const FEED_BUSY_MS = 25
/**
 * Longer than a worker rests between two tries to settle. When Postgres comes back after more than a lease, the leases it holds
 * are over: whoever frees them before their workers are back has everything that was in flight sent once more.
 */
const STEADY_MS = 10_000
const RETENTION_MS = 3_600_000
const GUARD_MS = 30_000
/** While keys are rotated, a process with the former settings may still write with the former key. */
const RESEAL_MS = 30_000

/** Plans large audiences and feeds the queues. Any number of processes may run it: rows are taken with SKIP LOCKED. */
export const planner: Service = {
  name: 'planner',
  start({ db, queues, certificates, sealer, settings, registry, log }) {
    const planned = counter(registry, 'herald_recipients_planned_total')
    const unreachable = counter(registry, 'herald_recipients_unreachable_total')
    const failures = counter(registry, 'herald_rounds_failed_total')
    const recipients = counter(registry, 'herald_recipients_total')
    let queueDown = false
    const feed = {
      db,
      queues,
      onQueueFailure(error: unknown, tasks?: number[]) {
        if (!queueDown)
          log.warn(
            { err: error, tasks },
            'jobs cannot be added to the queue; their batches are named again later',
          )
        queueDown = true
      },
    }
    let troubledAt = Number.NEGATIVE_INFINITY
    const isSteady = () => performance.now() - troubledAt > STEADY_MS
    const onError = (error: unknown, passing: boolean) => {
      if (isConnectionLost(error)) troubledAt = performance.now()
      failures.inc({ cause: passing ? 'postgres' : 'error' })
      if (passing) log.warn({ err: error }, 'Postgres is not available')
      else log.error({ err: error }, 'a round failed')
    }

    const onEnded = (channel: Channel, fate: string, count: number) => {
      if (count > 0) recipients.inc({ channel: publicName(channel), fate }, count)
    }
    const plan = {
      db,
      certificates,
      shunned: new Map<number, number>(),
      onFailure(error: PlanningFailed) {
        failures.inc({ cause: 'task' })
        log.error({ err: error, task: error.taskId }, 'a task could not be planned; it is tried again')
      },
      onBegun: (taskId: number, large: boolean) =>
        log.info({ task: taskId }, large ? 'a large audience is being planned' : 'a task was planned'),
      onPlanned(plan: Plan) {
        for (const [channel, count] of targetsOf(plan)) planned.inc({ channel: publicName(channel) }, count)
        if (plan.unreachable > 0) unreachable.inc(plan.unreachable)
      },
    }
    const feeding = startLoop({
      idleMs: UNTOLD_MS,
      onError,
      round: async () => {
        queueDown = false
        return (await feedRound(feed)) > 0 ? FEED_BUSY_MS : false
      },
    })
    const planning = startLoop({
      idleMs: UNTOLD_MS,
      onError,
      round: async () => {
        const more = await planRound(plan)
        if (more) feeding.wake()
        return more
      },
    })
    const sweeping = startLoop({
      idleMs: UNTOLD_MS,
      onError,
      round: () => sweepRound({ ...feed, onEnded, isSteady }),
    })
    const native = {
      ...feed,
      onEnded,
      certificates,
      ackSeconds: settings.ackSeconds,
      onUnjudged: (error: unknown) =>
        log.error({ err: error }, 'the certificates of an application cannot be judged; its devices wait'),
    }
    const tending = startLoop({ idleMs: UNTOLD_MS, onError, round: () => nativeRound(native) })
    const trimming = startLoop({ idleMs: RETENTION_MS, onError, round: () => trimRound(native) })
    const guarding = startLoop({
      idleMs: GUARD_MS,
      onError,
      round: async () => {
        await tendSuspects(db)
        return false
      },
    })
    const retaining = startLoop({
      idleMs: RETENTION_MS,
      onError,
      round: async () => {
        await applyRetention(db, settings.retentionDays)
        return false
      },
    })
    const rotating = startLoop({
      idleMs: RESEAL_MS,
      onError,
      round: async () => {
        if (settings.otherMasterKeys.length === 0) return false
        const { resealed, broken } = await resealSecrets(db, sealer)
        if (resealed > 0) log.info(`${resealed} secrets were sealed anew with HERALD_MASTER_KEY`)
        if (broken > 0) log.error(`${broken} secrets are sealed with a key that was not given`)
        return false
      },
    })
    const sampler = createSampler({ db, queues, registry })
    const sampling = startLoop({ idleMs: UNTOLD_MS, onError, round: sampler.sample })
    let beats = 0
    const watching = startLoop({
      idleMs: PULSE_MS,
      onError,
      round: async () => {
        const { plan, send, tend } = await feelPulse(db)
        beats++
        if (plan) planning.wake()
        if (send) feeding.wake()
        if (send && beats % 2 === 0) sweeping.wake()
        if ((send || tend) && beats % 4 === 0) tending.wake()
        return false
      },
    })
    return {
      async stop() {
        const loops = [
          watching,
          planning,
          feeding,
          sweeping,
          tending,
          trimming,
          guarding,
          retaining,
          rotating,
          sampling,
        ]
        await Promise.all(loops.map((loop) => loop.stop()))
        await sampler.stop()
      },
    }
  },
}
