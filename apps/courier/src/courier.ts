import { randomUUID } from 'node:crypto'
import {
  claimWebhooks,
  lookForCourier,
  MOVED_ROWS,
  moveOutbox,
  moveOutboxInTurn,
  type WebhookWork,
} from '@herald/db/events'
import { isTransient } from '@herald/db/store'
import { createWebhookPoster, type GuardOptions } from '@herald/outbound'
import { type Service, startLoop } from '@herald/program'
import { deliver } from './deliver.ts'
import { createCourierMeters } from './meters.ts'

export type CourierOptions = {
  /** For specs: how names are resolved. */
  guard?: GuardOptions
  /** For specs that cannot wait as long as the usual limit of a request. */
  limitMs?: number
  /** For specs: the longest pause. */
  restMs?: number
}

/** While there is something to do, and while there is not: one cheap statement each time. */
const BUSY_MS = 100
const QUIET_MS = 1000
/** Where the parts of the process note what they change and no other process writes: after some seconds without a note. */
const ALONE_QUIET_MS = 10_000
const ALONE_QUIET_AFTER_MS = 5_000
/** Webhooks that are served at a time; of those whose last request failed fewer, so that servers which hang leave room for the others. */
const SLOTS = 64
const FAILING_SLOTS = 32
/** How long a webhook is served while others wait for a slot. */
const TURN_MS = 10_000
const SAMPLE_MS = 30_000
/** A round that takes longer hangs. */
const ROUND_LIMIT_MS = 120_000

/** Adds the outbox to the stream of events and sends the events to webhooks. Any number of processes may run it. */
export function courier({ guard, limitMs, restMs = ALONE_QUIET_MS }: CourierOptions = {}): Service {
  return {
    name: 'courier',
    needs: ['postgres'],
    start(context) {
      const { db, sealer, log, registry, settings, activity } = context
      const meters = createCourierMeters(db, registry)
      const addresses = settings.webhookPrivate ? { mayCall: () => true } : {}
      const newPoster = () => createWebhookPoster({ ...addresses, ...guard, limitMs })
      const name = `${settings.nodeId} ${randomUUID()}`
      const turns = new Map<WebhookWork, { failing: boolean; ended: Promise<void> }>()
      const stopped = new AbortController()
      let claims = 0
      /** Webhooks wait for a slot. */
      let crowded = false
      let sampledAt = Number.NEGATIVE_INFINITY
      /** In a pause that a note ends. */
      let resting = false
      const stopListening = activity?.onNote(() => {
        if (resting) loop.wake()
      })

      async function move(): Promise<number> {
        let all = 0
        for (;;) {
          let moved = await moveOutbox(db)
          // Another courier moves it, or webhooks are changed all the time.
          if (moved === 0 && all === 0) moved = await moveOutboxInTurn(db)
          meters.moved(moved)
          all += moved
          if (moved < MOVED_ROWS || stopped.signal.aborted) return all
          // What was moved can be sent at once.
          await claim(false)
        }
      }

      const freeSlots = (failing: boolean) => {
        const inUse = [...turns.values()].filter((turn) => turn.failing).length
        return Math.min(SLOTS - turns.size, failing ? FAILING_SLOTS - inUse : SLOTS)
      }

      async function claim(failing: boolean): Promise<void> {
        const limit = freeSlots(failing)
        if (limit <= 0) {
          crowded = true
          return
        }
        const works = await claimWebhooks(db, sealer, `${name} ${++claims}`, { limit, failing })
        crowded ||= works.length === limit
        for (const work of works) serve(work)
      }

      function serve(work: WebhookWork): void {
        const began = performance.now()
        const isOver = () => stopped.signal.aborted || (crowded && performance.now() - began > TURN_MS)
        const ended = deliver({ db, log, meters, newPoster }, work, isOver)
          .catch((error) => {
            const about = { err: error, webhook: work.webhookId, app: work.appId }
            // Its lease ends, and then it is claimed again.
            if (isTransient(error)) log.warn(about, 'Postgres was not available while a webhook was served')
            else log.error(about, 'serving a webhook failed')
          })
          .finally(() => {
            turns.delete(work)
            if (crowded) loop.wake()
          })
        turns.set(work, { failing: work.attempts > 0, ended })
      }

      /** Returns the pause in milliseconds. */
      async function round(): Promise<number> {
        resting = false
        const look = await lookForCourier(db)
        crowded = false
        const moved = look.outbox ? await move() : 0
        if (look.healthy || moved > 0) await claim(false)
        if (look.failing) await claim(true)
        if (performance.now() - sampledAt >= SAMPLE_MS) {
          sampledAt = performance.now()
          await meters.sample()
        }
        if (look.outbox || turns.size > 0) return BUSY_MS
        resting = activity?.isAlone === true && !look.waiting && activity.quietMs() > ALONE_QUIET_AFTER_MS
        return resting ? restMs : QUIET_MS
      }

      const loop = startLoop({
        name: 'round',
        idleMs: QUIET_MS,
        limitMs: ROUND_LIMIT_MS,
        round,
        onError(error, transient) {
          if (transient) log.warn({ err: error }, 'Postgres is not available; trying again')
          else log.error({ err: error }, 'a round failed; trying again')
        },
      })

      return {
        waiting: () => (loop.health().hangs ? 'a round' : undefined),
        rounds: () => ({ round: Math.round(loop.health().age / 1000) }),
        async stop() {
          stopListening?.()
          stopped.abort()
          await loop.stop()
          await Promise.all([...turns.values()].map(({ ended }) => ended))
        },
      }
    },
  }
}
