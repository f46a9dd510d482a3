import type { ChannelAdapter } from '../channel.ts'
import { fromCard } from '../shared/from-card.ts'
import { lazyTransport } from '../shared/lazy-transport.ts'
import { card } from './card.ts'
import { type ApnsPayload, mapPayload } from './payload.ts'
import { type ApnsSettings, readSettings } from './settings.ts'
import { checkToken } from './token.ts'

export const adapter: ChannelAdapter<ApnsSettings, ApnsPayload> = {
  ...fromCard(card),
  readSettings,
  expiresAt: ({ auth }) => (auth.kind === 'certificate' ? auth.expiresAt : undefined),
  mapPayload,
  checkToken,
  open: (settings, deps) =>
    lazyTransport(async () =>
      deps.client === 'reference'
        ? (await import('./reference-transport.ts')).openReferenceTransport(settings, deps)
        : (await import('./transport.ts')).openTransport(settings, deps),
    ),
}
