import type { ChannelAdapter } from '../channel.ts'
import { fromCard } from '../shared/from-card.ts'
import { checkOpaqueToken } from '../shared/identifiers.ts'
import { lazyTransport } from '../shared/lazy-transport.ts'
import { card } from './card.ts'
import { type AcmePayload, mapPayload } from './payload.ts'
import { type AcmeSettings, readSettings } from './settings.ts'

export const adapter: ChannelAdapter<AcmeSettings, AcmePayload> = {
  ...fromCard(card),
  readSettings,
  mapPayload,
  checkToken: checkOpaqueToken,
  open: (settings, deps) =>
    lazyTransport(async () => (await import('./transport.ts')).openTransport(settings, deps)),
}
