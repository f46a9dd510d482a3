import type { ChannelAdapter, Recipient } from '../channel.ts'
import { fromCard } from '../shared/from-card.ts'
import { holdRefusals } from '../shared/hold-refusals.ts'
import { lazyTransport } from '../shared/lazy-transport.ts'
import { card } from './card.ts'
import { topicRefusals } from './classify.ts'
import { type ApnsPayload, mapPayload, notes } from './payload.ts'
import { type ApnsSettings, readSettings } from './settings.ts'
import { checkToken } from './token.ts'

export const adapter: ChannelAdapter<ApnsSettings, ApnsPayload> = {
  ...fromCard(card),
  readSettings,
  expiresAt: ({ auth }) => (auth.kind === 'certificate' ? auth.expiresAt : undefined),
  mapPayload,
  notes,
  checkToken,
  open(settings, deps) {
    const transport = lazyTransport(async () =>
      deps.client === 'reference'
        ? (await import('./reference-transport.ts')).openReferenceTransport(settings, deps)
        : (await import('./transport.ts')).openTransport(settings, deps),
    )
    const topicOf = ({ bundleId }: Recipient) => `topic ${bundleId ?? settings.topic}`
    return holdRefusals(
      transport,
      {
        quota: () => 'apns',
        refused: ({ reason }, _, recipient) =>
          topicRefusals.has(reason.code) ? topicOf(recipient) : undefined,
        of: (_, recipient) => [topicOf(recipient)],
      },
      deps,
    )
  },
}
