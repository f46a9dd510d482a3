import { isConnectionLost } from '@herald/db/store'
import {
  checkLateTasks,
  type DueWork,
  findDueWork,
  finishPlanned,
  mayBundle,
  walkOpenTasks,
} from '@herald/db/tasks'
import { recoveryPauses } from '@herald/domain'
import { createBundleRoom, type ReadCertificate } from '@herald/plan'
import { askVendor, type OnLoopError, type Service, transportDeps } from '@herald/program'
import { beginRound } from './begin-round.ts'
import { BUNDLES_MS, feedRound, newFeedTurns } from './feed-round.ts'
import { pauseAfter } from './feed-window.ts'
import { startLoops } from './loops.ts'
import { maintenanceLoops } from './maintenance.ts'
import { nativeRound } from './native-round.ts'
import { newPageTurns, planRound } from './plan-round.ts'
import { createPostponed } from './postponed.ts'
import { probeRound } from './probe-round.ts'
import { createReports } from './reports.ts'
import { createSampler, SAMPLE_MS } from './sampler.ts'
import { createSteadiness } from './steadiness.ts'
import { sweepRound } from './sweep-round.ts'
import { isUnfinished } from './turn.ts'
import { newWakeTurns, wakeRound } from './wake-round.ts'

/** How soon an idle planner finds new work: one cheap query per check. */
const CHECK_MS = 250
/** How often a round runs although no check woke it: while there was work lately, and while it is quiet. */
const FALLBACK_INTERVAL_MS = 10_000
const QUIET_INTERVAL_MS = 60_000
/** The same for rounds that read every application with open tasks, and of which a check sees all that is due. */
const RARE_INTERVAL_MS = 300_000
/** It is quiet when no check found work for this long. */
const QUIET_AFTER_MS = 30_000
/** The same where the parts of the process note what they change. */
const NOTED_QUIET_AFTER_MS = 5_000
/**
 * Where the parts of the process note what they change, a quiet planner only looks for what becomes due by itself. Begin times are
 * whole seconds, so it looks just after each second: a scheduled task begins no later than with four checks per second.
 */
const nextSecond = () => 1020 - (Date.now() % 1000)
/** If no other process writes into the database either, it looks when the first becomes due, and at least this often. */
const QUIET_CHECK_MS = 10_000
const untilDue = ({ nextMs = QUIET_CHECK_MS }: DueWork) => Math.max(20, Math.min(nextMs + 20, QUIET_CHECK_MS))
/** Between two steps of a search for certificates with ready batches, and before the release of those that became ready. */
const FEED_STEP_MS = 25
/** Between two steps of a search for batches that waited for their certificate. */
const WAKE_STEP_MS = 100
/**
 * How long such searches go on after something was sent or a certificate was changed: a batch may begin to wait just after its certificate
 * was opened, and a change may be committed after a later one.
 */
const WAKE_MS = 5_000

/** Plans large audiences and feeds the queues. Any number of processes may run it: rows are taken with SKIP LOCKED. */
export const planner: Service = {
  name: 'planner',
  start(context) {
    const { db, queues, certificates, settings, registry, activity } = context
    const reports = createReports(context)
    const steadiness = createSteadiness()
    const onError: OnLoopError = (error, ...rest) => {
      if (isConnectionLost(error)) steadiness.disconnected()
      reports.onLoopError(error, ...rest)
    }
    const hasRoom = createBundleRoom(db)
    const deps = {
      db,
      queues,
      certificates,
      ackSeconds: settings.ackSeconds,
      postponed: createPostponed({ db, ...reports }),
      dueTurns: { high: '', normal: '' },
      turns: newPageTurns(),
      isSteady: steadiness.isSteady,
      mayWaitInBundle: async () => (await mayBundle(db)) && hasRoom(),
      ...reports,
    }
    const sampler = createSampler({ db, queues, registry })
    const isQuiet = () => loops.isQuiet()
    const idleMs = () => (isQuiet() ? QUIET_INTERVAL_MS : FALLBACK_INTERVAL_MS)

    /** The backlog of a quiet database does not change; the first check that finds something ends the longer pause. */
    let sampleAt = Number.NEGATIVE_INFINITY
    async function sample(): Promise<number> {
      const early = sampleAt - performance.now()
      if (early > 0) return early
      // The first round begins while the loops are being started, when `loops` has no value yet.
      const isFirst = sampleAt === Number.NEGATIVE_INFINITY
      sampleAt = performance.now() + SAMPLE_MS
      if (!isFirst && isQuiet()) return sampler.sample(QUIET_INTERVAL_MS)
      const pause = await sampler.sample()
      sampleAt = performance.now() + pause
      return pause
    }
    const feedTurns = newFeedTurns()
    async function feed(): Promise<boolean | number> {
      reports.onFeedRound()
      const released = await feedRound(deps, feedTurns)
      if (isUnfinished(feedTurns)) return FEED_STEP_MS
      if (released.batches > 0) return pauseAfter(released)
      if (feedTurns.newlyReady > 0) return FEED_STEP_MS
      // The next bundles are released when workers have sent those in flight, of which the planner learns nothing.
      const { more, pauseMs } = feedTurns.bundles
      return more && pauseMs === BUNDLES_MS ? BUNDLES_MS : false
    }
    /** A loop of its own: a page takes as long as beginning hundreds of small tasks. */
    async function begin(): Promise<boolean> {
      const more = await beginRound(deps)
      if (more) for (const next of ['plan', 'feed']) loops.wake(next)
      return more
    }
    async function plan(): Promise<boolean> {
      const more = await planRound(deps)
      if (more) loops.wake('feed')
      return more
    }

    /** A loop of its own: a probe takes as long as the vendor. */
    async function wake(): Promise<boolean | number> {
      const more = await wakeRound(db, wakeTurns)
      if (more) loops.wake('feed')
      return more || (isUnfinished(wakeTurns) ? WAKE_STEP_MS : false)
    }
    const wakeTurns = newWakeTurns()
    let wakesUntil = Number.NEGATIVE_INFINITY
    let change: number | undefined
    function noteWaking(due: DueWork): void {
      if (due.send || due.wake || due.change !== change) wakesUntil = performance.now() + WAKE_MS
      change = due.change
    }
    /** A step per pause, however many tasks are open: it finds only what nothing enqueued. */
    let walked = 0
    async function walk(): Promise<boolean> {
      await finishPlanned(db)
      await checkLateTasks(db)
      walked = (await walkOpenTasks(db, walked)) ?? 0
      return false
    }
    const probing = {
      db,
      certificates,
      pauses: context.pauses ?? recoveryPauses,
      check: ({ adapter, settings: read, stored }: ReadCertificate) =>
        askVendor(adapter, read, transportDeps(context, stored.id)),
      ...reports,
    }

    const quietCheckMs = (due: DueWork) => {
      const pause = activity?.isAlone ? untilDue(due) : nextSecond()
      steadiness.pausing(pause)
      return pause
    }
    const loops: ReturnType<typeof startLoops> = startLoops({
      checkMs: CHECK_MS,
      quietAfterMs: activity ? NOTED_QUIET_AFTER_MS : QUIET_AFTER_MS,
      quietCheckMs: activity && quietCheckMs,
      onDue: activity?.note,
      async check() {
        const due = await findDueWork(db)
        steadiness.answered()
        noteWaking(due)
        return due
      },
      onError,
      loops: [
        { name: 'feed', idleMs, round: feed, wokenBy: (due) => due.send },
        // The check knows when the first task begins.
        { name: 'begin', idleMs: RARE_INTERVAL_MS, round: begin, wokenBy: (due) => due.plan },
        {
          name: 'plan',
          idleMs: () => (isQuiet() ? RARE_INTERVAL_MS : FALLBACK_INTERVAL_MS),
          round: plan,
          wokenBy: (due) => due.plan,
        },
        {
          name: 'sweep',
          idleMs,
          round: () => sweepRound(deps),
          wokenBy: (due) => due.send,
          everyNthCheck: 2,
        },
        {
          name: 'native',
          idleMs,
          round: () => nativeRound(deps),
          wokenBy: (due) => due.send || due.native,
          everyNthCheck: 4,
        },
        {
          name: 'probe',
          idleMs,
          round: () => probeRound(probing),
          wokenBy: (due) => due.probe,
          everyNthCheck: 4,
        },
        {
          name: 'wake',
          idleMs: QUIET_INTERVAL_MS,
          round: wake,
          wokenBy: () => performance.now() < wakesUntil,
          everyNthCheck: 4,
        },
        { name: 'walk', idleMs, round: walk },
        ...maintenanceLoops(context, reports.onEnded, isQuiet),
        {
          name: 'sample',
          idleMs,
          round: sample,
          wokenBy: (due) => due.plan || due.send,
        },
      ],
    })
    const stopListening = activity?.onNote(loops.note)
    return {
      waiting() {
        const hanging = Object.entries(loops.health()).filter(([, { hangs }]) => hangs)
        return hanging.length === 0 ? undefined : `the round of ${hanging.map(([name]) => name).join(', ')}`
      },
      rounds: () =>
        Object.fromEntries(
          Object.entries(loops.health()).map(([name, { age }]) => [name, Math.round(age / 1000)]),
        ),
      async stop() {
        stopListening?.()
        await loops.stop()
        await sampler.stop()
      },
    }
  },
}
