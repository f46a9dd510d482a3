import { androidView, type Click, titleAndBody } from '@herald/domain'
import { isUnsupported, type Task, type Unsupported } from '../channel.ts'
import { fittingData, passThroughData, timeLeft } from '../shared/payload-parts.ts'
import { ellipsizeCodePoints } from '../shared/texts.ts'
import { readIntent } from './intent.ts'
import type { MeizuSettings } from './settings.ts'

/** The content of messageJson, the same for all devices of a task. */
export type MeizuPayload = {
  taskId: number
  /** Part of the request path: a notification, or a pass-through message. */
  pushType: 'varnished' | 'unvarnished'
  message: Readonly<Record<string, unknown>>
  /** URL of a picture that must be uploaded to Meizu first. */
  picture?: string
}

type Part = Record<string, unknown>

/**
 * Limits of https://github.com/MEIZUPUSH/PushAPI. It documents none for parameters and the expanded text: these are below the
 * limits of its other fields.
 */
const maxTitle = 32
const maxContent = 100
const maxExpandedText = 1000
const maxTarget = 1000
const maxParameterBytes = 1000
const maxPassThroughBytes = 2000
const maxCallbackBytes = 128
const hourS = 3600
const maxHours = 72

export function mapPayload(task: Task, settings: MeizuSettings): MeizuPayload | Unsupported {
  return task.message.type === 'cmd' ? passThrough(task, settings) : notification(task, settings)
}

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
        title: ellipsizeCodePoints(title, maxTitle),
        content: ellipsizeCodePoints(content, maxContent),
      },
      ...expanded(message.bigText),
      clickTypeInfo: click,
      pushTimeInfo: lifetime(task),
      advanceInfo: {
        notificationType: { vibrate: 1, lights: 1, sound: isSilent(view.sound) ? 0 : 1 },
        notifyKey: taskId.toString(36).slice(-8),
      },
      ...receiptFields(task, settings),
    },
    picture: message.type === 'image' && settings.vip ? message.attachmentUrl : undefined,
  }
}

/** One quota for the whole application. */
export function quotaClass(): string {
  return ''
}

/** Without receipts and replace key: the app decides what a pass-through message does. */
function passThrough(task: Task, settings: MeizuSettings): MeizuPayload | Unsupported {
  if (!settings.passThrough)
    return { unsupported: 'Meizu has discontinued pass-through messages (extra.pass_through is off)' }
  const { title } = task.message
  const content = JSON.stringify(passThroughData(task))
  if (Buffer.byteLength(content) > maxPassThroughBytes)
    return { unsupported: `Meizu accepts at most ${maxPassThroughBytes} bytes of a pass-through message` }
  return {
    taskId: task.taskId,
    pushType: 'unvarnished',
    message: {
      ...(title ? { title: ellipsizeCodePoints(title, maxTitle) } : {}),
      content,
      pushTimeInfo: lifetime(task),
    },
  }
}

/** 0 public, limited per device and day; 1 private, for messages that concern one person. */
function noticeMsgType({ message, messageClass }: Task, settings: MeizuSettings): number {
  const { noticeMsgType, channelId } = message.flyme
  const named = channelId === '0' || channelId === '1' ? Number(channelId) : undefined
  return (
    noticeMsgType ??
    named ??
    settings.classes[messageClass].noticeMsgType ??
    (messageClass === 'service' ? 1 : 0)
  )
}

function expanded(bigText: string | undefined): Part {
  if (!bigText?.trim()) return {}
  const noticeExpandContent = ellipsizeCodePoints(bigText.trim(), maxExpandedText)
  return { noticeExpandInfo: { noticeExpandType: 1, noticeExpandContent } }
}

function clickOf(task: Task, click: Click): Part | Unsupported {
  const target = click.kind === 'intent' ? readIntent(click.intent) : undefined
  if (click.kind === 'intent' && !target)
    return {
      unsupported: 'Meizu can open an intent with a component or a URL scheme, and this one has neither',
    }
  const parameters = parametersOf(task, target?.extras ?? {})
  if (!parameters) return { unsupported: `Meizu accepts at most ${maxParameterBytes} bytes of ext` }
  if (!target) return { clickType: 0, parameters }
  const text = target.kind === 'activity' ? target.activity : target.url
  if (text.length > maxTarget)
    return { unsupported: `Meizu accepts an activity or URL of at most ${maxTarget} characters` }
  return target.kind === 'activity'
    ? { clickType: 1, activity: text, parameters }
    : { clickType: 2, url: text, parameters }
}

/** The intent's extras take precedence over `ext`, but not over the task id. */
function parametersOf(task: Task, extras: Part): Part | undefined {
  return fittingData<Part>(
    task,
    (data) => ({ ...data, ...extras, task_id: String(task.taskId) }),
    (parameters) => Buffer.byteLength(JSON.stringify(parameters)) <= maxParameterBytes,
  )
}

/** Whole hours; with less than one hour left only devices that are online get the message. */
function lifetime(task: Task): Part {
  const seconds = timeLeft(task, { min: 0, max: maxHours * hourS })
  return seconds < hourS ? { offLine: 0 } : { offLine: 1, validTime: Math.ceil(seconds / hourS) }
}

/** Meizu can only switch the sound on or off. */
function isSilent(sound: string | undefined): boolean {
  return sound !== undefined && /^(none|silent)$/i.test(sound.trim())
}

/** Meizu refuses a push whose callback URL is not registered in the console. */
function receiptFields({ callbackUrl, taskId }: Task, { receiptRegistered }: MeizuSettings): Part {
  if (!callbackUrl || !receiptRegistered || Buffer.byteLength(callbackUrl) > maxCallbackBytes) return {}
  return { extra: { callback: callbackUrl, 'callback.param': String(taskId), 'callback.type': '3' } }
}
