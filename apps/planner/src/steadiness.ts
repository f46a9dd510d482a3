import type { Database } from '@herald/db/store'
import { leaseTime } from '@herald/db/tasks'

/**
 * Longer than the pause of a worker between two attempts to settle, and of a gateway between two renewals. After an outage of Postgres
 * longer than a lease all leases have expired; reclaiming them before the workers have reconnected would send everything in flight again.
 */
const STEADY_MS = 10_000
/** Longest time between two answered checks of a planner that is connected. */
const GAP_MS = 2_000
/** In a shorter gap no lease expires: a worker renews every 8 of 30 seconds. */
const LEASE_GAP_MS = 20_000
/** If the clock of Postgres gains more than this on that of this process, it was set ahead. */
const STEP_MS = 5_000
/** Short gaps that follow each other for this long mean a slow server, not an outage: reclaiming must go on. */
const SLOW_MS = 60_000

/** A time by the clock of Postgres. */
export type DatabaseTime = {
  /** Unix ms. */
  at: number
  /** When it was asked for, by the clock of this process (`performance.now()`). */
  askedAt: number
}

export type Steadiness = {
  /** Postgres answered a check. */
  answered(): void
  /** The next check comes after this pause, so that no answer until then means nothing. */
  pausing(ms: number): void
  /** A statement failed because Postgres was not there. */
  disconnected(): void
  /**
   * Whether workers and gateways have had time to write their results after an outage that this process may not have seen, and to renew
   * their leases after the clock of Postgres was set ahead: then all leases have expired at once. `time` is the present time.
   */
  isSteady(time?: DatabaseTime): boolean
}

export type SteadyDeps = {
  db: Database
  /** Whether workers and gateways have had time to write their results after an outage of Postgres or a step of its clock. */
  isSteady(time: DatabaseTime): boolean
}

/** The present time by the clock of Postgres, to end leases by; undefined while workers and gateways need time to renew theirs. */
export async function steadyTime({ db, isSteady }: SteadyDeps): Promise<string | undefined> {
  const askedAt = performance.now()
  const time = await leaseTime(db)
  return isSteady({ at: Date.parse(time), askedAt }) ? time : undefined
}

/** A process that has just started does not know how long Postgres was away, nor does one whose checks got no answer. */
export function createSteadiness(now: () => number = () => performance.now()): Steadiness {
  let outageAt = now()
  let answeredAt = now()
  let gapAt = Number.NEGATIVE_INFINITY
  let firstGapAt = Number.NEGATIVE_INFINITY
  let lastTime: DatabaseTime | undefined

  function noteGap(): void {
    const at = now()
    const gap = at - answeredAt
    if (gap <= GAP_MS) return
    if (gap >= LEASE_GAP_MS) outageAt = at
    if (answeredAt - gapAt > STEADY_MS) firstGapAt = at
    gapAt = at
  }

  function noteStep(time: DatabaseTime): void {
    // The last time was read after `askedAt`, and this one before now, so a slow answer is no step.
    if (lastTime && time.at - lastTime.at - (now() - lastTime.askedAt) > STEP_MS) outageAt = now()
    lastTime = time
  }

  return {
    answered() {
      noteGap()
      answeredAt = now()
    },
    pausing(ms) {
      answeredAt = now() + ms
    },
    disconnected() {
      outageAt = now()
    },
    isSteady(time) {
      noteGap()
      if (time) noteStep(time)
      const at = now()
      return at - outageAt > STEADY_MS && (at - gapAt > STEADY_MS || at - firstGapAt > SLOW_MS)
    },
  }
}
