import { androidView, type Click, type MessageClass, titleAndBody } from '@herald/domain'
import { type ClassifiedTask, isUnsupported, type Task, type Unsupported } from '../channel.ts'
import { fittingData, passThroughData, timeLeft } from '../shared/payload-parts.ts'
import { replaceWord } from '../shared/replace-key.ts'
import { shanghaiDateTime } from '../shared/shanghai-time.ts'
import { cutText } from '../shared/texts.ts'
import { leavingOutExt } from '../shared/too-large.ts'
import { card } from './card.ts'
import { type MeizuTarget, readIntent } from './intent.ts'
import type { MeizuSettings } from './settings.ts'

/** The content of messageJson, the same for all devices of a task. */
export type MeizuPayload = {
  taskId: number
  /** Part of the request path: a notification, or a pass-through message. */
  pushType: 'varnished' | 'unvarnished'
  message: Readonly<Record<string, unknown>>
  /** Parts of the message without which it is still useful. */
  receipts?: Part
  timedDisplay?: Part
  /** URL of a picture that must be uploaded to Meizu first. */
  picture?: string
}

type Part = Record<string, unknown>

/**
 * Limits of https://github.com/MEIZUPUSH/PushAPI; those of the texts are in the card. It documents none for parameters, so this is what
 * other vendors accept.
 */
const maxTargetBytes = 1000
const maxParameterBytes = 4096
const maxPassThroughBytes = 2000
const maxCallbackBytes = 128
const hourS = 3600
const maxHours = 72

export const mapPayload = leavingOutExt((task: Task, settings: MeizuSettings) =>
  task.message.type === 'cmd' ? passThrough(task, settings) : notification(task, settings),
)

function notification(task: Task, settings: MeizuSettings): MeizuPayload | Unsupported {
  const { message, taskId } = task
  const texts = titleAndBody(message, task.applicationName)
  const title = texts?.title.trim()
  const content = texts?.body.trim()
  if (!title || !content) return { unsupported: 'Meizu needs a title and a content, but all texts are blank' }
  const view = androidView(message, 'flyme')
  const click = clickOf(task, view.click)
  if (isUnsupported(click)) return click
  return {
    taskId,
    pushType: 'varnished',
    message: {
      noticeBarInfo: {
        noticeMsgType: noticeMsgType(task, settings),
        title: cut(title, card.texts.title),
        content: cut(content, card.texts.body),
      },
      ...expanded(message.bigText),
      clickTypeInfo: click,
      pushTimeInfo: lifetime(task),
      advanceInfo: {
        notificationType: { vibrate: 1, lights: 1, sound: isSilent(view.sound) ? 0 : 1 },
        notifyKey: replaceWord(task, 8),
      },
    },
    receipts: receiptFields(task, settings),
    timedDisplay: timedDisplay(task, settings),
    picture: message.type === 'image' && settings.vip ? message.attachmentUrl : undefined,
  }
}

const cut = (text: string, max: number) => cutText(text, max, card.texts)

/** One quota for the whole application. */
export function quotaClass(): string {
  return 'all messages'
}

/** Without receipts and replace key: the app decides what a pass-through message does. */
function passThrough(task: Task, settings: MeizuSettings): MeizuPayload | Unsupported {
  if (!settings.passThrough)
    return { unsupported: 'Meizu has discontinued pass-through messages (extra.pass_through is off)' }
  const title = task.message.title?.trim() || task.applicationName
  const content = JSON.stringify(passThroughData(task))
  if (Buffer.byteLength(content) > maxPassThroughBytes)
    return { unsupported: `Meizu accepts at most ${maxPassThroughBytes} bytes of a pass-through message` }
  return {
    taskId: task.taskId,
    pushType: 'unvarnished',
    message: {
      // Meizu's tables differ on whether it is required.
      title: cut(title, card.texts.title),
      content,
      pushTimeInfo: lifetime(task),
    },
  }
}

/** 0 public, limited per device and day; 1 private, for messages that concern one person. */
function noticeMsgType({ message, messageClass }: ClassifiedTask, settings: MeizuSettings): number {
  const { noticeMsgType, channelId } = message.flyme
  const named = channelId === '0' || channelId === '1' ? Number(channelId) : undefined
  return (
    noticeMsgType ??
    named ??
    settings.classes[messageClass].noticeMsgType ??
    (messageClass === 'service' ? 1 : 0)
  )
}

/** The class that Meizu counts the message under. */
export function countedClass(task: ClassifiedTask, settings: MeizuSettings): MessageClass {
  return noticeMsgType(task, settings) === 0 ? 'marketing' : 'service'
}

function expanded(bigText: string | undefined): Part {
  if (!bigText?.trim()) return {}
  const noticeExpandContent = cut(bigText.trim(), card.texts.bigText)
  return { noticeExpandInfo: { noticeExpandType: 1, noticeExpandContent } }
}

function clickOf(task: Task, click: Click): Part | Unsupported {
  const target = targetOf(click)
  if (click.kind === 'intent' && !target)
    return {
      unsupported: 'Meizu can open an intent with a component or a URL scheme, and this one has neither',
    }
  const inData = click.kind === 'url' && !target ? click.url : undefined
  const parameters = parametersOf(task, target?.extras ?? {}, inData)
  if (!parameters)
    return { unsupported: `Meizu accepts at most ${maxParameterBytes} bytes of ext`, tooLarge: true }
  if (!target) return { clickType: 0, parameters }
  const text = target.kind === 'activity' ? target.activity : target.url
  if (Buffer.byteLength(text) > maxTargetBytes)
    return { unsupported: `Meizu accepts an activity or URL of at most ${maxTargetBytes} bytes` }
  return target.kind === 'activity'
    ? { clickType: 1, activity: text, parameters }
    : { clickType: 2, url: text, parameters }
}

function targetOf(click: Click): MeizuTarget | undefined {
  if (click.kind === 'intent') return readIntent(click.intent)
  return click.kind === 'url' && canOpen(click.url) ? { kind: 'url', url: click.url, extras: {} } : undefined
}

/** If not, a tap opens the app, which gets the address in its data. */
export function canOpen(url: string): boolean {
  return Buffer.byteLength(url) <= maxTargetBytes
}

/** The intent's extras take precedence over `ext`, but not over the task id. */
function parametersOf(task: Task, extras: Part, url: string | undefined): Part | undefined {
  return fittingData<Part>(
    task,
    (data) => ({ ...data, ...extras, task_id: String(task.taskId) }),
    (parameters) => Buffer.byteLength(JSON.stringify(parameters)) <= maxParameterBytes,
    url,
  )
}

/**
 * Whole hours, rounded down, so that a message is not shown after its end. With less than one hour left only devices that are online
 * get it.
 */
function lifetime(task: Task): Part {
  const seconds = timeLeft(task, { min: 0, max: maxHours * hourS })
  return seconds < hourS ? { offLine: 0 } : { offLine: 1, validTime: Math.floor(seconds / hourS) }
}

/**
 * The end to the second, for messages with show_end_time. Meizu does not document the time zone; for applications in mainland China
 * it can only be theirs.
 */
function timedDisplay({ message: { showEnd }, now }: Task, { region }: MeizuSettings): Part | undefined {
  if (showEnd === undefined || showEnd <= now || showEnd - now > maxHours * hourS || region !== 'cn')
    return undefined
  return {
    fixDisplay: 1,
    fixStartDisplayTime: shanghaiDateTime(now * 1000),
    fixEndDisplayTime: shanghaiDateTime(showEnd * 1000),
  }
}

/** Meizu can only switch the sound on or off. */
function isSilent(sound: string | undefined): boolean {
  return sound !== undefined && /^(none|silent)$/i.test(sound.trim())
}

/** Meizu refuses a push whose callback URL is not registered in the console. */
function receiptFields(
  { callbackUrl, taskId }: Task,
  { receiptRegistered }: MeizuSettings,
): Part | undefined {
  if (!callbackUrl || !receiptRegistered || Buffer.byteLength(callbackUrl) > maxCallbackBytes)
    return undefined
  return { callback: callbackUrl, 'callback.param': String(taskId), 'callback.type': '3' }
}

/** Parts that are left out if Meizu refuses the message with them, in this order. */
export const optionalParts = ['picture', 'timed display', 'receipts'] as const
export type OptionalPart = (typeof optionalParts)[number]

/** The text of messageJson with these optional parts; `picture` is a URL that Meizu gave. */
export function messageJson(
  payload: MeizuPayload,
  picture: string | undefined,
  parts: readonly OptionalPart[],
): string {
  const { message, receipts, timedDisplay } = payload
  return JSON.stringify({
    ...message,
    ...(parts.includes('picture') && {
      noticeExpandInfo: { noticeExpandType: 2, noticeExpandImgUrl: picture },
    }),
    ...(parts.includes('timed display') && {
      advanceInfo: { ...(message.advanceInfo as Part), ...timedDisplay },
    }),
    ...(parts.includes('receipts') && { extra: receipts }),
  })
}
