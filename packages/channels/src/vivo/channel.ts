import type { ChannelAdapter } from '../channel.ts'
import { fromCard } from '../shared/from-card.ts'
import { lazyTransport } from '../shared/lazy-transport.ts'
import { rememberQuota } from '../shared/remember-quota.ts'
import { card } from './card.ts'
import { countedClass } from './classification.ts'
import { mapPayload, quotaClass, type VivoPayload } from './payload.ts'
import { readCallback } from './receipt.ts'
import { limits, readSettings, type VivoSettings } from './settings.ts'
import { checkToken } from './token.ts'

export const adapter: ChannelAdapter<VivoSettings, VivoPayload> = {
  ...fromCard(card),
  readSettings,
  limits,
  classOf: countedClass,
  mapPayload,
  checkToken,
  open: (settings, deps) =>
    rememberQuota(
      lazyTransport(async () => (await import('./transport.ts')).openTransport(settings, deps)),
      quotaClass,
      deps.now,
    ),
  readCallback,
}
