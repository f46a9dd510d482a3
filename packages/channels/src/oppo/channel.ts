import type { ChannelAdapter } from '../channel.ts'
import { mapPayload, type OppoPayload } from './payload.ts'
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
  open: openTransport,
  readCallback,
}
