import { type Message, parseVerbatim } from '@herald/domain'
import type { Recipient, Task, Unsupported } from '../channel.ts'
import { alertAps, collapseHeader, cutOrder, type IosTexts, iosTexts } from '../shared/ios-alert.ts'
import { bigTextOfCommand, timeLeft } from '../shared/payload-parts.ts'
import { replaceText } from '../shared/replace-key.ts'
import { fitTexts } from '../shared/texts.ts'
import { leavingOutExt } from '../shared/too-large.ts'
import { type Priority, type PushType, pushTypeRules, usesDeviceToken } from './card-push-types.ts'
import { writeActivity } from './live-activity.ts'
import type { ApnsSettings } from './settings.ts'

/** One notification for all recipients of a task; the transport adds token, topic and what differs by recipient: badge or timestamp. */
export type ApnsPayload = {
  pushType: PushType
  priority: `${Priority}`
  /** Unix seconds; 0 = try once, store nothing. */
  expiration: string
  collapseId?: string
  /** The JSON before and after the place of the badge or timestamp. */
  beforeBadge: string
  afterBadge: string
  /** Of a Live Activity: `aps.timestamp` of recipients that have none of their own. */
  timestamp?: number
}

const maxTtl = 30 * 86_400
/** Bytes of the largest possible badge. */
const badgeBytes = `"badge":${Number.MAX_SAFE_INTEGER},`.length
/** Bytes of a timestamp. */
const timestampBytes = '"timestamp":253402300799,'.length

type Auth = Pick<ApnsSettings, 'auth'>
const mapWithExt = leavingOutExt(mapMessage)

export function mapPayload(task: Task, settings?: Auth): ApnsPayload | Unsupported {
  return mapWithExt(task, settings)
}

function mapMessage(task: Task, settings?: Auth): ApnsPayload | Unsupported {
  const pushType = pushTypeOf(task.message)
  const { maxBytes, tokenOnly, online } = pushTypeRules[pushType]
  if (tokenOnly && settings?.auth.kind === 'certificate')
    return { unsupported: `APNs takes pushes of the type ${pushType} with a signing key (.p8) only` }
  const body = bodyParts(task, pushType)
  if (!body)
    return {
      unsupported: `the payload exceeds APNs' limit of ${maxBytes} bytes`,
      // Of types that show nothing, ext is the content.
      ...((pushType === 'alert' || pushType === 'liveactivity') && { tooLarge: true as const }),
    }
  return {
    pushType,
    priority: `${priorityOf(task.message, pushType)}`,
    expiration: online ? '0' : expirationOf(task),
    ...(mayCollapse(task.message) && { collapseId: collapseIdOf(task) }),
    ...body,
  }
}

function bodyParts(
  task: Task,
  pushType: PushType,
): Pick<ApnsPayload, 'beforeBadge' | 'afterBadge' | 'timestamp'> | undefined {
  const { liveActivity } = task.message.ios
  if (!liveActivity) return fitHalves(task, pushType)
  const written = writeActivity(task, liveActivity)
  const size = Buffer.byteLength(written.beforeBadge + written.afterBadge) + timestampBytes
  return size > pushTypeRules[pushType].maxBytes ? undefined : written
}

export function pushTypeOf({ type, ios }: Message): PushType {
  if (ios.pushType) return ios.pushType
  if (ios.liveActivity) return 'liveactivity'
  return type === 'cmd' ? 'background' : 'alert'
}

function priorityOf({ ios, urgent }: Message, pushType: PushType): Priority {
  const { priorities } = pushTypeRules[pushType]
  if (ios.priority) return ios.priority
  // An alert of a Live Activity that arrives late is of no use; a device that starts one has none to update.
  const isSoon = urgent || ios.liveActivity?.event === 'start' || ios.liveActivity?.alert !== undefined
  return isSoon && priorities.includes(10) ? 10 : priorities[0]
}

/**
 * A push without a reply is sent again, and with the same id the two merge. An update or the end of a Live Activity has an id only if the
 * caller gave one: its timestamp makes the second harmless, and a device may show several activities that the push is for.
 */
function mayCollapse({ ios, collapseKey }: Message): boolean {
  const { liveActivity, apnsCollapseId } = ios
  if (liveActivity === undefined || liveActivity.event === 'start') return true
  return apnsCollapseId !== undefined || collapseKey !== undefined
}

/** What APNs does not apply of the message. */
export function notes(task: Task): string[] {
  const pushType = pushTypeOf(task.message)
  const { priorities } = pushTypeRules[pushType]
  const found: string[] = []
  if (task.message.urgent && !priorities.includes(10))
    found.push(`APNs sends pushes of the type ${pushType} with priority 5 only, so urgent changes nothing.`)
  if (!usesDeviceToken(pushType) && pushType !== 'liveactivity')
    found.push(
      `It is sent to the token that is bound to the device, which must be one of the type ${pushType}: an ordinary token is refused.`,
    )
  return found
}

function collapseIdOf(task: Task): string {
  return collapseHeader(task.message.ios.apnsCollapseId ?? replaceText(task))
}

/** The JSON that differs by recipient: the badge, which only an alert may contain, or the timestamp of a Live Activity. */
export function slotOf(payload: ApnsPayload, { badge, timestamp }: Slotted): string {
  const { pushType, afterBadge } = payload
  if (pushType === 'liveactivity') return `"timestamp":${timestamp ?? payload.timestamp},`
  if (badge === undefined || pushType !== 'alert') return ''
  return afterBadge.startsWith('}') ? `"badge":${badge}` : `"badge":${badge},`
}
type Slotted = Pick<Recipient, 'badge' | 'timestamp'>

/** The whole body for one recipient. */
export function bodyOf(payload: ApnsPayload, badge: number | undefined, timestamp?: number): string {
  return payload.beforeBadge + slotOf(payload, { badge, timestamp }) + payload.afterBadge
}

type Halves = Pick<ApnsPayload, 'beforeBadge' | 'afterBadge'>

const opening = '{"aps":{'

/** Leaves out the attachment's URL first, then cuts the body, the subtitle and the title. Nothing of a command is cut: all of it is data. */
function fitHalves(task: Task, pushType: PushType): Halves | undefined {
  const { maxBytes } = pushTypeRules[pushType]
  const texts = iosTexts(task.message, task.applicationName, pushType === 'alert')
  const whole = writeNotification(task, pushType, texts, true)
  // Usually all of it fits, and nothing has to be written a second time. A UTF-16 unit has at most three bytes.
  if (whole.length * 3 + badgeBytes <= maxBytes || Buffer.byteLength(whole) + badgeBytes <= maxBytes)
    return halvesOf(whole)
  if (task.message.type === 'cmd') return undefined
  const size = (candidate: IosTexts) =>
    Buffer.byteLength(writeNotification(task, pushType, candidate, false)) + badgeBytes
  const fitted = fitTexts(texts, cutOrder, size, maxBytes)
  return fitted && halvesOf(writeNotification(task, pushType, fitted, false))
}

function halvesOf(text: string): Halves {
  // A type without `aps` has no badge either, so nothing has to be inserted.
  return text.startsWith(opening)
    ? { beforeBadge: opening, afterBadge: text.slice(opening.length) }
    : { beforeBadge: '', afterBadge: text }
}

function writeNotification(task: Task, pushType: PushType, texts: IosTexts, attached: boolean): string {
  const { message } = task
  const attachmentUrl = attached ? message.attachmentUrl : undefined
  const ext = message.ext === undefined ? undefined : parseVerbatim(message.ext)
  const task_id = String(task.taskId)
  if (pushType === 'fileprovider')
    return JSON.stringify({ 'container-identifier': workingSet, ...(ext as object), task_id })
  const custom = {
    task_id,
    attachment_url: attachmentUrl,
    show_end_time: message.showEnd,
    url: message.url,
    foreground: message.foreground,
    ext,
  }
  if (pushType === 'alert') return JSON.stringify({ aps: alertAps(message, texts, attachmentUrl), ...custom })
  return JSON.stringify({
    aps: silentAps[pushType] ?? {},
    ...custom,
    title: texts.title || undefined,
    body: texts.body || undefined,
    big_text: bigTextOfCommand(message),
  })
}

/** The only container that the file provider extensions of today have. */
const workingSet = 'NSFileProviderWorkingSetContainerItemIdentifier'

/** The content of `aps` in types that show nothing; the others have none. */
const silentAps: Readonly<Partial<Record<PushType, object>>> = {
  background: { 'content-available': 1 },
  widgets: { 'content-changed': true },
  controls: { 'content-changed': true },
}

function expirationOf(task: Task): string {
  const seconds = timeLeft(task, { min: 0, max: maxTtl })
  return seconds > 0 ? String(task.now + seconds) : '0'
}
