import type { ChannelAdapter } from '../channel.ts'
import { checkOpaqueToken } from '../shared/opaque-token.ts'
import { type HuaweiPayload, mapPayload } from './payload.ts'
import { readCallback } from './receipt.ts'
import { type HuaweiSettings, limits, readSettings } from './settings.ts'
import { openTransport } from './transport.ts'

export const huawei: ChannelAdapter<HuaweiSettings, HuaweiPayload> = {
  name: 'huawei',
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
