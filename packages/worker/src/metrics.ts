import { type Channel, publicName } from '@herald/domain'
import { Counter, Histogram, type Registry } from '@herald/telemetry'

/** Several workers of one process share the registry, so a metric that is there already is used again. */
export function createMetrics(registry: Registry) {
  const outcomes =
    (registry.getSingleMetric('herald_recipients_total') as Counter | undefined) ??
    new Counter({
      name: 'herald_recipients_total',
      help: 'Recipients by what became of them on a channel.',
      labelNames: ['channel', 'fate'],
      registers: [registry],
    })
  const seconds =
    (registry.getSingleMetric('herald_job_seconds') as Histogram | undefined) ??
    new Histogram({
      name: 'herald_job_seconds',
      help: 'Time from taking a job to the last commit of its batches.',
      labelNames: ['channel'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      registers: [registry],
    })
  return {
    settled(
      channel: Channel,
      counts: { sent: number; failed: number; moved: number; expired: number },
    ): void {
      for (const fate of ['sent', 'failed', 'moved', 'expired'] as const) {
        if (counts[fate] > 0) outcomes.inc({ channel: publicName(channel), fate }, counts[fate])
      }
    },
    async timed(channel: Channel, work: () => Promise<void>): Promise<void> {
      const stop = seconds.startTimer({ channel: publicName(channel) })
      try {
        await work()
      } finally {
        stop()
      }
    },
  }
}
