import { type Backlog, readBacklog, readSystemStats, type SystemStats } from '@herald/db/readings'
import { type AdvisoryLock, type Database, tryAdvisoryLock } from '@herald/db/store'
import { channels, publicName, vendorChannels } from '@herald/domain'
import { type PushQueues, pushQueue } from '@herald/queue'
import { gauge, type Registry } from '@herald/telemetry'

const SAMPLE_MS = 10_000
/** Certificates, governor and database size are read with every third sample. */
const STATS_EVERY = 3
/** The pause after a sample is at least this many times its duration, so that sampling never loads Postgres. */
const PAUSE_FACTOR = 20

export type Sampler = {
  /** Takes one sample and returns the pause in milliseconds. */
  sample(): Promise<number>
  stop(): Promise<void>
}

/**
 * Exports the backlog as metrics. One planner owns the lock and samples; the others export nothing, and one of them takes over
 * when the owner loses its process or connection.
 */
export function createSampler(deps: { db: Database; queues: PushQueues; registry: Registry }): Sampler {
  const { db, queues } = deps
  const gauges = createGauges(deps.registry)
  gauges.clear()
  let lock: AdvisoryLock | undefined
  let samples = 0

  async function drop(): Promise<void> {
    const former = lock
    lock = undefined
    gauges.clear()
    await former?.release()
  }

  return {
    async sample() {
      lock ??= await tryAdvisoryLock(db, 'sampler')
      if (!lock) return SAMPLE_MS
      const began = performance.now()
      try {
        gauges.showBacklog(await readBacklog(lock.runner))
        if (samples++ % STATS_EVERY === 0) gauges.showStats(await readSystemStats(lock.runner))
      } catch (error) {
        await drop()
        throw error
      }
      const took = performance.now() - began
      for (const channel of vendorChannels) {
        // While the queue is down the series is removed: an old value would be wrong.
        const counts = await queues.counts(pushQueue(channel)).catch(() => undefined)
        gauges.showJobs(publicName(channel), counts)
      }
      return Math.max(SAMPLE_MS, took * PAUSE_FACTOR)
    },
    stop: drop,
  }
}

function createGauges(registry: Registry) {
  const recipients = gauge(registry, 'herald_queue_recipients')
  const ages = gauge(registry, 'herald_queue_age_seconds')
  const jobs = gauge(registry, 'herald_queue_jobs')
  const tasks = gauge(registry, 'herald_tasks_open')
  const planningAge = gauge(registry, 'herald_planning_age_seconds')
  const certificates = gauge(registry, 'herald_certificates')
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
    for (const one of [certificates, expiry, permits, inDebt, usedToday]) one.reset()
    const soonest = new Map<string, number>()
    for (const { channel, state, count, expiresIn } of stats.certificates) {
      const name = publicName(channel)
      certificates.set({ channel: name, state }, count)
      if (expiresIn !== null) soonest.set(name, Math.min(expiresIn, soonest.get(name) ?? expiresIn))
    }
    for (const [channel, seconds] of soonest) expiry.set({ channel }, seconds)
    for (const row of stats.governor) {
      const labels = { channel: publicName(row.channel), class: row.messageClass }
      permits.set(labels, row.permits)
      inDebt.set(labels, row.inDebt)
      usedToday.set(labels, row.usedToday)
    }
    bytes.set(stats.databaseBytes)
  }

  return {
    showBacklog,
    showStats,
    showJobs(channel: string, counts: { waiting: number; active: number } | undefined) {
      for (const state of ['waiting', 'active'] as const)
        if (counts) jobs.set({ channel, state }, counts[state])
        else jobs.remove({ channel, state })
    },
    clear() {
      for (const one of all) one.reset()
      // A gauge without labels exports 0 after a reset, which would be wrong here.
      for (const one of [planningAge, bytes]) one.remove()
    },
  }
}
