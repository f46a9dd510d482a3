import { androidView, type Click, type MessageClass, replaceKey, titleAndBody } from '@herald/domain'
import type { Task, Unsupported } from '../channel.ts'
import {
  clampBadge,
  clientData,
  fitNotification,
  httpsPicture,
  passThroughData,
  timeLeft,
} from '../shared/payload-parts.ts'
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
  clickAction: { type: 1; intent: string } | { type: 3 }
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
  unsupported: `the message exceeds Honor's limit of ${maxBytes} bytes even with its texts cut`,
}

/** Importance is Honor's message class; the default is marketing. NORMAL needs approval in the console. */
const importanceOf: Readonly<Record<MessageClass, string>> = { service: 'NORMAL', marketing: 'LOW' }

export function mapPayload(task: Task, settings: HonorSettings): HonorPayload | Unsupported {
  return task.message.type === 'cmd' ? mapPassThrough(task, settings) : mapNotification(task, settings)
}

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
  return fitNotification(shown, message.bigText, write, sizeOf, maxBytes) ?? tooLarge
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

/** Whether the bytes include the empty token list is not documented, so it is counted. */
function sizeOf(payload: HonorPayload): number {
  return Buffer.byteLength(JSON.stringify({ ...payload, token: [] }))
}

function clickAction(click: Click): HonorNotification['clickAction'] {
  return click.kind === 'intent' ? { type: 1, intent: click.intent } : { type: 3 }
}

/** Honor needs the launcher's class together with the number. */
function badgeOf({ message }: Task, settings: HonorSettings): HonorNotification['badge'] {
  const badgeClass = message.honor.badgeClass ?? settings.badgeClass
  const badge = clampBadge(message.badge)
  if (!badgeClass || !badge) return undefined
  return badge.kind === 'set' ? { badgeClass, setNum: badge.count } : { badgeClass, addNum: badge.count }
}
