import type { Outcome } from '@herald/domain'
import type { Transport, TransportDeps } from '../channel.ts'

/** A grant raised meanwhile is noticed after this long. */
const holdMs = 60_000
/** Classes come from messages too: no caller can make this grow. */
const mostClasses = 100

/**
 * Keeps the vendor's "enough for today" to the class of messages it was said of: whatever else comes within a minute is told the
 * same without a call. A broadcast would otherwise ask again with each of its batches, which vivo punishes with a smaller quota.
 */
export function holdQuota<Payload>(
  transport: Transport<Payload>,
  classOf: (payload: Payload) => string,
  now: TransportDeps['now'],
): Transport<Payload> {
  // By the monotonic clock: one set back would hold for as long.
  const held = new Map<string, { outcome: Outcome; until: number }>()
  return {
    ...transport,
    async send(payload, recipients, context) {
      const name = classOf(payload)
      const hold = held.get(name)
      if (hold && performance.now() < hold.until) {
        for (const index of recipients.keys()) context.report(index, hold.outcome)
        return
      }
      await transport.send(payload, recipients, {
        signal: context.signal,
        report(index, outcome) {
          if (outcome.kind === 'quota') {
            if (held.size >= mostClasses) held.clear()
            const wait = Math.min(holdMs, outcome.until - now())
            held.set(name, { outcome, until: performance.now() + wait })
          }
          context.report(index, outcome)
        },
      })
    },
  }
}
