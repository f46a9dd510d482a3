import type { ChannelAdapter } from '../channel.ts'
import { holdQuota } from '../shared/hold-quota.ts'
import { type MeizuPayload, mapPayload, quotaClass } from './payload.ts'
import { readCallback } from './receipt.ts'
import { limits, type MeizuSettings, readSettings } from './settings.ts'
import { checkToken } from './token.ts'
import { openTransport } from './transport.ts'

export const meizu: ChannelAdapter<MeizuSettings, MeizuPayload> = {
  name: 'meizu',
  // Documents before August 2023 say 1000.
  tokensPerCall: 100,
  onePerDevice: false,
  readSettings,
  limits,
  defaultClass: ({ defaultClass }) => defaultClass,
  mapPayload,
  checkToken,
  open: (settings, deps) => holdQuota(openTransport(settings, deps), quotaClass, deps.now),
  readCallback,
}
