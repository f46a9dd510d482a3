import type { Outcome } from '@herald/domain'
import type { Transport, TransportDeps } from '../channel.ts'

/** A quota that the vendor raises is noticed after this time. */
const rememberMs = 60_000
/** Classes come from messages too, so their number must be limited. */
const maxClasses = 100

/**
 * Remembers a refusal for the daily quota, per class of messages: for a minute, further messages of the class get the same outcome
 * without a call. Otherwise every batch of a broadcast would be refused again, for which some vendors lower the quota.
 */
export function rememberQuota<Payload>(
  transport: Transport<Payload>,
  classOf: (payload: Payload) => string,
  now: TransportDeps['now'],
): Transport<Payload> {
  // On the monotonic clock: the wall clock may be set back.
  const refused = new Map<string, { outcome: Outcome; until: number }>()
  return {
    ...transport,
    async send(payload, recipients, context) {
      const name = classOf(payload)
      const known = refused.get(name)
      if (known && performance.now() < known.until) {
        for (const index of recipients.keys()) context.report(index, known.outcome)
        return
      }
      await transport.send(payload, recipients, {
        signal: context.signal,
        report(index, outcome) {
          if (outcome.kind === 'quota') {
            if (refused.size >= maxClasses) refused.clear()
            const wait = Math.min(rememberMs, outcome.until - now())
            refused.set(name, { outcome, until: performance.now() + wait })
          }
          context.report(index, outcome)
        },
      })
    },
  }
}
