import type { ChannelAdapter } from '../channel.ts'
import { holdQuota } from '../shared/hold-quota.ts'
import { mapPayload, quotaClass, type XiaomiPayload } from './payload.ts'
import { readCallback } from './receipt.ts'
import { limits, readSettings, type XiaomiSettings } from './settings.ts'
import { checkToken } from './token.ts'
import { openTransport } from './transport.ts'

export const xiaomi: ChannelAdapter<XiaomiSettings, XiaomiPayload> = {
  name: 'xiaomi',
  tokensPerCall: 1000,
  onePerDevice: false,
  readSettings,
  limits,
  defaultClass: ({ defaultClass }) => defaultClass,
  mapPayload,
  checkToken,
  open: (settings, deps) => holdQuota(openTransport(settings, deps), quotaClass, deps.now),
  readCallback,
}
