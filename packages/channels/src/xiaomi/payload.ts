import { androidView, type Click, type MessageClass, parseVerbatim, titleAndBody } from '@herald/domain'
import { type ClassifiedTask, isUnsupported, type Task, type Unsupported } from '../channel.ts'
import { isWebPage, viewIntent } from '../shared/intent-uri.ts'
import { asStrings, fittingData, passThroughData, timeLeft } from '../shared/payload-parts.ts'
import { replaceNumber } from '../shared/replace-key.ts'
import { cutCodePoints, cutText } from '../shared/texts.ts'
import { leavingOutExt } from '../shared/too-large.ts'
import { card } from './card.ts'
import type { XiaomiSettings } from './settings.ts'

/** Form fields of a request, without the recipients. */
export type XiaomiPayload = {
  fields: Readonly<Record<string, string>>
  /** Where channel and template come from. If the message names one, a refusal concerns this message only. */
  channelFrom: 'message' | 'certificate'
  /** Takes away the notification with the fields' notify_id. */
  withdraws?: true
}

/** Limits of https://dev.mi.com/xiaomihyperos/documentation/detail?pId=1559; those of the texts are in the card. */
const maxPayloadBytes = 4095
const maxCallbackBytes = 128
const maxTemplateValues = 9
const maxTemplateValue = 128
const dayS = 86_400
/** Messages of private channels are stored longer than others. */
const maxPrivateS = 10 * dayS
/** Vibration 2 and light 4, without sound 1. */
const silently = { notify_type: '6' }
/** Sum of delivered 1, clicked 2, target invalid 16, push disabled 32, filter not met 64, quota exceeded 128. */
const receiptTypes = 1 + 2 + 16 + 32 + 64 + 128

export const mapPayload = leavingOutExt(mapMessage)

function mapMessage(task: Task, settings: XiaomiSettings): XiaomiPayload | Unsupported {
  const { message } = task
  const content = message.type === 'cmd' ? passThrough(settings) : notification(task, settings)
  if (isUnsupported(content)) return content
  const payload = payloadOf(task)
  if (payload === undefined) return tooLarge
  const channel = channelOf(task, settings)
  if (!hasGoodTemplateValues(channel)) return badTemplateValues
  return {
    channelFrom: (message.xiaomi.channelId ?? message.xiaomi.templateId) ? 'message' : 'certificate',
    fields: {
      restricted_package_name: settings.packageName,
      ...content,
      payload,
      notify_id: String(replaceNumber(task)),
      // In base 36 a task id fits into the 12 characters that the older documentation allows.
      'extra.jobkey': task.taskId.toString(36),
      ...lifetime(task, isPrivate(channel, settings) ? maxPrivateS : dayS),
      ...channel,
      ...receipts(task),
    },
  }
}

const badTemplateValues: Unsupported = {
  unsupported: `Xiaomi takes at most ${maxTemplateValues} template values of 1 to ${maxTemplateValue} characters, without emoji and symbols`,
}

const tooLarge: Unsupported = {
  unsupported: `Xiaomi accepts at most ${maxPayloadBytes} bytes of ext`,
  tooLarge: true,
}

export function withdrawal(task: Task, settings: XiaomiSettings): XiaomiPayload | Unsupported {
  if (task.message.type === 'cmd')
    return { unsupported: 'Xiaomi withdraws notifications only, and this message is none' }
  return {
    withdraws: true,
    channelFrom: 'message',
    fields: {
      restricted_package_name: settings.packageName,
      notify_id: String(replaceNumber(task)),
    },
  }
}

/** The name of a payload's channel. The daily quota and refusals of a channel apply to it alone. */
export function channelScope({ fields, withdraws }: XiaomiPayload): string {
  if (withdraws) return 'withdrawals'
  const id = fields['extra.channel_id']
  return id === undefined ? 'messages without a channel' : `channel ${id}`
}

export function isPassThrough({ fields }: XiaomiPayload): boolean {
  return fields.pass_through === '1'
}

/** The payload without the receipt address; undefined if it has none. */
export function withoutReceipts(payload: XiaomiPayload): XiaomiPayload | undefined {
  if (!payload.fields['extra.callback']) return undefined
  const fields = Object.entries(payload.fields).filter(([name]) => !/^extra\.callback(\.|$)/.test(name))
  return { ...payload, fields: Object.fromEntries(fields) }
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
  const bigText = settings.bigText ? message.bigText : undefined
  return {
    pass_through: '0',
    title: cutText(texts.title, card.texts.title, card.texts),
    description: cutText(bigText ?? texts.body, card.texts.body, card.texts),
    ...click(view.click, settings.packageName),
    ...(message.foreground === 'hide' && { 'extra.notify_foreground': '0' }),
    ...(bigText && { 'extra.notification_style_type': '1' }),
    ...soundOf(view.sound, settings.packageName),
  }
}

/** Without notify_effect it would be a “custom notification”, which Xiaomi has discontinued. */
function click(click: Click, packageName: string): Record<string, string> {
  if (click.kind === 'open_app') return { 'extra.notify_effect': '1' }
  if (click.kind === 'url' && isWebPage(click.url))
    return { 'extra.notify_effect': '3', 'extra.web_uri': click.url }
  const intent = click.kind === 'intent' ? click.intent : viewIntent(click.url, packageName)
  return { 'extra.notify_effect': '2', 'extra.intent_uri': intent }
}

/** On Android 8 and later the notification channel decides. */
function soundOf(sound: string | undefined, packageName: string): Record<string, string> {
  if (!sound) return {}
  if (/^(none|silent)$/i.test(sound.trim())) return silently
  if (/^[a-z][a-z0-9+.-]*:/i.test(sound)) return { 'extra.sound_uri': sound }
  // Other vendors want the folder.
  const name = sound.replace(/^\/?raw\//, '').replace(/\.[a-z0-9]{1,5}$/i, '')
  return { 'extra.sound_uri': `android.resource://${packageName}/raw/${name}` }
}

/** The data for the app as JSON; undefined when it is too long. */
function payloadOf(task: Task): string | undefined {
  const fits = (text: string) => Buffer.byteLength(text) <= maxPayloadBytes
  if (task.message.type !== 'cmd') return fittingData(task, JSON.stringify, fits)
  const whole = JSON.stringify(passThroughData(task))
  return fits(whole) ? whole : undefined
}

function lifetime(task: Task, max: number): Record<string, string> {
  const seconds = timeLeft(task, { min: 0, max })
  return seconds === 0 ? { 'extra.only_send_once': '1' } : { time_to_live: String(seconds * 1000) }
}

/** Only private channels have templates, and the class `service` is sent on one. */
function isPrivate(channel: Record<string, string>, settings: XiaomiSettings): boolean {
  const id = channel['extra.channel_id']
  return id !== undefined && ('extra.template_id' in channel || id === settings.classes.service.channelId)
}

/**
 * The class that Xiaomi counts the message under: only messages of private channels are unlimited. Of a channel that the certificate names
 * for neither class only Xiaomi knows the kind, so the class of the task counts then.
 */
export function countedClass(task: ClassifiedTask, settings: XiaomiSettings): MessageClass {
  const channel = channelOf(task, settings)
  if (isPrivate(channel, settings)) return 'service'
  const id = channel['extra.channel_id']
  return id !== undefined && id === settings.classes.marketing.channelId ? 'marketing' : task.messageClass
}

function channelOf(
  { message, messageClass }: ClassifiedTask,
  settings: XiaomiSettings,
): Record<string, string> {
  const own = message.xiaomi
  const forClass = settings.classes[messageClass]
  const usual = forClass.channelId ?? settings.channelId
  const channelId = own.channelId ?? usual
  // A template belongs to a channel, so the certificate's template does not apply to another channel of the message.
  const templateId = own.templateId ?? (channelId === usual ? forClass.templateId : undefined)
  return {
    ...(channelId ? { 'extra.channel_id': channelId } : {}),
    ...(templateId ? { 'extra.template_id': templateId } : {}),
    ...(templateId && own.templateParam ? { 'extra.template_param': strings(own.templateParam) } : {}),
  }
}

/** Checked here, because Xiaomi answers bad values with the same code as any bad parameter. Rules of pId=2314. */
function hasGoodTemplateValues({ 'extra.template_param': parameters }: Record<string, string>): boolean {
  if (parameters === undefined) return true
  const values = Object.values(JSON.parse(parameters) as Record<string, string>)
  return values.length <= maxTemplateValues && values.every(isTemplateValue)
}

function isTemplateValue(value: string): boolean {
  return (
    value.trim() !== '' &&
    cutCodePoints(value, maxTemplateValue) === value &&
    !/[\p{Extended_Pictographic}\p{So}\p{Cn}]/u.test(value)
  )
}

/** Xiaomi refuses template values that are not strings. */
function strings(parameters: string): string {
  return JSON.stringify(asStrings(parseVerbatim(parameters) as object))
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
