import { androidView, type Message } from '@herald/domain'
import { isUnsupported, type Task, type Unsupported } from '../channel.ts'
import { parseIntentUri } from '../shared/intent-uri.ts'
import { attachmentPlace, bigTextOfCommand, httpsPicture, timeLeft } from '../shared/payload-parts.ts'
import { replaceText } from '../shared/replace-key.ts'
import { fitTexts } from '../shared/texts.ts'
import { leavingOutExt } from '../shared/too-large.ts'
import { appData } from './app-data.ts'
import { type FcmApns, mapIos, unsupportedType } from './payload-ios.ts'
import type { FcmSettings } from './settings.ts'

/** The JSON of a send request before and after the token. A message may be unsupported for devices of one platform only. */
export type FcmPayload = {
  beforeToken: string
  /** What follows the token of an Android device. */
  afterToken: string | Unsupported
  /** What follows the token of an iPhone. Made when it is needed, because most batches have none. */
  ios(): string | Unsupported
  /** The message with the address of its picture in the data, in case Google refuses the picture. */
  withoutPicture?(): FcmPayload | Unsupported
}

/** The fields that Herald uses of https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages */
export type FcmMessage = {
  notification?: { title?: string; body?: string }
  data: Record<string, string>
  fcm_options?: { analytics_label: string }
  android: {
    priority: 'HIGH' | 'NORMAL'
    ttl: string
    collapse_key?: string
    restricted_package_name?: string
    notification?: AndroidNotification
  }
}
/** The same for an iPhone. */
export type FcmIosMessage = Pick<FcmMessage, 'data' | 'fcm_options'> & { apns: FcmApns }
type AndroidNotification = {
  sound?: string
  icon?: string
  color?: string
  channel_id?: string
  image?: string
  click_action?: string
  tag: string
  notification_count?: number
}

const maxTtl = 28 * 86_400
/** Google's limit is 4096 bytes of keys and values, but what it counts is not documented. */
const maxBytes = 4000

export function mapPayload(task: Task, settings: FcmSettings): FcmPayload | Unsupported {
  const afterToken = mapAndroid(task, settings)
  const ios = once(() => {
    const written = mapIos(task, undefined)
    return 'unsupported' in written ? written : tailOf({ ...written, fcm_options: optionsOf(task) })
  })
  if (isUnsupported(afterToken) && isUnsupported(ios())) return afterToken
  return {
    beforeToken: '{"message":{"token":',
    afterToken,
    ios,
    ...(httpsPicture(task.message) && {
      withoutPicture: once(() => mapPayload(withoutPicture(task), settings)),
    }),
  }
}

/** A picture without a text shows the name of the application, and so does the message that is left of it. */
function withoutPicture({ message, ...task }: Task): Task {
  const { title, body, bigText } = message
  const shown = title || body || bigText ? title : task.applicationName
  return { ...task, message: { ...message, type: 'text', title: shown } }
}

const mapAndroid = leavingOutExt((task: Task, settings: FcmSettings): string | Unsupported => {
  // All of a command is data, of which nothing is cut.
  const isCommand = task.message.type === 'cmd'
  const texts = textsOf(task)
  if (!isCommand && !texts.title && !texts.body) return { unsupported: 'FCM needs a title or a body' }
  const shown = isCommand ? task : withFittingPicture(task, settings, texts)
  const size = (candidate: Texts) => sizeOf(writeMessage(shown, settings, candidate))
  const fitted = fitTexts(texts, isCommand ? [] : ['body', 'title'], size, maxBytes)
  if (!fitted)
    return {
      unsupported: `the message exceeds FCM's limit of ${maxBytes} bytes`,
      tooLarge: true,
    }
  return tailOf(writeMessage(shown, settings, fitted))
})

function tailOf(message: FcmMessage | FcmIosMessage): string {
  return `,${JSON.stringify(message).slice(1)}}`
}

function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}

function optionsOf({ message }: Task): FcmMessage['fcm_options'] {
  const { analyticsLabel } = message.fcm
  return analyticsLabel === undefined ? undefined : { analytics_label: analyticsLabel }
}

/** What FCM does not carry of the message. */
export function notes({ message }: Task): string[] {
  const found: string[] = []
  const unsupported = unsupportedType(message)
  if (unsupported) found.push(`${unsupported}.`)
  const { click } = androidView(message, 'fcm')
  if (message.type !== 'cmd' && click.kind === 'intent')
    found.push(
      actionOf(click.intent) === undefined
        ? 'A tap opens the start page of the app: FCM opens an intent only by its action=, which this one lacks. The app can open data.intent itself.'
        : 'A tap opens the activity whose intent filter has the action= of the intent; FCM ignores its component=.',
    )
  if (message.type === 'image' && attachmentPlace(message).inData !== undefined)
    found.push('FCM shows pictures with an https address only; this one is sent in the data.')
  if (message.type !== 'cmd' && clearsBadge(message))
    found.push('FCM cannot clear the badge; the app gets data.badge "0".')
  return found
}

/** The task without its attachment if the message would be too large with it: a picture gives way to the texts. */
function withFittingPicture(task: Task, settings: FcmSettings, texts: Texts): Task {
  if (sizeOf(writeMessage(task, settings, texts)) <= maxBytes) return task
  return { ...task, message: { ...task.message, attachmentUrl: undefined } }
}

/** The whole body for one recipient. */
export function bodyOf(payload: { beforeToken: string; afterToken: string }, token: string): string {
  return payload.beforeToken + JSON.stringify(token) + payload.afterToken
}

/** Empty strings for missing texts. */
type Texts = Readonly<Record<'title' | 'body', string>>

function textsOf({ message, applicationName }: Task): Texts {
  const { title = '' } = message
  const body = message.body ?? message.bigText ?? ''
  // A picture is shown only in a notification with a text.
  const textless = message.type === 'image' && !title && !body
  return { title: textless ? applicationName : title, body }
}

function writeMessage(task: Task, settings: FcmSettings, texts: Texts): FcmMessage {
  const { message } = task
  const silent = message.type === 'cmd'
  return {
    notification: silent ? undefined : visibleOf(texts),
    data: dataOf(task, texts),
    fcm_options: optionsOf(task),
    android: {
      priority: priorityOf(message),
      collapse_key: message.fcm.collapseKey,
      ttl: `${timeLeft(task, { min: 0, max: maxTtl })}s`,
      restricted_package_name: settings.packageName,
      notification: silent ? undefined : notificationOf(task),
    },
  }
}

/** Google demotes apps whose urgent messages show nothing, so a cmd message is urgent only if the caller says so. */
function priorityOf({ type, urgent, fcm }: Message): 'HIGH' | 'NORMAL' {
  const named = fcm.priority?.toUpperCase() as 'HIGH' | 'NORMAL' | undefined
  return named ?? (type === 'cmd' && !urgent ? 'NORMAL' : 'HIGH')
}

function notificationOf(task: Task): AndroidNotification {
  const { message } = task
  const { sound, channelId, click } = androidView(message, 'fcm')
  return {
    sound: sound && resourceName(sound),
    icon: message.fcm.icon,
    color: message.fcm.color,
    channel_id: channelId,
    image: httpsPicture(message),
    click_action: click.kind === 'intent' ? actionOf(click.intent) : undefined,
    tag: replaceText(task),
    // For FCM, 0 means that the launcher counts, so a badge of 0 is sent in the data instead.
    notification_count:
      message.badge.kind === 'set' && message.badge.count > 0 ? message.badge.count : undefined,
  }
}

/** Android looks for a resource of this name in res/raw: without folder and extension, which other vendors require. */
function resourceName(sound: string): string | undefined {
  return sound.replace(/^.*\//s, '').replace(/\.[^.]*$/, '') || undefined
}

/** The only part of an intent that FCM opens. */
function actionOf(intent: string): string | undefined {
  return parseIntentUri(intent)?.fields.get('action')
}

/** All values are strings. The extras of an intent come first, so that they cannot overwrite our fields. */
function dataOf(task: Task, texts: Texts): Record<string, string> {
  const { message } = task
  const { click } = androidView(message, 'fcm')
  const data: Record<string, string> = {}
  if (click.kind === 'intent') {
    for (const { kind, name, value } of parseIntentUri(click.intent)?.extras ?? [])
      if (kind === 'S') data[unreserved(name)] = value
    data.intent = click.intent
  }
  Object.assign(data, appData(task))
  if (click.kind === 'url') data.url = click.url
  if (message.type === 'cmd') Object.assign(data, { type: 'cmd' }, visibleOf(texts))
  else if (clearsBadge(message)) data.badge = '0'
  const bigText = bigTextOfCommand(message)
  if (bigText) data.big_text = bigText
  // A picture is in the notification already, and the data counts towards the same limit.
  const { inData } = attachmentPlace(message)
  if (inData) data.attachment_url = inData
  return data
}

const reserved = /^(from|message_type)$|^google|^gcm/

/** FCM refuses messages with a reserved key, so an extra with such a name gets a prefix. */
function unreserved(key: string): string {
  return reserved.test(key) ? `x_${key}` : key
}

function clearsBadge({ badge }: Message): boolean {
  return badge.kind === 'set' && badge.count === 0
}

function visibleOf(texts: Texts): { title?: string; body?: string } {
  return { ...(texts.title ? { title: texts.title } : {}), ...(texts.body ? { body: texts.body } : {}) }
}

/** UTF-8 bytes of the data's keys and values and of the notification's texts. */
function sizeOf(message: FcmMessage): number {
  let bytes = 0
  for (const [key, value] of Object.entries(message.data))
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value)
  for (const part of [message.notification, message.android.notification])
    for (const value of Object.values(part ?? {}))
      if (value !== undefined) bytes += Buffer.byteLength(String(value))
  return bytes
}
