import { type Channel, type Plan, publicName, targetsOf } from '@herald/domain'
import { counter, histogram, type Registry } from '@herald/telemetry'

/** The metrics of the API. */
export type Meters = ReturnType<typeof createMeters>

export function createMeters(registry: Registry) {
  const http = histogram(registry, 'herald_http_seconds')
  const accepted = counter(registry, 'herald_tasks_accepted_total')
  const planned = counter(registry, 'herald_recipients_planned_total')
  const unreachable = counter(registry, 'herald_recipients_unreachable_total')
  const received = counter(registry, 'herald_received_total')
  const reopened = counter(registry, 'herald_certificates_reopened_total')
  const callbacks = counter(registry, 'herald_callbacks_total')
  return {
    answered: (path: string, status: number, seconds: number) => http.observe({ path, status }, seconds),
    accepted: (fresh: boolean, tasks = 1) => accepted.inc({ kind: fresh ? 'fresh' : 'repeated' }, tasks),
    /** Adds up the plans of a commit first: a change of a metric costs as much as planning a push. */
    planned(plans: readonly Plan[]) {
      for (const [channel, count] of targetsOf(...plans)) planned.inc({ channel: publicName(channel) }, count)
      const missed = plans.reduce((sum, plan) => sum + plan.unreachable, 0)
      if (missed > 0) unreachable.inc(missed)
    },
    received: (channel: Channel, count: number) => received.inc({ channel: publicName(channel) }, count),
    reopened: (channel: Channel) => reopened.inc({ channel: publicName(channel), by: 'person' }),
    /** For existing addresses only: callers must not be able to create labels. */
    calledBack: (channel: Channel, result: 'read' | 'refused') =>
      callbacks.inc({ channel: publicName(channel), result }),
  }
}
