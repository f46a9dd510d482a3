import { courierFigures } from '@herald/db/events'
import type { Database } from '@herald/db/store'
import { counter, gauge, histogram, type Registry } from '@herald/telemetry'

export type CourierMeters = {
  moved(events: number): void
  answered(status: number | undefined, seconds: number): void
  sent(entries: number): void
  rested(cause: string): void
  /** Reads the figures of all webhooks. */
  sample(): Promise<void>
}

export function createCourierMeters(db: Database, registry: Registry): CourierMeters {
  const moved = counter(registry, 'herald_events_total')
  const requests = counter(registry, 'herald_webhook_requests_total')
  const entries = counter(registry, 'herald_webhook_entries_total')
  const rested = counter(registry, 'herald_webhooks_rested_total')
  const seconds = histogram(registry, 'herald_webhook_seconds')
  const webhooks = gauge(registry, 'herald_webhooks')
  const backlogAge = gauge(registry, 'herald_webhook_backlog_age_seconds')
  const outboxAge = gauge(registry, 'herald_outbox_age_seconds')
  return {
    moved: (events) => moved.inc(events),
    answered(status, took) {
      requests.inc({ result: status === undefined ? 'none' : `${Math.floor(status / 100)}xx` })
      seconds.observe(took)
    },
    sent: (count) => entries.inc(count),
    rested: (cause) => rested.inc({ cause }),
    async sample() {
      const figures = await courierFigures(db)
      for (const state of ['active', 'failing', 'rested'] as const) webhooks.set({ state }, figures[state])
      backlogAge.set(figures.backlogAge)
      outboxAge.set(figures.outboxAge)
    },
  }
}
