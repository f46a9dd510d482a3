import type { ChannelAdapter } from '../channel.ts'
import { fromCard } from '../shared/from-card.ts'
import { holdRefusals } from '../shared/hold-refusals.ts'
import { lazyTransport } from '../shared/lazy-transport.ts'
import { card } from './card.ts'
import { notes } from './notes.ts'
import { countedClass, type MeizuPayload, mapPayload, quotaClass } from './payload.ts'
import { readCallback } from './receipt.ts'
import { type MeizuSettings, readSettings } from './settings.ts'
import { checkToken } from './token.ts'

export const adapter: ChannelAdapter<MeizuSettings, MeizuPayload> = {
  ...fromCard(card),
  readSettings,
  notes,
  classOf: countedClass,
  mapPayload,
  checkToken,
  open: (settings, deps) =>
    holdRefusals(
      lazyTransport(async () => (await import('./transport.ts')).openTransport(settings, deps)),
      { quota: quotaClass },
      deps,
    ),
  readCallback,
}
