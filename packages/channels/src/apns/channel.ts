import type { ChannelAdapter, Recipient } from '../channel.ts'
import { followDenials } from '../shared/denials.ts'
import { fromCard } from '../shared/from-card.ts'
import { holdRefusals } from '../shared/hold-refusals.ts'
import { lazyTransport } from '../shared/lazy-transport.ts'
import { card } from './card.ts'
import { topicOf } from './card-push-types.ts'
import { passingRefusals, topicRefusals } from './classify.ts'
import { type ApnsPayload, mapPayload, notes } from './payload.ts'
import { type ApnsSettings, readSettings } from './settings.ts'
import { canonicalToken, checkToken } from './token.ts'
import { guardTopics } from './topic-guard.ts'
import { watchSends } from './watch-sends.ts'

/** Apple refuses valid keys too, in waves that end by themselves. */
const believeAfterMs = 180_000
/** Seconds. Every attempt of a refused key opens a connection, and Apple blocks hosts that open many. */
const refusedKeyPause = 10

export const adapter: ChannelAdapter<ApnsSettings, ApnsPayload> = {
  ...fromCard(card),
  readSettings,
  expiresAt: ({ auth }) => (auth.kind === 'certificate' ? auth.expiresAt : undefined),
  mapPayload,
  notes,
  canonicalToken,
  checkToken,
  open(settings, deps) {
    const isReference = deps.client === 'reference'
    const transport = lazyTransport(
      async () =>
        isReference
          ? (await import('./reference-transport.ts')).openReferenceTransport(settings, deps)
          : (await import('./transport.ts')).openTransport(settings, deps),
      !isReference,
    )
    const scopeOf = ({ pushType }: ApnsPayload, { bundleId }: Recipient) =>
      `topic ${topicOf(bundleId ?? settings.topic, pushType)}`
    const denials = followDenials({
      mayPass: ({ code }) => passingRefusals.has(code),
      believeAfterMs,
      minWait: refusedKeyPause,
      now: deps.now,
    })
    const guard = guardTopics(settings.topic, scopeOf, deps)
    return holdRefusals(
      watchSends(transport, (context, ...sent) => denials.watch(guard(context, ...sent))),
      {
        quota: () => 'all messages',
        refused: ({ reason }, payload, recipient) =>
          topicRefusals.has(reason.code) ? scopeOf(payload, recipient) : undefined,
        of: (payload, recipient) => [scopeOf(payload, recipient)],
      },
      deps,
    )
  },
}
