import type { ChannelAdapter } from '../channel.ts'
import { holdQuota } from '../shared/hold-quota.ts'
import { mapPayload, type OppoPayload, quotaClass } from './payload.ts'
import { readCallback } from './receipt.ts'
import { limits, type OppoSettings, readSettings } from './settings.ts'
import { checkToken } from './token.ts'
import { openTransport } from './transport.ts'

export const oppo: ChannelAdapter<OppoSettings, OppoPayload> = {
  name: 'oppo',
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
