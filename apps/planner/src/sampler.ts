import { type Backlog, readBacklog, readStanding, type Standing } from '@herald/db/readings'
import { type Database, type Lead, takeLead } from '@herald/db/store'
import { channels, publicName, vendorChannels } from '@herald/domain'
import { type PushQueues, pushQueue } from '@herald/queue'
import { gauge, type Registry } from '@herald/telemetry'

/** How often the backlog is read, and the slower facts (certificates, governor, size). */
const SAMPLE_MS = 10_000
const STANDING_EVERY = 3
/** A reading that takes long pays for itself with a longer rest, so that looking never is a load. */
const REST_FACTOR = 20

export type Sampler = {
  /** One reading; answers the ms to rest. */
  sample(): Promise<number>
  stop(): Promise<void>
}

/**
 * Shows what waits. One planner of all holds the lead and looks; the others show nothing, and one of them takes over when
 * the lead is lost with its process or connection.
 */
export function createSampler(deps: { db: Database; queues: PushQueues; registry: Registry }): Sampler {
  const { db, queues } = deps
  const gauges = createGauges(deps.registry)
  gauges.clear()
  let lead: Lead | undefined
  let turn = 0

  async function drop(): Promise<void> {
    const former = lead
    lead = undefined
    gauges.clear()
    await former?.release()
  }

  return {
    async sample() {
      lead ??= await takeLead(db, 'sampler')
      if (!lead) return SAMPLE_MS
      const began = performance.now()
      try {
        gauges.showBacklog(await readBacklog(lead.runner))
        if (turn++ % STANDING_EVERY === 0) gauges.showStanding(await readStanding(lead.runner))
      } catch (error) {
        await drop()
        throw error
      }
      const took = performance.now() - began
      for (const channel of vendorChannels) {
        // A queue that is away says so elsewhere; an old number here would be a lie.
        const counts = await queues.counts(pushQueue(channel)).catch(() => undefined)
        gauges.showJobs(publicName(channel), counts)
      }
      return Math.max(SAMPLE_MS, took * REST_FACTOR)
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
    // An autoscaler needs the zero: a series that is missing says nothing.
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

  function showStanding(standing: Standing): void {
    for (const one of [certificates, expiry, permits, inDebt, usedToday]) one.reset()
    const soonest = new Map<string, number>()
    for (const { channel, state, count, expiresIn } of standing.certificates) {
      const name = publicName(channel)
      certificates.set({ channel: name, state }, count)
      if (expiresIn !== null) soonest.set(name, Math.min(expiresIn, soonest.get(name) ?? expiresIn))
    }
    for (const [channel, seconds] of soonest) expiry.set({ channel }, seconds)
    for (const row of standing.governor) {
      const labels = { channel: publicName(row.channel), class: row.messageClass }
      permits.set(labels, row.permits)
      inDebt.set(labels, row.inDebt)
      usedToday.set(labels, row.usedToday)
    }
    bytes.set(standing.databaseBytes)
  }

  return {
    showBacklog,
    showStanding,
    showJobs(channel: string, counts: { waiting: number; active: number } | undefined) {
      for (const state of ['waiting', 'active'] as const)
        if (counts) jobs.set({ channel, state }, counts[state])
        else jobs.remove({ channel, state })
    },
    clear() {
      for (const one of all) one.reset()
      // Without labels a reset gauge shows a zero, which here would be a claim.
      for (const one of [planningAge, bytes]) one.remove()
    },
  }
}
