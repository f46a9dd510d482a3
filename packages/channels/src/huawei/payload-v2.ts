import { androidView, type Click, replaceKey, titleAndBody } from '@herald/domain'
import type { Task, Unsupported } from '../channel.ts'
import {
  clampBadge,
  clientData,
  fitNotification,
  httpsPicture,
  passThroughData,
  timeLeft,
} from '../shared/payload-parts.ts'
import { maxBytes, noText, soundName, tooLarge, ttlBounds } from './payload-rules.ts'
import type { HuaweiSettings } from './settings.ts'

/**
 * Request of v1 and v2 without `message.token`.
 * https://developer.huawei.com/consumer/en/doc/HMSCore-References/https-send-api-0000001050986197
 */
export type V2Body = { validate_only: boolean; message: V2Message }
type V2Message = { data: string; android: V2Android }
export type V2Android = {
  category?: string
  urgency?: string
  ttl: string
  bi_tag: string
  receipt_id?: string
  target_user_type?: 0 | 1
  notification?: V2Notification
}
export type V2Notification = {
  title: string
  body: string
  click_action: { type: 1; intent: string } | { type: 3 }
  image?: string
  style?: 1
  big_title?: string
  big_body?: string
  channel_id?: string
  sound?: string
  default_sound?: false
  importance?: string
  badge?: { class: string; add_num?: number; set_num?: number }
  notify_id: number
}

export function mapV2(task: Task, settings: HuaweiSettings): V2Body | Unsupported {
  return task.message.type === 'cmd' ? mapPassThrough(task, settings) : mapNotification(task, settings)
}

function mapPassThrough(task: Task, settings: HuaweiSettings): V2Body | Unsupported {
  const { category, urgency } = task.message.huawei
  const request = envelope(task, settings, passThroughData(task), { category, urgency })
  return sizeOf(request) <= maxBytes ? request : tooLarge
}

function mapNotification(task: Task, settings: HuaweiSettings): V2Body | Unsupported {
  const { message } = task
  const shown = titleAndBody(message, task.applicationName)
  if (!shown) return noText
  const view = androidView(message, 'huawei')
  const image = httpsPicture(message)
  const sound = soundName(view.sound)
  const classFields = settings.classes[task.messageClass]
  const data = clientData(task, { attachment_url: image ? undefined : message.attachmentUrl })
  const write = ({ title, body, bigText }: Readonly<Record<'title' | 'body' | 'bigText', string>>) =>
    envelope(task, settings, data, {
      category: message.huawei.category ?? classFields.category,
      notification: {
        title,
        body,
        click_action: clickAction(view.click),
        image,
        ...(bigText && { style: 1, big_title: title, big_body: bigText }),
        channel_id: view.channelId,
        // Files of res/raw are named without extension, and ignored if default_sound is not false.
        ...(sound && { sound: `/raw/${sound.replace(/\.[a-z0-9]{2,4}$/i, '')}`, default_sound: false }),
        importance: message.huawei.importance ?? classFields.importance,
        badge: badgeOf(task, settings),
        notify_id: replaceKey(task.taskId),
      },
    })
  return fitNotification(shown, message.bigText, write, sizeOf, maxBytes) ?? tooLarge
}

function envelope(
  task: Task,
  settings: HuaweiSettings,
  data: object,
  own: Pick<V2Android, 'category' | 'urgency' | 'notification'>,
): V2Body {
  const { notification, ...marks } = own
  return {
    validate_only: false,
    message: {
      data: JSON.stringify(data),
      android: {
        ...marks,
        ttl: `${timeLeft(task, ttlBounds)}s`,
        bi_tag: String(task.taskId),
        receipt_id: settings.receiptId,
        target_user_type: settings.targetUserType,
        notification,
      },
    },
  }
}

/** Whether the 4096 bytes include the empty token list is not documented, so it is counted. */
function sizeOf(request: V2Body): number {
  return Buffer.byteLength(JSON.stringify({ ...request, message: { ...request.message, token: [] } }))
}

function clickAction(click: Click): V2Notification['click_action'] {
  return click.kind === 'intent' ? { type: 1, intent: click.intent } : { type: 3 }
}

function badgeOf(task: Task, settings: HuaweiSettings): V2Notification['badge'] {
  const badgeClass = task.message.huawei.badgeClass ?? settings.badgeClass
  const badge = clampBadge(task.message.badge)
  if (!badgeClass || !badge) return undefined
  return badge.kind === 'set'
    ? { class: badgeClass, set_num: badge.count }
    : { class: badgeClass, add_num: badge.count }
}
