import type { IncomingHttpHeaders } from 'node:http2'
import { findRefusal, type Rule } from '../frame/rules.ts'

export type Refusal = { status: number; reason: string }

const refuse = (reason: string, status = 400): Refusal => ({ status, reason })

/** Push types and the suffix that each adds to the topic. */
const topicSuffixes: Readonly<Record<string, string>> = {
  alert: '',
  background: '',
  voip: '.voip',
  complication: '.complication',
  fileprovider: '.pushkit.fileprovider',
  location: '.location-query',
  pushtotalk: '.voip-ptt',
  controls: '.push-type.controls',
  liveactivity: '.push-type.liveactivity',
  widgets: '.push-type.widgets',
  mdm: '',
}

const devicePath = '/3/device/'

/** The token of a request, or the refusal of its method or path. */
export function readToken(method: string, target: string): string | Refusal {
  if (!target.startsWith(devicePath)) return refuse('BadPath', 404)
  if (method !== 'POST') return refuse('MethodNotAllowed', 405)
  return target.slice(devicePath.length) || refuse('MissingDeviceToken')
}

/** The topic of a request. A certificate with one topic may leave the header out. */
export function readTopic(
  headers: IncomingHttpHeaders,
  allowed: readonly string[] | undefined,
  byCertificate: boolean,
): string | Refusal {
  const given = headers['apns-topic']
  const topic = typeof given === 'string' && given ? given : undefined
  if (!topic) return byCertificate && allowed?.length === 1 ? allowed[0]! : refuse('MissingTopic')
  const suffix = topicSuffixes[String(headers['apns-push-type'] ?? 'alert')] ?? ''
  const app = suffix && topic.endsWith(suffix) ? topic.slice(0, -suffix.length) : topic
  if (!allowed || allowed.includes(topic) || allowed.includes(app)) return topic
  return refuse(byCertificate ? 'BadTopic' : 'TopicDisallowed')
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

type HeaderInput = { value(name: string): string | undefined; raw: readonly string[] }
const header = (
  name: string,
  holds: (value: string, input: HeaderInput) => boolean,
  reason: string,
): Rule<HeaderInput, Refusal> => [
  (input) => {
    const value = input.value(name)
    return value === undefined || holds(value, input)
  },
  refuse(reason),
]
const headerRules: readonly Rule<HeaderInput, Refusal>[] = [
  [({ raw }) => !hasRepeated(raw), refuse('DuplicateHeaders')],
  header('apns-id', (id) => uuid.test(id), 'BadMessageId'),
  header('apns-expiration', (time) => /^\d{1,10}$/.test(time), 'BadExpirationDate'),
  header('apns-collapse-id', (id) => Buffer.byteLength(id, 'latin1') <= 64, 'BadCollapseId'),
  header('apns-push-type', (type) => Object.hasOwn(topicSuffixes, type), 'InvalidPushType'),
  header('apns-priority', (priority) => ['1', '5', '10'].includes(priority), 'BadPriority'),
  header(
    'apns-priority',
    (priority, { value }) => priority !== '10' || value('apns-push-type') !== 'background',
    'BadPriority',
  ),
]

export function checkHeaders(headers: IncomingHttpHeaders, raw: readonly string[]): Refusal | undefined {
  return findRefusal(headerRules, { value: (name) => headers[name] as string | undefined, raw })
}

function hasRepeated(raw: readonly string[]): boolean {
  for (let at = 0; at < raw.length; at += 2)
    if (raw[at]!.startsWith('apns-') && raw.indexOf(raw[at]!, at + 2) >= 0) return true
  return false
}

/** Device tokens are hex; Apple does not specify their length. */
export function isToken(token: string): boolean {
  return token.length >= 64 && token.length % 2 === 0 && /^[0-9a-fA-F]+$/.test(token)
}

type Notification = { aps?: unknown; task_id?: unknown }

/** The notification, or the refusal of the body. */
export function readBody(body: string, pushType: string | undefined): Notification | Refusal {
  if (body === '') return refuse('PayloadEmpty')
  if (Buffer.byteLength(body) > (pushType === 'voip' ? 5120 : 4096)) return refuse('PayloadTooLarge', 413)
  try {
    const value: unknown = JSON.parse(body)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // Apple publishes no reason for broken JSON.
  }
  return refuse('PayloadEmpty')
}

/** Mistakes that APNs accepts and the device does not show; refused with the option `strict`. */
export function findHiddenMistake(
  notification: Notification,
  pushType: string | undefined,
): string | undefined {
  const { aps } = notification
  if (typeof aps !== 'object' || aps === null) return 'aps is missing'
  const { badge, alert, sound } = aps as Record<string, unknown>
  if (badge !== undefined && !Number.isSafeInteger(badge)) return 'badge is not an integer'
  if (pushType === 'background' && (badge ?? alert ?? sound) !== undefined)
    return 'a background push has alert, badge or sound'
  return undefined
}

/** Tokens whose prefix selects a refusal, for demos and drills. */
const presetRefusals: readonly [prefix: string, Refusal][] = [
  ['0000000000000000', refuse('BadDeviceToken')],
  ['badbadbadbadbad0', refuse('BadDeviceToken')],
  ['deaddeaddeaddead', refuse('Unregistered', 410)],
  ['4290429042904290', refuse('TooManyRequests', 429)],
  ['5000500050005000', refuse('InternalServerError', 500)],
  ['5030503050305030', refuse('ServiceUnavailable', 503)],
]

export function presetRefusalOf(token: string): Refusal | undefined {
  return presetRefusals.find(([prefix]) => token.startsWith(prefix))?.[1]
}
