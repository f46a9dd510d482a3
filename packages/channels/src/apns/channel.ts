import type { ChannelAdapter } from '../channel.ts'
import { type ApnsPayload, mapPayload } from './payload.ts'
import { openReferenceTransport } from './reference-transport.ts'
import { type ApnsSettings, limits, readSettings } from './settings.ts'
import { checkToken } from './token.ts'
import { openTransport } from './transport.ts'

export const apns: ChannelAdapter<ApnsSettings, ApnsPayload> = {
  name: 'apns',
  tokensPerCall: 1000,
  onePerDevice: true,
  absoluteBadge: true,
  readSettings,
  expiresAt: ({ auth }) => (auth.kind === 'certificate' ? auth.expiresAt : undefined),
  limits,
  defaultClass: ({ defaultClass }) => defaultClass,
  mapPayload,
  checkToken,
  open: (settings, deps) =>
    deps.client === 'reference' ? openReferenceTransport(settings, deps) : openTransport(settings, deps),
}
