import { androidView, type Click, type Message, replaceKey, titleAndBody } from '@herald/domain'
import { isUnsupported, type Task, type Unsupported } from '../channel.ts'
import { fittingData, passThroughData } from '../shared/client-data.ts'
import { timeLeft } from '../shared/time-left.ts'
import { cutCodePoints } from '../shared/truncate.ts'
import type { XiaomiSettings } from './settings.ts'

/** Form fields of one request, but for the recipients. */
export type XiaomiPayload = {
  fields: Readonly<Record<string, string>>
  /** A channel that Xiaomi does not know is the message's fault or the certificate's. */
  channelFrom: 'message' | 'certificate'
}

/** Limits of https://dev.mi.com/xiaomihyperos/documentation/detail?pId=1559; texts count any character as one. */
const mostTitle = 49
const mostDescription = 127
const mostPayloadBytes = 4095
const mostCallbackBytes = 128
const dayS = 86_400
/** Private messages, here the class `service`, are kept longer than public ones. */
const mostSeconds = { service: 10 * dayS, marketing: dayS } as const
/** Delivered 1, clicked 2, target invalid 16, push disabled 32, filter unmet 64, quota exceeded 128: a sum. */
const receiptTypes = 1 + 2 + 16 + 32 + 64 + 128

export function mapPayload(task: Task, settings: XiaomiSettings): XiaomiPayload | Unsupported {
  const { message } = task
  const content = message.type === 'cmd' ? passThrough(settings) : notification(task, settings)
  if (isUnsupported(content)) return content
  const payload = payloadOf(task)
  if (payload === undefined) return { unsupported: `Xiaomi takes at most ${mostPayloadBytes} bytes of ext` }
  const channel = channelOf(task, settings)
  return {
    channelFrom: message.xiaomi.channelId ? 'message' : 'certificate',
    fields: {
      restricted_package_name: settings.packageName,
      ...content,
      payload,
      notify_id: String(replaceKey(task.taskId)),
      // Base 36 keeps a task id within the 12 characters that older documents allow.
      'extra.jobkey': task.taskId.toString(36),
      ...lifetime(task),
      ...channel,
      ...receipts(task),
    },
  }
}

/** The day's quota is counted by channel. */
export function quotaClass({ fields }: XiaomiPayload): string {
  return fields['extra.channel_id'] ?? ''
}

function passThrough(settings: XiaomiSettings): Record<string, string> | Unsupported {
  return settings.passThrough
    ? { pass_through: '1' }
    : { unsupported: 'Xiaomi has withdrawn pass-through messages (extra.pass_through is off)' }
}

function notification(task: Task, settings: XiaomiSettings): Record<string, string> | Unsupported {
  const { message } = task
  const texts = titleAndBody(message, task.applicationName)
  if (!texts?.title.trim() || !texts.body.trim())
    return { unsupported: 'Xiaomi needs a title and a description, and every text is blank' }
  const view = androidView(message, 'xiaomi')
  const style = styleOf(message, settings)
  const description = style['extra.notification_style_type'] === '1' ? message.bigText! : texts.body
  return {
    pass_through: '0',
    title: cutCodePoints(texts.title, mostTitle),
    description: cutCodePoints(description, mostDescription),
    ...click(view.click),
    ...style,
    ...(view.sound ? { 'extra.sound_uri': soundUri(view.sound, settings.packageName) } : {}),
  }
}

/** Without notify_effect a notice counts as a “custom notification”, which Xiaomi switched off. */
function click(click: Click): Record<string, string> {
  return click.kind === 'intent'
    ? { 'extra.notify_effect': '2', 'extra.intent_uri': click.intent }
    : { 'extra.notify_effect': '1' }
}

function styleOf(message: Message, settings: XiaomiSettings): Record<string, string> {
  const picture = message.type === 'image' ? message.attachmentUrl : undefined
  if (picture && settings.bigPicture && isHostedByXiaomi(picture))
    return { 'extra.notification_style_type': '2', 'extra.notification_bigPic_uri': picture }
  return message.bigText && settings.bigText ? { 'extra.notification_style_type': '1' } : {}
}

/** Phones load pictures only from where Xiaomi's own upload puts them; elsewhere the text goes out alone. */
function isHostedByXiaomi(url: string): boolean {
  try {
    return /(^|\.)(xiaomi\.com|mi\.com|mi-img\.com)$/.test(new URL(url).hostname)
  } catch {
    return false
  }
}

function soundUri(sound: string, packageName: string): string {
  if (/^[a-z][a-z0-9+.-]*:/i.test(sound)) return sound
  return `android.resource://${packageName}/raw/${sound.replace(/\.[a-z0-9]{1,5}$/i, '')}`
}

/** What the app reads, as text; undefined when it is too long. */
function payloadOf(task: Task): string | undefined {
  const fits = (text: string) => Buffer.byteLength(text) <= mostPayloadBytes
  if (task.message.type !== 'cmd') return fittingData(task, JSON.stringify, fits)
  const whole = JSON.stringify(passThroughData(task))
  return fits(whole) ? whole : undefined
}

function lifetime(task: Task): Record<string, string> {
  const seconds = timeLeft(task, { least: 0, most: mostSeconds[task.messageClass] })
  return seconds === 0 ? { 'extra.only_send_once': '1' } : { time_to_live: String(seconds * 1000) }
}

function channelOf({ message, messageClass }: Task, settings: XiaomiSettings): Record<string, string> {
  const own = message.xiaomi
  const forClass = settings.classes[messageClass]
  const channelId = own.channelId ?? forClass.channelId ?? settings.channelId
  const templateId = own.templateId ?? forClass.templateId
  return {
    ...(channelId ? { 'extra.channel_id': channelId } : {}),
    ...(templateId ? { 'extra.template_id': templateId } : {}),
    ...(templateId && own.templateParam ? { 'extra.template_param': own.templateParam } : {}),
  }
}

function receipts({ callbackUrl, taskId }: Task): Record<string, string> {
  // A longer address would fail the whole push; without it only the receipts are missing.
  if (!callbackUrl || Buffer.byteLength(callbackUrl) > mostCallbackBytes) return {}
  return {
    'extra.callback': callbackUrl,
    'extra.callback.param': String(taskId),
    'extra.callback.type': String(receiptTypes),
  }
}
