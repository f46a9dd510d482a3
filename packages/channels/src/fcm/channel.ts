import type { ChannelAdapter } from '../channel.ts'
import { type FcmPayload, mapPayload } from './payload.ts'
import { openReferenceWire } from './reference-wire.ts'
import { type FcmSettings, limits, readSettings } from './settings.ts'
import { checkToken } from './token.ts'
import { openTransport } from './transport.ts'
import { openMulticastWire } from './wire.ts'

export const fcm: ChannelAdapter<FcmSettings, FcmPayload> = {
  name: 'fcm',
  tokensPerCall: 1000,
  onePerDevice: true,
  readSettings,
  limits,
  defaultClass: ({ defaultClass }) => defaultClass,
  mapPayload,
  checkToken,
  open: (settings, deps) =>
    openTransport(settings, deps, deps.client === 'reference' ? openReferenceWire : openMulticastWire),
}
