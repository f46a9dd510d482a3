import type { ChannelAdapter } from '../channel.ts'
import { holdQuota } from '../shared/hold-quota.ts'
import { countedClass } from './classification.ts'
import { mapPayload, quotaClass, type VivoPayload } from './payload.ts'
import { readCallback } from './receipt.ts'
import { limits, readSettings, type VivoSettings } from './settings.ts'
import { checkToken } from './token.ts'
import { openTransport } from './transport.ts'

export const vivo: ChannelAdapter<VivoSettings, VivoPayload> = {
  name: 'vivo',
  tokensPerCall: 1000,
  onePerDevice: false,
  readSettings,
  limits,
  defaultClass: ({ defaultClass }) => defaultClass,
  classOf: countedClass,
  mapPayload,
  checkToken,
  open: (settings, deps) => holdQuota(openTransport(settings, deps), quotaClass, deps.now),
  readCallback,
}
