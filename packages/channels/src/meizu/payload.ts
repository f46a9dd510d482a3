import { androidView, type Click, titleAndBody } from '@herald/domain'
import { isUnsupported, type Task, type Unsupported } from '../channel.ts'
import { fittingData, passThroughData } from '../shared/client-data.ts'
import { timeLeft } from '../shared/time-left.ts'
import { ellipsizeCodePoints } from '../shared/truncate.ts'
import { readIntent } from './intent.ts'
import type { MeizuSettings } from './settings.ts'

/** The message as it is written into messageJson, the same for all devices of a task. */
export type MeizuPayload = {
  taskId: number
  /** A notice, or a message handed through to the app. */
  way: 'varnished' | 'unvarnished'
  message: Readonly<Record<string, unknown>>
  /** Address of a picture that has to be lodged with Meizu first. */
  picture?: string
}

type Part = Record<string, unknown>

/**
 * Limits of https://github.com/MEIZUPUSH/PushAPI. For parameters and the expanded text it names none: these are kept small
 * enough for any of its other fields.
 */
const mostTitle = 32
const mostContent = 100
const mostExpandedText = 1000
const mostTarget = 1000
const mostParameterBytes = 1000
const mostPassThroughBytes = 2000
const mostCallbackBytes = 128
const hourS = 3600
const mostHours = 72

export function mapPayload(task: Task, settings: MeizuSettings): MeizuPayload | Unsupported {
  return task.message.type === 'cmd' ? passThrough(task, settings) : notice(task, settings)
}

function notice(task: Task, settings: MeizuSettings): MeizuPayload | Unsupported {
  const { message, taskId } = task
  const texts = titleAndBody(message, task.applicationName)
  const title = texts?.title.trim()
  const content = texts?.body.trim()
  if (!title || !content) return { unsupported: 'Meizu needs a title and a content, and every text is blank' }
  const view = androidView(message, 'flyme')
  const click = clickOf(task, view.click)
  if (isUnsupported(click)) return click
  return {
    taskId,
    way: 'varnished',
    message: {
      noticeBarInfo: {
        noticeMsgType: noticeMsgType(task, settings),
        title: ellipsizeCodePoints(title, mostTitle),
        content: ellipsizeCodePoints(content, mostContent),
      },
      ...expanded(message.bigText),
      clickTypeInfo: click,
      pushTimeInfo: keepFor(task),
      advanceInfo: {
        notificationType: { vibrate: 1, lights: 1, sound: isSilent(view.sound) ? 0 : 1 },
        notifyKey: taskId.toString(36).slice(-8),
      },
      ...receiptWish(task, settings),
    },
    picture: message.type === 'image' && settings.vip ? message.attachmentUrl : undefined,
  }
}

/** One count for the application, whatever it sends. */
export function quotaClass(): string {
  return ''
}

/** No receipts and no replace-key here: the app decides what a pass-through message does. */
function passThrough(task: Task, settings: MeizuSettings): MeizuPayload | Unsupported {
  if (!settings.passThrough)
    return { unsupported: 'Meizu has retired pass-through messages (extra.pass_through is off)' }
  const { title } = task.message
  const content = JSON.stringify(passThroughData(task))
  if (Buffer.byteLength(content) > mostPassThroughBytes)
    return { unsupported: `Meizu takes at most ${mostPassThroughBytes} bytes of a pass-through message` }
  return {
    taskId: task.taskId,
    way: 'unvarnished',
    message: {
      ...(title ? { title: ellipsizeCodePoints(title, mostTitle) } : {}),
      content,
      pushTimeInfo: keepFor(task),
    },
  }
}

/** 0 public, capped per device and day; 1 private, for what concerns one person. */
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
  const noticeExpandContent = ellipsizeCodePoints(bigText.trim(), mostExpandedText)
  return { noticeExpandInfo: { noticeExpandType: 1, noticeExpandContent } }
}

function clickOf(task: Task, click: Click): Part | Unsupported {
  const target = click.kind === 'intent' ? readIntent(click.intent) : undefined
  if (click.kind === 'intent' && !target)
    return { unsupported: 'Meizu opens an intent with a component, or an address: this one has neither' }
  const parameters = parametersOf(task, target?.extras ?? {})
  if (!parameters) return { unsupported: `Meizu takes at most ${mostParameterBytes} bytes of ext` }
  if (!target) return { clickType: 0, parameters }
  const text = target.kind === 'page' ? target.activity : target.url
  if (text.length > mostTarget)
    return { unsupported: `Meizu opens a page or address of at most ${mostTarget} characters` }
  return target.kind === 'page'
    ? { clickType: 1, activity: text, parameters }
    : { clickType: 2, url: text, parameters }
}

/** The intent's own extras win over `ext`, but never over the task id. */
function parametersOf(task: Task, extras: Part): Part | undefined {
  return fittingData<Part>(
    task,
    (data) => ({ ...data, ...extras, task_id: String(task.taskId) }),
    (parameters) => Buffer.byteLength(JSON.stringify(parameters)) <= mostParameterBytes,
  )
}

/** Whole hours; with less than one left only devices that are online now may have it. */
function keepFor(task: Task): Part {
  const seconds = timeLeft(task, { least: 0, most: mostHours * hourS })
  return seconds < hourS ? { offLine: 0 } : { offLine: 1, validTime: Math.ceil(seconds / hourS) }
}

/** Meizu cannot name a sound, only make one or not. */
function isSilent(sound: string | undefined): boolean {
  return sound !== undefined && /^(none|silent)$/i.test(sound.trim())
}

/** A push that names an address which the console does not know is refused as a whole. */
function receiptWish({ callbackUrl, taskId }: Task, { receiptRegistered }: MeizuSettings): Part {
  if (!callbackUrl || !receiptRegistered || Buffer.byteLength(callbackUrl) > mostCallbackBytes) return {}
  return { extra: { callback: callbackUrl, 'callback.param': String(taskId), 'callback.type': '3' } }
}
