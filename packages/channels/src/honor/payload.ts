import { androidView, type Click, type MessageClass, replaceKey, titleAndBody } from '@herald/domain'
import type { Task, Unsupported } from '../channel.ts'
import { clampBadge } from '../shared/badge.ts'
import { clientData, passThroughData } from '../shared/client-data.ts'
import { fitTexts } from '../shared/fit-texts.ts'
import { httpsPicture } from '../shared/picture.ts'
import { timeLeft } from '../shared/time-left.ts'
import type { HonorSettings } from './settings.ts'

/**
 * Request of sendMessage without `token`. Names are camelCase and there is no wrapper: Huawei's form is refused here.
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
  clickAction: { type: 1; intent: string } | { type: 3 }
  image?: string
  style?: 1
  bigTitle?: string
  bigBody?: string
  importance: string
  badge?: { badgeClass: string; addNum?: number; setNum?: number }
  notifyId: number
}

/** Bytes of a request beside its tokens. */
const mostBytes = 4096
/** No least value is documented; one second is as close to "only if reachable now" as is surely taken. */
const ttlBounds = { least: 1, most: 15 * 86_400 }

const noText: Unsupported = { unsupported: 'Honor needs a title or a body to show' }
const tooLarge: Unsupported = {
  unsupported: `the message is over Honor's ${mostBytes} bytes even with its texts cut`,
}

/** Importance is Honor's message class; left out, it is marketing. NORMAL needs approval in the console. */
const importanceOf: Readonly<Record<MessageClass, string>> = { service: 'NORMAL', marketing: 'LOW' }

export function mapPayload(task: Task, settings: HonorSettings): HonorPayload | Unsupported {
  return task.message.type === 'cmd' ? mapPassThrough(task, settings) : mapNotification(task, settings)
}

function mapPassThrough(task: Task, settings: HonorSettings): HonorPayload | Unsupported {
  const payload = envelope(task, settings, passThroughData(task))
  return sizeOf(payload) <= mostBytes ? payload : tooLarge
}

function mapNotification(task: Task, settings: HonorSettings): HonorPayload | Unsupported {
  const { message } = task
  const shown = titleAndBody(message, task.applicationName)
  if (!shown) return noText
  // Honor has neither custom channels nor sounds: both follow importance.
  const { click } = androidView(message, 'honor')
  const image = httpsPicture(message)
  const data = clientData(task, { attachment_url: image ? undefined : message.attachmentUrl })
  const write = ({ title, body, bigText }: Readonly<Record<'title' | 'body' | 'bigText', string>>) =>
    envelope(task, settings, data, {
      title,
      body,
      clickAction: clickAction(click),
      image,
      ...(bigText && { style: 1, bigTitle: title, bigBody: bigText }),
      importance:
        message.honor.importance ??
        settings.classes[task.messageClass].importance ??
        importanceOf[task.messageClass],
      badge: badgeOf(task, settings),
      notifyId: replaceKey(task.taskId),
    })
  const texts = fitTexts(
    { ...shown, bigText: message.bigText ?? '' },
    ['bigText', 'body', 'title'],
    (tried) => sizeOf(write(tried)),
    mostBytes,
    'bigText',
  )
  return texts ? write(texts) : tooLarge
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

/** Whether the bytes include the empty list is not documented; counting it keeps clear of the edge. */
function sizeOf(payload: HonorPayload): number {
  return Buffer.byteLength(JSON.stringify({ ...payload, token: [] }))
}

function clickAction(click: Click): HonorNotification['clickAction'] {
  return click.kind === 'intent' ? { type: 1, intent: click.intent } : { type: 3 }
}

/** Honor wants the launcher's class beside the number. */
function badgeOf({ message }: Task, settings: HonorSettings): HonorNotification['badge'] {
  const badgeClass = message.honor.badgeClass ?? settings.badgeClass
  const badge = clampBadge(message.badge)
  if (!badgeClass || !badge) return undefined
  return badge.kind === 'set' ? { badgeClass, setNum: badge.count } : { badgeClass, addNum: badge.count }
}
