import { androidView, type Click, type Message, replaceKey, titleAndBody } from '@herald/domain'
import { isUnsupported, type Task, type Unsupported } from '../channel.ts'
import { fittingData, passThroughData, timeLeft } from '../shared/payload-parts.ts'
import { cutCodePoints } from '../shared/texts.ts'
import type { XiaomiSettings } from './settings.ts'

/** Form fields of a request, without the recipients. */
export type XiaomiPayload = {
  fields: Readonly<Record<string, string>>
  /** Where the channel comes from: an unknown one is an error of the message or of the certificate. */
  channelFrom: 'message' | 'certificate'
}

/** Limits of https://dev.mi.com/xiaomihyperos/documentation/detail?pId=1559; lengths of texts in characters. */
const maxTitle = 49
const maxDescription = 127
const maxPayloadBytes = 4095
const maxCallbackBytes = 128
const dayS = 86_400
/** Private messages (class `service`) are stored longer than public ones. */
const maxSeconds = { service: 10 * dayS, marketing: dayS } as const
/** Sum of delivered 1, clicked 2, target invalid 16, push disabled 32, filter not met 64, quota exceeded 128. */
const receiptTypes = 1 + 2 + 16 + 32 + 64 + 128

export function mapPayload(task: Task, settings: XiaomiSettings): XiaomiPayload | Unsupported {
  const { message } = task
  const content = message.type === 'cmd' ? passThrough(settings) : notification(task, settings)
  if (isUnsupported(content)) return content
  const payload = payloadOf(task)
  if (payload === undefined) return { unsupported: `Xiaomi accepts at most ${maxPayloadBytes} bytes of ext` }
  const channel = channelOf(task, settings)
  return {
    channelFrom: message.xiaomi.channelId ? 'message' : 'certificate',
    fields: {
      restricted_package_name: settings.packageName,
      ...content,
      payload,
      notify_id: String(replaceKey(task.taskId)),
      // In base 36 a task id fits into the 12 characters that the older documentation allows.
      'extra.jobkey': task.taskId.toString(36),
      ...lifetime(task),
      ...channel,
      ...receipts(task),
    },
  }
}

/** The daily quota is per channel. */
export function quotaClass({ fields }: XiaomiPayload): string {
  return fields['extra.channel_id'] ?? ''
}

function passThrough(settings: XiaomiSettings): Record<string, string> | Unsupported {
  return settings.passThrough
    ? { pass_through: '1' }
    : { unsupported: 'Xiaomi has discontinued pass-through messages (extra.pass_through is off)' }
}

function notification(task: Task, settings: XiaomiSettings): Record<string, string> | Unsupported {
  const { message } = task
  const texts = titleAndBody(message, task.applicationName)
  if (!texts?.title.trim() || !texts.body.trim())
    return { unsupported: 'Xiaomi needs a title and a description, but all texts are blank' }
  const view = androidView(message, 'xiaomi')
  const style = styleOf(message, settings)
  const description = style['extra.notification_style_type'] === '1' ? message.bigText! : texts.body
  return {
    pass_through: '0',
    title: cutCodePoints(texts.title, maxTitle),
    description: cutCodePoints(description, maxDescription),
    ...click(view.click),
    ...style,
    ...(view.sound ? { 'extra.sound_uri': soundUri(view.sound, settings.packageName) } : {}),
  }
}

/** Without notify_effect it would be a “custom notification”, which Xiaomi has discontinued. */
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

/** Phones load only pictures uploaded to Xiaomi; with any other picture the text is sent alone. */
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

/** The data for the app as JSON; undefined when it is too long. */
function payloadOf(task: Task): string | undefined {
  const fits = (text: string) => Buffer.byteLength(text) <= maxPayloadBytes
  if (task.message.type !== 'cmd') return fittingData(task, JSON.stringify, fits)
  const whole = JSON.stringify(passThroughData(task))
  return fits(whole) ? whole : undefined
}

function lifetime(task: Task): Record<string, string> {
  const seconds = timeLeft(task, { min: 0, max: maxSeconds[task.messageClass] })
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
  // With a longer URL the whole push would fail; without it only the receipts are missing.
  if (!callbackUrl || Buffer.byteLength(callbackUrl) > maxCallbackBytes) return {}
  return {
    'extra.callback': callbackUrl,
    'extra.callback.param': String(taskId),
    'extra.callback.type': String(receiptTypes),
  }
}
