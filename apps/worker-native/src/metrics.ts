import type { Lane } from '@herald/domain'
import { counter, gauge, histogram, type Registry } from '@herald/telemetry'

const channel = 'nativepush'
export type NativeCounts = { sent: number; moved: number; expired: number; received: number }

export type NativeMetrics = ReturnType<typeof createMetrics>

export function createMetrics(registry: Registry, connections: () => number) {
  gauge(registry, 'herald_native_connections', (open) => open.set(connections()))
  const written = counter(registry, 'herald_native_written_total')
  const acknowledged = counter(registry, 'herald_native_acknowledged_total')
  const closed = counter(registry, 'herald_native_closed_total')
  const recipients = counter(registry, 'herald_recipients_total')
  const received = counter(registry, 'herald_received_total')
  const lost = counter(registry, 'herald_leases_lost_total')
  const retries = counter(registry, 'herald_settle_retries_total')
  const firstCalls = histogram(registry, 'herald_notify_to_vendor_seconds')
  return {
    written: () => written.inc(),
    acknowledged: (count: number) => acknowledged.inc(count),
    closed: (code: number) => closed.inc({ code }),
    settled(counts: NativeCounts) {
      for (const fate of ['sent', 'moved', 'expired'] as const)
        if (counts[fate] > 0) recipients.inc({ channel, fate }, counts[fate])
      if (counts.received > 0) received.inc({ channel }, counts.received)
    },
    sent: (count: number) => recipients.inc({ channel, fate: 'sent' }, count),
    received: (count: number) => received.inc({ channel }, count),
    leaseLost: () => lost.inc({ channel }),
    settleRepeated: () => retries.inc({ channel }),
    firstCall: (lane: Lane, seconds: number) => firstCalls.observe({ channel, lane }, Math.max(0, seconds)),
  }
}
