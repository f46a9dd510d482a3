import { androidView, type Click, type MessageClass, titleAndBody } from '@herald/domain'
import type { ClassifiedTask, Task, Unsupported } from '../channel.ts'
import { isWebPage, viewIntent } from '../shared/intent-uri.ts'
import {
  type AttachmentPlace,
  attachmentPlace,
  clampBadge,
  clientData,
  passThroughData,
  timeLeft,
} from '../shared/payload-parts.ts'
import { replaceNumber } from '../shared/replace-key.ts'
import { fitTexts } from '../shared/texts.ts'
import { leavingOutExt } from '../shared/too-large.ts'
import type { HonorSettings } from './settings.ts'

/**
 * Request of sendMessage without `token`. Unlike in Huawei's API, names are camelCase and there is no wrapper.
 * https://developer.honor.com/cn/docs/11002/reference/downlink-message
 */
export type HonorPayload = { data: string; android: HonorAndroid }
type HonorAndroid = {
  ttl: string
  biTag: string
  targetUserType?: 0 | 1
  notification?: HonorNotification
}
export type HonorNotification = {
  title: string
  body: string
  clickAction: { type: 1; intent: string } | { type: 2; url: string } | { type: 3 }
  image?: string
  style?: 1
  bigTitle?: string
  bigBody?: string
  importance: string
  badge?: { badgeClass: string; addNum?: number; setNum?: number }
  notifyId: number
}

/** Maximum bytes of a request without its tokens. */
const maxBytes = 4096
/** No minimum is documented; one second is the closest valid value to "only if the device is online". */
const ttlBounds = { min: 1, max: 15 * 86_400 }

const noText: Unsupported = { unsupported: 'Honor needs a title or a body' }
const tooLarge: Unsupported = {
  unsupported: `the message exceeds Honor's limit of ${maxBytes} bytes`,
  tooLarge: true,
}

/** Importance is Honor's message class; the default is marketing. NORMAL needs approval in the console. */
const importanceOf: Readonly<Record<MessageClass, string>> = { service: 'NORMAL', marketing: 'LOW' }

export const mapPayload = leavingOutExt((task: Task, settings: HonorSettings) =>
  task.message.type === 'cmd' ? mapPassThrough(task, settings) : mapNotification(task, settings),
)

function mapPassThrough(task: Task, settings: HonorSettings): HonorPayload | Unsupported {
  const payload = envelope(task, settings, passThroughData(task))
  return sizeOf(payload) <= maxBytes ? payload : tooLarge
}

function mapNotification(task: Task, settings: HonorSettings): HonorPayload | Unsupported {
  const { message } = task
  const shown = titleAndBody(message, task.applicationName)
  if (!shown) return noText
  // Honor has neither custom channels nor sounds: both depend on importance.
  const { click } = androidView(message, 'honor')
  const importance = importanceIn(task, settings)
  const write = ({ title, body }: Texts, isBig: boolean, { image, inData }: AttachmentPlace) =>
    envelope(task, settings, clientData(task, { attachment_url: inData }), {
      title,
      body,
      clickAction: clickAction(click),
      image,
      ...(isBig && { style: 1, bigTitle: title, bigBody: body }),
      importance,
      badge: badgeOf(task, settings),
      notifyId: replaceNumber(task),
    })
  const fit = (texts: Texts, isBig: boolean) => {
    const whole = write(texts, isBig, attachmentPlace(message, showsPictures(importance)))
    if (sizeOf(whole) <= maxBytes) return { payload: whole, body: texts.body }
    const sizeOfCut = (tried: Texts) => sizeOf(write(tried, isBig, {}))
    const cut = fitTexts(texts, ['body', 'title'], sizeOfCut, maxBytes)
    return cut && { payload: write(cut, isBig, {}), body: cut.body }
  }
  // Honor wants the big text as body too. If it had to be cut to less than the message's own body, that one says more.
  const big = message.bigText ? fit({ title: shown.title, body: message.bigText }, true) : undefined
  if (big && big.body.length >= Math.min(shown.body.length, message.bigText!.length)) return big.payload
  return fit(shown, false)?.payload ?? tooLarge
}

type Texts = Readonly<Record<'title' | 'body', string>>

export function importanceIn({ message, messageClass }: ClassifiedTask, { classes }: HonorSettings): string {
  return message.honor.importance ?? classes[messageClass].importance ?? importanceOf[messageClass]
}

/** The class that Honor counts the message under. */
export function countedClass(task: ClassifiedTask, settings: HonorSettings): MessageClass {
  return importanceIn(task, settings) === importanceOf.marketing ? 'marketing' : 'service'
}

/** Honor refuses pictures in marketing messages. */
export function showsPictures(importance: string): boolean {
  return importance !== 'LOW'
}

function envelope(
  task: Task,
  settings: HonorSettings,
  data: object,
  notification?: HonorNotification,
): HonorPayload {
  return {
    data: JSON.stringify(data),
    android: {
      ttl: `${timeLeft(task, ttlBounds)}s`,
      biTag: String(task.taskId),
      targetUserType: settings.targetUserType,
      notification,
    },
  }
}

/** The payload with the picture's address in the data, if there is room for it; undefined if it has no picture. */
export function withoutPicture({ data, android }: HonorPayload): HonorPayload | undefined {
  if (android.notification?.image === undefined) return undefined
  const { image, ...notification } = android.notification
  const reduced = { ...android, notification }
  const moved = { data: withAddress(data, image), android: reduced }
  return sizeOf(moved) <= maxBytes ? moved : { data, android: reduced }
}

/** Numbers of `ext` keep their digits, because the text is not parsed. */
function withAddress(data: string, address: string): string {
  const first = `{"attachment_url":${JSON.stringify(address)}`
  return data === '{}' ? `${first}}` : `${first},${data.slice(1)}`
}

/** Whether the bytes include the empty token list is not documented, so it is counted. */
function sizeOf(payload: HonorPayload): number {
  return Buffer.byteLength(JSON.stringify({ ...payload, token: [] }))
}

function clickAction(click: Click): HonorNotification['clickAction'] {
  if (click.kind === 'open_app') return { type: 3 }
  if (click.kind === 'intent') return { type: 1, intent: click.intent }
  // Type 2 takes https only.
  return isWebPage(click.url) ? { type: 2, url: click.url } : { type: 1, intent: viewIntent(click.url) }
}

/** Honor needs the launcher's class together with the number. */
function badgeOf({ message }: Task, settings: HonorSettings): HonorNotification['badge'] {
  const badgeClass = message.honor.badgeClass ?? settings.badgeClass
  const badge = clampBadge(message.badge)
  if (!badgeClass || !badge) return undefined
  return badge.kind === 'set' ? { badgeClass, setNum: badge.count } : { badgeClass, addNum: badge.count }
}
