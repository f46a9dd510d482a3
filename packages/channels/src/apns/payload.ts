import { type Message, parseVerbatim } from '@herald/domain'
import type { Task, Unsupported } from '../channel.ts'
import { fitTexts } from '../shared/fit-texts.ts'
import { timeLeft } from '../shared/time-left.ts'

/** One notification for all recipients of a task; the transport adds token, topic and badge. */
export type ApnsPayload = {
  pushType: 'alert' | 'background'
  priority: '10' | '5'
  /** Unix seconds; 0 = try once, store nothing. */
  expiration: string
  collapseId: string
  /** The JSON text up to where a badge goes, and after it. */
  beforeBadge: string
  afterBadge: string
}

// https://developer.apple.com/documentation/usernotifications/generating-a-remote-notification
const mostBytes = 4096
const mostTtl = 30 * 86_400
/** `"badge":` and a comma around the largest number a device's badge can reach. */
const badgeRoom = `"badge":${Number.MAX_SAFE_INTEGER},`.length

export function mapPayload(task: Task): ApnsPayload | Unsupported {
  const collapseId = task.message.ios.apnsCollapseId ?? `t${task.taskId}`
  if (!/^[!-~]([ -~]{0,62}[!-~])?$/.test(collapseId))
    return { unsupported: 'ios.apns_collapse_id must be at most 64 printable ASCII characters on APNs' }
  const silent = task.message.type === 'cmd'
  const halves = fitHalves(task)
  if (!halves)
    return { unsupported: `the payload is over ${mostBytes} bytes on APNs, even with its texts cut` }
  return {
    pushType: silent ? 'background' : 'alert',
    priority: silent ? '5' : '10',
    expiration: expirationOf(task),
    collapseId,
    ...halves,
  }
}

/** What one recipient's badge puts between the halves. A silent push must not carry one, whatever the recipient has. */
export function badgeSlot({ pushType, afterBadge }: ApnsPayload, badge: number | undefined): string {
  if (badge === undefined || pushType === 'background') return ''
  return afterBadge.startsWith('}') ? `"badge":${badge}` : `"badge":${badge},`
}

/** The whole body for one recipient. */
export function bodyOf(payload: ApnsPayload, badge: number | undefined): string {
  return payload.beforeBadge + badgeSlot(payload, badge) + payload.afterBadge
}

/** Blank where there is none. */
type Texts = Readonly<Record<'title' | 'subtitle' | 'body', string>>
type Halves = Pick<ApnsPayload, 'beforeBadge' | 'afterBadge'>

const opening = '{"aps":{'

/** The body gives way first, then the subtitle, then the title. */
function fitHalves(task: Task): Halves | undefined {
  const size = (candidate: Texts) => Buffer.byteLength(writeNotification(task, candidate)) + badgeRoom
  const fitted = fitTexts(textsOf(task), ['body', 'subtitle', 'title'], size, mostBytes)
  if (!fitted) return undefined
  return { beforeBadge: opening, afterBadge: writeNotification(task, fitted).slice(opening.length) }
}

function textsOf({ message, applicationName }: Task): Texts {
  const { title = '', ios } = message
  const { subtitle = '' } = ios
  const body = message.body ?? message.bigText ?? ''
  // The service extension that fetches the picture runs for visible alerts only.
  const nameless = message.type === 'image' && !title && !body && !subtitle
  return { title: nameless ? applicationName : title, subtitle, body }
}

function writeNotification(task: Task, texts: Texts): string {
  const { message } = task
  const custom = {
    task_id: String(task.taskId),
    attachment_url: message.attachmentUrl,
    show_end_time: message.showEnd,
    ext: message.ext === undefined ? undefined : parseVerbatim(message.ext),
  }
  if (message.type === 'cmd')
    return JSON.stringify({
      aps: { 'content-available': 1 },
      ...custom,
      title: texts.title || undefined,
      body: texts.body || undefined,
    })
  return JSON.stringify({ aps: apsOf(message, texts), ...custom })
}

function apsOf(message: Message, texts: Texts): object {
  const { ios } = message
  const alert = {
    title: texts.title || undefined,
    subtitle: texts.subtitle || undefined,
    body: texts.body || undefined,
  }
  const visible = texts.title || texts.subtitle || texts.body
  const attached = message.type === 'image' || message.attachmentUrl !== undefined
  return {
    alert: visible ? alert : undefined,
    sound: ios.sound,
    'content-available': ios.contentAvailable ? 1 : undefined,
    'mutable-content': ios.mutableContent || attached ? 1 : undefined,
    category: ios.category,
    'thread-id': ios.threadId,
  }
}

function expirationOf(task: Task): string {
  const seconds = timeLeft(task, { least: 0, most: mostTtl })
  return seconds > 0 ? String(task.now + seconds) : '0'
}
