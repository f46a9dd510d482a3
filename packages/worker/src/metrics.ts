import type { Settlement } from '@herald/db/tasks'
import { type Channel, type Lane, publicName } from '@herald/domain'
import { counter, histogram, type Registry } from '@herald/telemetry'
import { createCodeLabels } from './code-label.ts'
import type { Tally } from './tally.ts'

export type Fates = Pick<Settlement, 'sent' | 'failed' | 'moved' | 'expired' | 'cancelled'>
const fates = ['sent', 'failed', 'moved', 'expired', 'cancelled'] as const

/** Recorded once per batch or call, never once per device. */
export type WorkerMetrics = {
  settled(channel: Channel, counts: Fates): void
  /** Outcomes of one batch other than accepted. */
  outcomes(channel: Channel, tally: Tally): void
  deferred(channel: Channel, cause: 'rate' | 'quota' | 'hours', recipients: number): void
  /** `seconds` from the start of the task to the first call of a batch. */
  firstCall(channel: Channel, lane: Lane, seconds: number): void
  called(channel: Channel, seconds: number): void
  settleRepeated(channel: Channel): void
  leaseLost(channel: Channel): void
  certificateClosed(channel: Channel): void
  breakerOpened(channel: Channel): void
  timed(channel: Channel, work: () => Promise<void>): Promise<void>
}

export function createMetrics(registry: Registry): WorkerMetrics {
  const recipients = counter(registry, 'herald_recipients_total')
  const outcomes = counter(registry, 'herald_outcomes_total')
  const deferred = counter(registry, 'herald_governor_held_total')
  const retries = counter(registry, 'herald_settle_retries_total')
  const lost = counter(registry, 'herald_leases_lost_total')
  const failed = counter(registry, 'herald_jobs_failed_total')
  const closed = counter(registry, 'herald_certificates_closed_total')
  const breakers = counter(registry, 'herald_breakers_opened_total')
  const firstCalls = histogram(registry, 'herald_notify_to_vendor_seconds')
  const calls = histogram(registry, 'herald_vendor_call_seconds')
  const jobs = histogram(registry, 'herald_job_seconds')
  const labelOf = createCodeLabels()
  return {
    settled(channel, counts) {
      const name = publicName(channel)
      for (const fate of fates) if (counts[fate] > 0) recipients.inc({ channel: name, fate }, counts[fate])
      if (counts.sent > 0) outcomes.inc({ channel: name, outcome: 'accepted', code: 'none' }, counts.sent)
    },
    outcomes(channel, tally) {
      const name = publicName(channel)
      for (const { kind, reason, count } of tally.values())
        outcomes.inc({ channel: name, outcome: kind, code: labelOf(channel, reason.code) }, count)
    },
    deferred: (channel, cause, count) => deferred.inc({ channel: publicName(channel), cause }, count),
    firstCall: (channel, lane, seconds) =>
      firstCalls.observe({ channel: publicName(channel), lane }, Math.max(0, seconds)),
    called: (channel, seconds) => calls.observe({ channel: publicName(channel) }, seconds),
    settleRepeated: (channel) => retries.inc({ channel: publicName(channel) }),
    leaseLost: (channel) => lost.inc({ channel: publicName(channel) }),
    certificateClosed: (channel) => closed.inc({ channel: publicName(channel) }),
    breakerOpened: (channel) => breakers.inc({ channel: publicName(channel) }),
    async timed(channel, work) {
      const stop = jobs.startTimer({ channel: publicName(channel) })
      try {
        await work()
      } catch (error) {
        failed.inc({ channel: publicName(channel) })
        throw error
      } finally {
        stop()
      }
    },
  }
}
