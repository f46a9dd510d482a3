import type { ChannelAdapter } from '../channel.ts'
import { checkOpaqueToken } from '../shared/opaque-token.ts'
import { type HuaweiPayload, mapHuaweiPayload } from './payload.ts'
import { readHuaweiCallback } from './receipt.ts'
import { type HuaweiSettings, huaweiLimits, readHuaweiSettings } from './settings.ts'
import { openHuawei } from './transport.ts'

export const huawei: ChannelAdapter<HuaweiSettings, HuaweiPayload> = {
  name: 'huawei',
  tokensPerCall: 1000,
  onePerDevice: false,
  readSettings: readHuaweiSettings,
  limits: huaweiLimits,
  defaultClass: (settings) => settings.defaultClass,
  mapPayload: mapHuaweiPayload,
  checkToken: checkOpaqueToken,
  open: openHuawei,
  readCallback: readHuaweiCallback,
}
