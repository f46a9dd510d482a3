import type { ChannelAdapter } from '../channel.ts'
import { type ApnsPayload, mapPayload } from './payload.ts'
import { openReferenceTransport } from './reference-transport.ts'
import { type ApnsSettings, readSettings } from './settings.ts'
import { openTransport } from './transport.ts'

export const apns: ChannelAdapter<ApnsSettings, ApnsPayload> = {
  name: 'apns',
  tokensPerCall: 1000,
  onePerDevice: true,
  absoluteBadge: true,
  readSettings,
  expiresAt: ({ auth }) => (auth.kind === 'certificate' ? auth.expiresAt : undefined),
  // Apple publishes no rate for an app, only one for a single device.
  limits: ({ limits }) => ({ ...limits, timeZone: 'UTC' }),
  defaultClass: ({ defaultClass }) => defaultClass ?? 'marketing',
  mapPayload,
  checkToken,
  open: (settings, deps) =>
    deps.client === 'reference' ? openReferenceTransport(settings, deps) : openTransport(settings, deps),
}

/** Hex without a promised length; ordinary tokens have 64 digits. */
export function checkToken(token: string): string | undefined {
  if (/^[0-9a-fA-F]{64,200}$/.test(token) && token.length % 2 === 0) return undefined
  return 'device_token is no APNs token: it must be 64 to 200 hexadecimal digits, without spaces or brackets'
}
