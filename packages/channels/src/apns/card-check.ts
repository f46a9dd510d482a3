import type { CheckFields } from '../card.ts'
import { type PushType, pushTypeRules } from './card-push-types.ts'

type Fields = Readonly<Record<string, unknown>>
type Problem = { field: string; problem: string }

/** Fields of an alert, which other push types must not have. */
const alertFields = [
  'sound',
  'critical',
  'interruption_level',
  'relevance_score',
  'target_content_id',
  'filter_criteria',
  'title_loc_key',
  'title_loc_args',
  'loc_key',
  'loc_args',
  'subtitle',
  'category',
  'thread_id',
  'mutable_content',
]
/** Those of them that a cmd message always accepted and ignored. */
const ignoredByCmd: ReadonlySet<string> = new Set([
  'sound',
  'subtitle',
  'category',
  'thread_id',
  'mutable_content',
])

/** Combinations of the fields of `ios` that APNs or the device refuses. */
export const checkFields: CheckFields = (ios, message) =>
  checkLiveActivity(ios, message) ??
  checkPushType(ios, message) ??
  checkPriority(ios, message) ??
  checkAlert(ios)

function typeOf(ios: Fields, message: Fields): PushType {
  if (typeof ios.push_type === 'string') return ios.push_type as PushType
  if (ios.live_activity !== undefined) return 'liveactivity'
  return message.type === 'cmd' ? 'background' : 'alert'
}

function checkPushType(ios: Fields, message: Fields): Problem | undefined {
  const { push_type: named } = ios
  const type = typeOf(ios, message)
  if (named === 'alert' && message.type === 'cmd')
    return { field: 'push_type', problem: 'cannot be alert if type is cmd' }
  if (type === 'fileprovider' && !isText(message.ext, 'domain'))
    return {
      field: 'push_type',
      problem: 'cannot be fileprovider without ext.domain, the domain that changed',
    }
  if (named === 'background' && message.type !== 'cmd') {
    const shown = ['title', 'body', 'big_text'].find((name) => message[name] !== undefined)
    if (shown) return { field: 'push_type', problem: `cannot be background if ${shown} is set` }
  }
  if (type === 'alert') return undefined
  const wrong = fieldsOfOthers(type).find(
    (field) =>
      ios[field] !== undefined &&
      !(type === 'liveactivity' && field === 'relevance_score') &&
      (named !== undefined || type === 'liveactivity' || !ignoredByCmd.has(field)),
  )
  if (wrong === undefined) return undefined
  return { field: wrong, problem: `cannot be set if ${sourceOf(type, named)}` }
}

/** Background pushes have content-available, whatever the caller says. */
function fieldsOfOthers(type: PushType): readonly string[] {
  return type === 'background' ? alertFields : [...alertFields, 'content_available']
}

/** The field from which the push type follows. */
function sourceOf(type: PushType, named: unknown): string {
  if (named !== undefined) return `ios.push_type is ${named}`
  return type === 'liveactivity' ? 'ios.live_activity is set' : 'type is cmd'
}

function checkPriority(ios: Fields, message: Fields): Problem | undefined {
  const { priority } = ios
  if (typeof priority !== 'number') return undefined
  const type = typeOf(ios, message)
  const allowed: readonly number[] = pushTypeRules[type].priorities
  if (!allowed.includes(priority))
    return {
      field: 'priority',
      problem: `must be ${allowed.join(' or ')} if ${sourceOf(type, ios.push_type)}`,
    }
  if (message.urgent === true && priority !== 10 && allowed.includes(10))
    return { field: 'priority', problem: 'must be 10 if urgent is true' }
  return undefined
}

function checkAlert(ios: Fields): Problem | undefined {
  if (ios.title_loc_args !== undefined && ios.title_loc_key === undefined)
    return { field: 'title_loc_args', problem: 'cannot be set without ios.title_loc_key' }
  if (ios.loc_args !== undefined && ios.loc_key === undefined)
    return { field: 'loc_args', problem: 'cannot be set without ios.loc_key' }
  const level = ios.interruption_level
  if (ios.critical !== undefined && level !== undefined && level !== 'critical')
    return { field: 'critical', problem: `cannot be set if ios.interruption_level is ${level}` }
  if (ios.sound !== undefined && (ios.critical as Fields | undefined)?.name !== undefined)
    return { field: 'sound', problem: 'cannot be set beside ios.critical.name' }
  if (Number(ios.relevance_score) > 1 && ios.live_activity === undefined)
    return { field: 'relevance_score', problem: 'must be at most 1 without ios.live_activity' }
  return undefined
}

function checkLiveActivity(ios: Fields, message: Fields): Problem | undefined {
  const { push_type: named } = ios
  const activity = ios.live_activity as Fields | undefined
  if (!activity)
    return named === 'liveactivity'
      ? { field: 'push_type', problem: 'cannot be liveactivity without ios.live_activity' }
      : undefined
  const refuse = (problem: string) => ({ field: 'live_activity', problem })
  if (named !== undefined && named !== 'liveactivity')
    return refuse(`cannot be set if ios.push_type is ${named}`)
  if (message.type !== undefined && message.type !== 'text')
    return refuse(`cannot be set if type is ${message.type}`)
  const { event } = activity
  if (event !== 'start') {
    const text = ['title', 'body', 'big_text', 'attachment_url'].find((name) => message[name] !== undefined)
    if (text) return refuse(`cannot be sent with ${text} if its event is ${event}; use live_activity.alert`)
  }
  return checkEvent(activity, String(event), refuse)
}

function checkEvent(activity: Fields, event: string, refuse: (problem: string) => Problem) {
  if (event !== 'end' && activity.content_state === undefined)
    return refuse(`needs content_state if its event is ${event}`)
  if (event !== 'end' && activity.dismissal_date !== undefined)
    return refuse(`cannot have dismissal_date if its event is ${event}`)
  const alert = activity.alert as Fields | undefined
  if (alert && (alert.title === undefined || alert.body === undefined))
    return refuse('needs both title and body in its alert')
  if (event === 'start') {
    // Attributes without fields are blank.
    const missing = ['attributes_type', 'alert'].find((name) => activity[name] === undefined)
    return missing ? refuse(`needs ${missing} if its event is start`) : undefined
  }
  const extra = ['attributes_type', 'attributes'].find((name) => activity[name] !== undefined)
  return extra ? refuse(`cannot have ${extra} if its event is ${event}`) : undefined
}

function isText(value: unknown, key: string): boolean {
  const found = typeof value === 'object' && value !== null ? (value as Fields)[key] : undefined
  return typeof found === 'string' && found.trim() !== ''
}
