import type { TlsAnswer } from '../frame/tls-exchange.ts'
import { badField, tooLarge } from './errors.ts'

type Fields = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Apple's limit, which holds for what FCM passes on too. */
const maxBytes = 4096

/** Rules of the values of `apns.headers`. */
const headerRules: Readonly<Record<string, (value: string) => boolean>> = {
  'apns-priority': (value) => ['1', '5', '10'].includes(value),
  'apns-push-type': (value) => ['alert', 'background', 'liveactivity', 'voip'].includes(value),
  'apns-expiration': (value) => /^\d{1,10}$/.test(value),
  'apns-collapse-id': (value) => Buffer.byteLength(value) <= 64,
}

/** The block for iPhones: FCM passes it on to Apple, whose refusal comes back as an invalid argument. */
export function checkApns(fields: Fields): TlsAnswer | undefined {
  const { apns, data } = fields as { apns?: Fields; data?: Fields }
  if (!apns) return undefined
  const headers = (apns.headers ?? {}) as Record<string, string>
  for (const [name, value] of Object.entries(headers))
    if (headerRules[name]?.(value) === false)
      return badField(`message.apns.headers[${name}]`, `Invalid APNs header ${name}.`)
  const { payload } = apns
  if (payload === undefined) return undefined
  if (!isObject(payload)) return badField('message.apns.payload', 'Invalid APNs payload.')
  if (!isObject(payload.aps)) return badField('message.apns.payload', 'Missing aps in the APNs payload.')
  const wrong = findMistake(payload.aps, headers, apns.fcm_options)
  if (wrong) return badField(`message.apns.payload.aps.${wrong}`, `Invalid ${wrong} in the APNs payload.`)
  return Buffer.byteLength(JSON.stringify({ ...data, ...payload })) > maxBytes ? tooLarge : undefined
}

/** The key of `aps` that is wrong. */
function findMistake(aps: Fields, headers: Fields, options: unknown): string | undefined {
  if (aps.badge !== undefined && !Number.isSafeInteger(aps.badge)) return 'badge'
  for (const key of ['content-available', 'mutable-content'])
    if (aps[key] !== undefined && aps[key] !== 1) return key
  for (const key of ['thread-id', 'category', 'interruption-level'])
    if (aps[key] !== undefined && typeof aps[key] !== 'string') return key
  const { alert, sound } = aps
  if (alert !== undefined && typeof alert !== 'string' && !isObject(alert)) return 'alert'
  if (sound !== undefined && typeof sound !== 'string' && !(isObject(sound) && sound.critical === 1))
    return 'sound'
  // The extension that loads the picture runs only for such a payload.
  if (isObject(options) && options.image !== undefined && aps['mutable-content'] !== 1)
    return 'mutable-content'
  const isBackground = headers['apns-push-type'] === 'background'
  if (isBackground && aps['content-available'] !== 1) return 'content-available'
  if (isBackground && headers['apns-priority'] !== '5') return 'content-available'
  return isBackground ? ['alert', 'badge', 'sound'].find((key) => aps[key] !== undefined) : undefined
}
