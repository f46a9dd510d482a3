import type { ChannelAdapter } from '../channel.ts'
import { fromCard } from '../shared/from-card.ts'
import { lazyTransport } from '../shared/lazy-transport.ts'
import { rememberQuota } from '../shared/remember-quota.ts'
import { card } from './card.ts'
import { mapPayload, quotaClass, type XiaomiPayload } from './payload.ts'
import { readCallback } from './receipt.ts'
import { readSettings, type XiaomiSettings } from './settings.ts'
import { checkToken } from './token.ts'

export const adapter: ChannelAdapter<XiaomiSettings, XiaomiPayload> = {
  ...fromCard(card),
  readSettings,
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
