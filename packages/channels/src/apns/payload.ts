import { createHash } from 'node:crypto'
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
  const silent = task.message.type === 'cmd'
  const halves = fitHalves(task)
  if (!halves)
    return { unsupported: `the payload exceeds APNs' limit of ${maxBytes} bytes even with its texts cut` }
  return {
    pushType: silent ? 'background' : 'alert',
    priority: silent ? '5' : '10',
    expiration: expirationOf(task),
    collapseId: collapseIdOf(task),
    ...halves.written,
  }
}

/** What is left out of the message. */
export function notes(task: Task): string[] {
  const dropped = task.message.attachmentUrl !== undefined && fitHalves(task)?.attached === false
  return dropped ? [`The picture is left out, because the payload would exceed ${maxBytes} bytes.`] : []
}

/** A header value is at most 64 printable ASCII characters. Of any other id the hash is sent, which replaces notifications as well. */
function collapseIdOf({ taskId, message }: Task): string {
  const id = message.ios.apnsCollapseId ?? `t${taskId}`
  return /^[!-~]([ -~]{0,62}[!-~])?$/.test(id) ? id : createHash('sha256').update(id).digest('hex')
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

/** Leaves out the attachment's URL first, then cuts the body, the subtitle and the title. */
function fitHalves(task: Task): { written: Halves; attached: boolean } | undefined {
  const texts = textsOf(task)
  const size = (candidate: Texts, attached: boolean) =>
    Buffer.byteLength(writeNotification(task, candidate, attached)) + badgeBytes
  const attached = size(texts, true) <= maxBytes
  const order = ['body', 'subtitle', 'title'] as const
  const fitted = fitTexts(texts, order, (candidate) => size(candidate, attached), maxBytes)
  if (!fitted) return undefined
  const text = writeNotification(task, fitted, attached)
  return { written: { beforeBadge: opening, afterBadge: text.slice(opening.length) }, attached }
}

function textsOf({ message, applicationName }: Task): Texts {
  const { title = '', ios } = message
  const { subtitle = '' } = ios
  const body = message.body ?? message.bigText ?? ''
  // iOS runs the extension that loads the picture for visible alerts only.
  const textless = message.type === 'image' && !title && !body && !subtitle
  return { title: textless ? applicationName : title, subtitle, body }
}

function writeNotification(task: Task, texts: Texts, attached: boolean): string {
  const { message } = task
  const attachmentUrl = attached ? message.attachmentUrl : undefined
  const custom = {
    task_id: String(task.taskId),
    attachment_url: attachmentUrl,
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
  return JSON.stringify({ aps: apsOf(message, texts, attachmentUrl), ...custom })
}

function apsOf(message: Message, texts: Texts, attachmentUrl: string | undefined): object {
  const { ios } = message
  const alert = {
    title: texts.title || undefined,
    subtitle: texts.subtitle || undefined,
    body: texts.body || undefined,
  }
  const visible = texts.title || texts.subtitle || texts.body
  return {
    alert: visible ? alert : undefined,
    sound: ios.sound,
    'content-available': ios.contentAvailable ? 1 : undefined,
    'mutable-content': ios.mutableContent || attachmentUrl !== undefined ? 1 : undefined,
    category: ios.category,
    'thread-id': ios.threadId,
  }
}

function expirationOf(task: Task): string {
  const seconds = timeLeft(task, { min: 0, max: maxTtl })
  return seconds > 0 ? String(task.now + seconds) : '0'
}
