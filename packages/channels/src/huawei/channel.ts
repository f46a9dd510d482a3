import type { ChannelAdapter } from '../channel.ts'
import { fromCard } from '../shared/from-card.ts'
import { checkOpaqueToken } from '../shared/identifiers.ts'
import { lazyTransport } from '../shared/lazy-transport.ts'
import { card } from './card.ts'
import { type HuaweiPayload, mapPayload } from './payload.ts'
import { countedClass } from './payload-rules.ts'
import { callbackHeader, readCallback } from './receipt.ts'
import { type HuaweiSettings, readSettings } from './settings.ts'
import { notes, warnings } from './warnings.ts'
import { withdrawal } from './withdrawal.ts'

export const adapter: ChannelAdapter<HuaweiSettings, HuaweiPayload> = {
  ...fromCard(card),
  readSettings,
  warnings,
  notes,
  classOf: countedClass,
  mapPayload,
  versionsOf: ({ v2, v3 }) => (v3 ? [v2, v3] : [v2]),
  withdrawal,
  checkToken: checkOpaqueToken,
  open: (settings, deps) =>
    lazyTransport(async () => (await import('./transport.ts')).openTransport(settings, deps)),
  callbackHeaders: [callbackHeader],
  readCallback,
}
