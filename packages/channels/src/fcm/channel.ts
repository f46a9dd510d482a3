import type { ChannelAdapter } from '../channel.ts'
import { fromCard } from '../shared/from-card.ts'
import { lazyTransport } from '../shared/lazy-transport.ts'
import { card } from './card.ts'
import { type FcmPayload, mapPayload, notes } from './payload.ts'
import { type FcmSettings, readSettings } from './settings.ts'
import { checkToken } from './token.ts'

export const adapter: ChannelAdapter<FcmSettings, FcmPayload> = {
  ...fromCard(card),
  readSettings,
  mapPayload,
  notes,
  versionsOf: ({ afterToken, ios }) => [afterToken, ios()],
  checkToken,
  open: (settings, deps) =>
    lazyTransport(async () => {
      const { openTransport } = await import('./transport.ts')
      if (deps.client !== 'reference') return openTransport(settings, deps)
      return openTransport(settings, deps, (await import('./reference-sender.ts')).openReferenceSender)
    }, true),
}
