import { type Message, parseVerbatim } from '@herald/domain'
import type { Task, Unsupported } from '../channel.ts'
import { timeLeft } from '../shared/payload-parts.ts'
import { fitTexts } from '../shared/texts.ts'

/** One notification for all recipients of a task; the transport adds token, topic and badge. */
export type ApnsPayload = {
  pushType: 'alert' | 'background'
  priority: '10' | '5'
  /** Unix seconds; 0 = try once, store nothing. */
  expiration: string
  collapseId: string
  /** The JSON before and after the place of the badge. */
  beforeBadge: string
  afterBadge: string
}

// https://developer.apple.com/documentation/usernotifications/generating-a-remote-notification
const maxBytes = 4096
const maxTtl = 30 * 86_400
/** Bytes of the largest possible badge. */
const badgeBytes = `"badge":${Number.MAX_SAFE_INTEGER},`.length

export function mapPayload(task: Task): ApnsPayload | Unsupported {
  const collapseId = task.message.ios.apnsCollapseId ?? `t${task.taskId}`
  if (!/^[!-~]([ -~]{0,62}[!-~])?$/.test(collapseId))
    return { unsupported: 'ios.apns_collapse_id must be at most 64 printable ASCII characters on APNs' }
  const silent = task.message.type === 'cmd'
  const halves = fitHalves(task)
  if (!halves)
    return { unsupported: `the payload exceeds APNs' limit of ${maxBytes} bytes even with its texts cut` }
  return {
    pushType: silent ? 'background' : 'alert',
    priority: silent ? '5' : '10',
    expiration: expirationOf(task),
    collapseId,
    ...halves,
  }
}

/** The JSON of one recipient's badge. A silent push must not contain one. */
export function badgeSlot({ pushType, afterBadge }: ApnsPayload, badge: number | undefined): string {
  if (badge === undefined || pushType === 'background') return ''
  return afterBadge.startsWith('}') ? `"badge":${badge}` : `"badge":${badge},`
}

/** The whole body for one recipient. */
export function bodyOf(payload: ApnsPayload, badge: number | undefined): string {
  return payload.beforeBadge + badgeSlot(payload, badge) + payload.afterBadge
}

/** Empty strings for missing texts. */
type Texts = Readonly<Record<'title' | 'subtitle' | 'body', string>>
type Halves = Pick<ApnsPayload, 'beforeBadge' | 'afterBadge'>

const opening = '{"aps":{'

/** Cuts the body first, then the subtitle, then the title. */
function fitHalves(task: Task): Halves | undefined {
  const size = (candidate: Texts) => Buffer.byteLength(writeNotification(task, candidate)) + badgeBytes
  const fitted = fitTexts(textsOf(task), ['body', 'subtitle', 'title'], size, maxBytes)
  if (!fitted) return undefined
  return { beforeBadge: opening, afterBadge: writeNotification(task, fitted).slice(opening.length) }
}

function textsOf({ message, applicationName }: Task): Texts {
  const { title = '', ios } = message
  const { subtitle = '' } = ios
  const body = message.body ?? message.bigText ?? ''
  // iOS runs the extension that loads the picture for visible alerts only.
  const textless = message.type === 'image' && !title && !body && !subtitle
  return { title: textless ? applicationName : title, subtitle, body }
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
  const seconds = timeLeft(task, { min: 0, max: maxTtl })
  return seconds > 0 ? String(task.now + seconds) : '0'
}
