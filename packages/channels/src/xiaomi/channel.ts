import type { ChannelAdapter } from '../channel.ts'
import { mapPayload, type XiaomiPayload } from './payload.ts'
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
  open: openTransport,
  readCallback,
}
