import type { ChannelAdapter } from '../channel.ts'
import { fromCard } from '../shared/from-card.ts'
import { holdRefusals } from '../shared/hold-refusals.ts'
import { lazyTransport } from '../shared/lazy-transport.ts'
import { card } from './card.ts'
import { countedClass } from './classification.ts'
import { notes, warnings } from './notes.ts'
import { mapPayload, quotaClass, refusedScope, scopesOf, type VivoPayload } from './payload.ts'
import { readCallback } from './receipt.ts'
import { limits, readSettings, type VivoSettings } from './settings.ts'
import { checkToken } from './token.ts'

export const adapter: ChannelAdapter<VivoSettings, VivoPayload> = {
  ...fromCard(card),
  readSettings,
  warnings,
  notes,
  limits,
  classOf: countedClass,
  mapPayload,
  checkToken,
  open: (settings, deps) =>
    holdRefusals(
      lazyTransport(async () => (await import('./transport.ts')).openTransport(settings, deps)),
      { quota: quotaClass, refused: refusedScope, of: scopesOf },
      deps,
    ),
  readCallback,
}
