import type { ChannelAdapter } from '../channel.ts'
import { type FcmPayload, mapPayload } from './payload.ts'
import { openReferenceWire } from './reference-wire.ts'
import { type FcmSettings, readSettings } from './settings.ts'
import { openTransport } from './transport.ts'
import { openMulticastWire } from './wire.ts'

// https://firebase.google.com/docs/cloud-messaging/throttling-and-quotas: 600,000 messages a minute and project
const requestsPerSecond = 10_000

export const fcm: ChannelAdapter<FcmSettings, FcmPayload> = {
  name: 'fcm',
  tokensPerCall: 1000,
  onePerDevice: true,
  readSettings,
  limits: ({ limits }) => ({
    ...limits,
    requestsPerSecond: limits.requestsPerSecond ?? requestsPerSecond,
    timeZone: 'UTC',
  }),
  defaultClass: ({ defaultClass }) => defaultClass ?? 'marketing',
  mapPayload,
  checkToken,
  open: (settings, deps) =>
    openTransport(settings, deps, deps.client === 'reference' ? openReferenceWire : openMulticastWire),
}

/** `<instance id>:<rest>`; Google promises no length. */
export function checkToken(token: string): string | undefined {
  if (/^[A-Za-z0-9_-]+:[A-Za-z0-9_-]+$/.test(token) && token.length <= 4096) return undefined
  return 'device_token is no FCM registration token: it has letters, digits, - and _ around one colon'
}
