import type { ChannelAdapter } from '../channel.ts'
import { checkOpaqueToken } from '../shared/opaque-token.ts'
import { type HonorPayload, mapPayload } from './payload.ts'
import { readCallback } from './receipt.ts'
import { type HonorSettings, limits, readSettings } from './settings.ts'
import { openTransport } from './transport.ts'

export const honor: ChannelAdapter<HonorSettings, HonorPayload> = {
  name: 'honor',
  tokensPerCall: 1000,
  onePerDevice: false,
  readSettings,
  limits,
  defaultClass: ({ defaultClass }) => defaultClass,
  mapPayload,
  checkToken: checkOpaqueToken,
  open: openTransport,
  readCallback,
}
