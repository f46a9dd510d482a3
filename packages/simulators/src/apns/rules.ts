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

const foreignSuffixes = Object.values(topicSuffixes).filter((suffix) => suffix !== '')

/** The only priorities of these types; the others allow 10, 5 and 1. */
const typePriorities: Readonly<Record<string, readonly string[]>> = {
  background: ['5'],
  voip: ['10'],
  pushtotalk: ['10'],
  liveactivity: ['10', '5'],
  location: ['10', '5'],
  widgets: ['10', '5'],
}

/** APNs takes these with a provider token only. */
export const tokenOnlyTypes: ReadonlySet<string> = new Set(['liveactivity', 'location'])

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
  const type = String(headers['apns-push-type'] ?? 'alert')
  const suffix = topicSuffixes[type] ?? ''
  const disallowed = refuse(byCertificate ? 'BadTopic' : 'TopicDisallowed')
  // Apple does not say which reason it gives for a topic that does not fit the push type.
  if (!topic.endsWith(suffix) || (suffix === '' && foreignSuffixes.some((other) => topic.endsWith(other))))
    return disallowed
  const app = topic.slice(0, topic.length - suffix.length)
  return !allowed || allowed.includes(topic) || allowed.includes(app) ? topic : disallowed
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
    (priority, { value }) => typePriorities[value('apns-push-type') ?? '']?.includes(priority) ?? true,
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

type Aps = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Aps =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isSeconds = (value: unknown) => Number.isSafeInteger(value) && (value as number) < 100_000_000_000
const optional = (value: unknown, holds: (value: unknown) => boolean) => value === undefined || holds(value)
const isText = (value: unknown) => typeof value === 'string'
const isTextList = (value: unknown) => Array.isArray(value) && value.every(isText)
const within = (min: number, max: number) => (value: unknown) =>
  typeof value === 'number' && value >= min && value <= max

/** Mistakes that APNs accepts and the device does not show or obey; refused with the option `strict`. */
export function findHiddenMistake(
  notification: Notification,
  pushType: string | undefined,
): string | undefined {
  const { aps } = notification
  if (pushType === 'fileprovider') return findFileProviderMistake(notification)
  if (!isObject(aps)) return 'aps is missing'
  if (pushType === 'liveactivity') return findActivityMistake(aps)
  if (aps.badge !== undefined && !Number.isSafeInteger(aps.badge)) return 'badge is not an integer'
  if (pushType === 'background' && aps['content-available'] !== 1)
    return 'a background push has no content-available 1'
  if ((pushType === 'widgets' || pushType === 'controls') && aps['content-changed'] !== true)
    return `a push of the type ${pushType} has no content-changed true`
  if (pushType !== undefined && pushType !== 'alert') {
    const shown = ['alert', 'badge', 'sound', 'interruption-level'].find((key) => aps[key] !== undefined)
    if (shown) return `a push of the type ${pushType} has ${shown}`
    return undefined
  }
  return findAlertMistake(aps)
}

function findFileProviderMistake(notification: Notification): string | undefined {
  const { aps, domain, 'container-identifier': container } = notification as Aps
  if (aps !== undefined) return 'a push of the type fileprovider has aps'
  return isText(domain) && isText(container) ? undefined : 'domain or container-identifier is missing'
}

function findAlertMistake(aps: Aps): string | undefined {
  const levels = ['passive', 'active', 'time-sensitive', 'critical']
  if (!optional(aps['interruption-level'], (level) => levels.includes(String(level))))
    return 'interruption-level is unknown'
  if (!optional(aps['relevance-score'], within(0, 1))) return 'relevance-score is not in 0..1'
  for (const key of ['target-content-id', 'filter-criteria', 'thread-id', 'category'])
    if (!optional(aps[key], isText)) return `${key} is not a string`
  const { sound } = aps
  if (isObject(sound)) {
    if (sound.critical !== 1) return 'critical of the sound is not the number 1'
    if (!isText(sound.name) || !within(0, 1)(sound.volume)) return 'name or volume of the sound is wrong'
  } else if (!optional(sound, isText)) return 'sound is not a string'
  if (!isObject(aps.alert)) return optional(aps.alert, isText) ? undefined : 'alert is not an object'
  for (const [args, key] of [
    ['title-loc-args', 'title-loc-key'],
    ['loc-args', 'loc-key'],
  ] as const)
    if (aps.alert[args] !== undefined && !(isTextList(aps.alert[args]) && isText(aps.alert[key])))
      return `${args} are not strings, or ${key} is missing`
  return undefined
}

const activityKeys: ReadonlySet<string> = new Set([
  'timestamp',
  'event',
  'content-state',
  'stale-date',
  'dismissal-date',
  'relevance-score',
  'alert',
  'attributes-type',
  'attributes',
  'input-push-token',
  'input-push-channel',
])

function findActivityMistake(aps: Aps): string | undefined {
  const { event, alert } = aps
  const foreign = Object.keys(aps).find((key) => !activityKeys.has(key))
  if (foreign) return `${foreign} is not a key of a Live Activity`
  if (!isSeconds(aps.timestamp)) return 'timestamp is missing or not in seconds'
  if (!['start', 'update', 'end'].includes(String(event))) return 'event is not start, update or end'
  if (event !== 'end' && !isObject(aps['content-state'])) return 'content-state is missing'
  if (!optional(aps['stale-date'], isSeconds)) return 'stale-date is not in seconds'
  if (!optional(aps['dismissal-date'], (value) => event === 'end' && isSeconds(value)))
    return 'dismissal-date is not in seconds, or the event is not end'
  if (!optional(aps['relevance-score'], within(0, Number.MAX_VALUE))) return 'relevance-score is not a number'
  const isStart = event === 'start'
  if (isStart !== isText(aps['attributes-type']) || isStart !== isObject(aps.attributes))
    return 'attributes and attributes-type belong to start, which needs both'
  if (isStart && !isObject(alert)) return 'start has no alert'
  if (isObject(alert) && (alert.title === undefined || alert.body === undefined))
    return 'the alert has no title or body'
  return undefined
}

/** The event of a Live Activity that a device would ignore, because it has seen a later one or the end. */
export function openActivityOrder() {
  const last = new Map<string, { timestamp: number; ended: boolean }>()
  return {
    /** Returns whether the device would show it. */
    note(token: string, aps: unknown): boolean {
      const { timestamp, event } = aps as { timestamp: number; event: string }
      // A token to start activities serves many of them.
      if (event === 'start') return true
      const before = last.get(token)
      if (before && (before.ended || timestamp < before.timestamp)) return false
      last.set(token, { timestamp, ended: event === 'end' })
      return true
    },
    clear: () => last.clear(),
  }
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
