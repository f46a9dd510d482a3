import type { ChannelAdapter } from '../channel.ts'
import { fromCard } from '../shared/from-card.ts'
import { checkOpaqueToken } from '../shared/identifiers.ts'
import { lazyTransport } from '../shared/lazy-transport.ts'
import { card } from './card.ts'
import { notes } from './notes.ts'
import { countedClass, type HonorPayload, mapPayload } from './payload.ts'
import { readCallback } from './receipt.ts'
import { type HonorSettings, readSettings } from './settings.ts'

export const adapter: ChannelAdapter<HonorSettings, HonorPayload> = {
  ...fromCard(card),
  readSettings,
  notes,
  classOf: countedClass,
  mapPayload,
  checkToken: checkOpaqueToken,
  open: (settings, deps) =>
    lazyTransport(async () => (await import('./transport.ts')).openTransport(settings, deps)),
  readCallback,
}
