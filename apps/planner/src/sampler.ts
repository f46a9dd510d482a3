import {
  type Backlog,
  readBacklog,
  readDatabaseBytes,
  readSystemStats,
  type SystemStats,
} from '@herald/db/readings'
import { type Database, leadOf } from '@herald/db/store'
import { channels, publicName, vendorChannels } from '@herald/domain'
import { type PushQueues, pushQueues } from '@herald/queue'
import { gauge, type Registry } from '@herald/telemetry'

export const SAMPLE_MS = 10_000
/** Certificates and governor are read with every third sample, and before a longer pause. */
const STATS_EVERY = 3
/** In a row of samples with longer pauses, in which nothing is due, the backlog is read with the first and every fifth. */
const QUIET_BACKLOG_EVERY = 5
const SIZE_MS = 600_000
/** The pause after a sample is at least this many times its duration, so that sampling never loads Postgres. */
const PAUSE_FACTOR = 20
/** How long after the next sample is due another planner takes over. Longer than a sample takes. */
const LEAD_SECONDS = 30

export type Sampler = {
  /** Takes one sample and returns the pause in milliseconds, which is at least `pauseMs`. */
  sample(pauseMs?: number): Promise<number>
  stop(): Promise<void>
}

/**
 * Exports the backlog as metrics. One planner has the lead and samples; the others export nothing, and one of them takes over
 * when its lead ends.
 */
export function createSampler(deps: { db: Database; queues: PushQueues; registry: Registry }): Sampler {
  const { db, queues } = deps
  const gauges = createGauges(deps.registry)
  gauges.clear()
  const lead = leadOf(db, 'sampler')
  let samples = 0
  let quietSamples = 0
  let sizeAt = Number.NEGATIVE_INFINITY

  /** The next sample reads everything again. */
  function clear(): void {
    gauges.clear()
    samples = 0
    quietSamples = 0
    sizeAt = Number.NEGATIVE_INFINITY
  }

  async function takeSample(pauseMs: number): Promise<number> {
    if (!(await lead.take(LEAD_SECONDS))) {
      clear()
      return SAMPLE_MS
    }
    const began = performance.now()
    const isQuiet = pauseMs > SAMPLE_MS
    if (!isQuiet) quietSamples = 0
    if (!isQuiet || quietSamples++ % QUIET_BACKLOG_EVERY === 0) gauges.showBacklog(await readBacklog(db))
    if (samples++ % STATS_EVERY === 0 || isQuiet) gauges.showStats(await readSystemStats(db.pool))
    if (began - sizeAt >= SIZE_MS) {
      gauges.showSize(await readDatabaseBytes(db.pool))
      sizeAt = began
    }
    const pause = Math.max(pauseMs, (performance.now() - began) * PAUSE_FACTOR)
    // All at once: a queue in Postgres then counts them with one statement.
    await Promise.all(
      vendorChannels.map(async (channel) => {
        // While the queue is down the series is removed: an old value would be wrong.
        const lanes = await Promise.all(pushQueues(channel).map(queues.counts)).catch(() => undefined)
        gauges.showJobs(publicName(channel), lanes)
      }),
    )
    await lead.take(pause / 1000 + LEAD_SECONDS)
    return pause
  }

  return {
    async sample(pauseMs = SAMPLE_MS) {
      try {
        return await takeSample(pauseMs)
      } catch (error) {
        // Another planner may take the lead while this one cannot renew it.
        clear()
        throw error
      }
    },
    async stop() {
      gauges.clear()
      // If it cannot be released, it ends by itself.
      await lead.release().catch(() => {})
    },
  }
}

function createGauges(registry: Registry) {
  const recipients = gauge(registry, 'herald_queue_recipients')
  const ages = gauge(registry, 'herald_queue_age_seconds')
  const jobs = gauge(registry, 'herald_queue_jobs')
  const tasks = gauge(registry, 'herald_tasks_open')
  const planningAge = gauge(registry, 'herald_planning_age_seconds')
  const certificates = gauge(registry, 'herald_certificates')
  const breakers = gauge(registry, 'herald_breakers_open')
  const holds = gauge(registry, 'herald_certificate_holds')
  const expiry = gauge(registry, 'herald_certificate_expiry_seconds')
  const permits = gauge(registry, 'herald_governor_permits')
  const inDebt = gauge(registry, 'herald_governor_in_debt')
  const usedToday = gauge(registry, 'herald_governor_used_today')
  const bytes = gauge(registry, 'herald_database_bytes')
  const all = [
    recipients,
    ages,
    jobs,
    tasks,
    planningAge,
    certificates,
    breakers,
    holds,
    expiry,
    permits,
    inDebt,
    usedToday,
    bytes,
  ]

  function showBacklog(backlog: Backlog): void {
    recipients.reset()
    // An autoscaler needs a zero; it cannot use a missing series.
    for (const channel of channels) {
      for (const state of ['ready', 'released', 'sending'])
        recipients.set({ channel: publicName(channel), state }, 0)
      ages.set({ channel: publicName(channel) }, 0)
    }
    for (const { channel, state, recipients: count } of backlog.open)
      recipients.set({ channel: publicName(channel), state }, count)
    for (const { channel, seconds } of backlog.ages) ages.set({ channel: publicName(channel) }, seconds)
    for (const state of ['due', 'planning', 'sending'] as const) tasks.set({ state }, backlog.tasks[state])
    planningAge.set(backlog.planningAge)
  }

  function showStats(stats: SystemStats): void {
    for (const one of [certificates, breakers, holds, expiry, permits, inDebt, usedToday]) one.reset()
    const soonest = new Map<string, number>()
    for (const { channel, state, count, expiresIn } of stats.certificates) {
      const name = publicName(channel)
      certificates.set({ channel: name, state }, count)
      if (expiresIn !== null) soonest.set(name, Math.min(expiresIn, soonest.get(name) ?? expiresIn))
    }
    for (const row of stats.troubles) {
      const channel = publicName(row.channel)
      breakers.set({ channel }, row.breakers)
      for (const kind of ['rejected', 'quota'] as const) holds.set({ channel, kind }, row[kind])
    }
    for (const [channel, seconds] of soonest) expiry.set({ channel }, seconds)
    for (const row of stats.governor) {
      const labels = { channel: publicName(row.channel), class: row.messageClass }
      permits.set(labels, row.permits)
      inDebt.set(labels, row.inDebt)
      usedToday.set(labels, row.usedToday)
    }
  }

  return {
    showBacklog,
    showStats,
    showSize: (size: number) => bytes.set(size),
    showJobs(channel: string, lanes: { waiting: number; active: number }[] | undefined) {
      for (const state of ['waiting', 'active'] as const) {
        const sum = lanes?.reduce((total, counts) => total + counts[state], 0)
        if (sum === undefined) jobs.remove({ channel, state })
        else jobs.set({ channel, state }, sum)
      }
    },
    clear() {
      for (const one of all) one.reset()
      // A gauge without labels exports 0 after a reset, which would be wrong here.
      for (const one of [planningAge, bytes]) one.remove()
    },
  }
}
