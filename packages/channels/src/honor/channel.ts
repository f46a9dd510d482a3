import type { ChannelAdapter } from '../channel.ts'
import { checkOpaqueToken } from '../shared/opaque-token.ts'
import { type HonorPayload, mapHonorPayload } from './payload.ts'
import { readHonorCallback } from './receipt.ts'
import { type HonorSettings, honorLimits, readHonorSettings } from './settings.ts'
import { openHonor } from './transport.ts'

export const honor: ChannelAdapter<HonorSettings, HonorPayload> = {
  name: 'honor',
  tokensPerCall: 1000,
  onePerDevice: false,
  readSettings: readHonorSettings,
  limits: honorLimits,
  defaultClass: (settings) => settings.defaultClass,
  mapPayload: mapHonorPayload,
  checkToken: checkOpaqueToken,
  open: openHonor,
  readCallback: readHonorCallback,
}
