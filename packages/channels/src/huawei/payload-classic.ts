import { androidView, type Click, replaceKey, titleAndBody } from '@herald/domain'
import type { Task, Unsupported } from '../channel.ts'
import { clampBadge } from '../shared/badge.ts'
import { clientData, passThroughData } from '../shared/client-data.ts'
import { fitTexts } from '../shared/fit-texts.ts'
import { httpsPicture } from '../shared/picture.ts'
import { timeLeft } from '../shared/time-left.ts'
import { mostBytes, noText, soundName, tooLarge, ttlBounds } from './payload-rules.ts'
import type { HuaweiSettings } from './settings.ts'

/**
 * Request of v1 and v2 without `message.token`.
 * https://developer.huawei.com/consumer/en/doc/HMSCore-References/https-send-api-0000001050986197
 */
export type ClassicBody = { validate_only: boolean; message: ClassicMessage }
type ClassicMessage = { data: string; android: ClassicAndroid }
export type ClassicAndroid = {
  category?: string
  urgency?: string
  ttl: string
  bi_tag: string
  receipt_id?: string
  target_user_type?: 0 | 1
  notification?: ClassicNotification
}
export type ClassicNotification = {
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

export function mapClassic(task: Task, settings: HuaweiSettings): ClassicBody | Unsupported {
  return task.message.type === 'cmd' ? mapPassThrough(task, settings) : mapNotification(task, settings)
}

function mapPassThrough(task: Task, settings: HuaweiSettings): ClassicBody | Unsupported {
  const { category, urgency } = task.message.huawei
  const request = envelope(task, settings, passThroughData(task), { category, urgency })
  return sizeOf(request) <= mostBytes ? request : tooLarge
}

function mapNotification(task: Task, settings: HuaweiSettings): ClassicBody | Unsupported {
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
        // Huawei names files of res/raw without their ending, and ignores them beside the default sound.
        ...(sound && { sound: `/raw/${sound.replace(/\.[a-z0-9]{2,4}$/i, '')}`, default_sound: false }),
        importance: message.huawei.importance ?? classFields.importance,
        badge: badgeOf(task, settings),
        notify_id: replaceKey(task.taskId),
      },
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
  settings: HuaweiSettings,
  data: object,
  own: Pick<ClassicAndroid, 'category' | 'urgency' | 'notification'>,
): ClassicBody {
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

/** Whether the 4096 bytes include the empty list is not documented; counting it keeps clear of the edge. */
function sizeOf(request: ClassicBody): number {
  return Buffer.byteLength(JSON.stringify({ ...request, message: { ...request.message, token: [] } }))
}

function clickAction(click: Click): ClassicNotification['click_action'] {
  return click.kind === 'intent' ? { type: 1, intent: click.intent } : { type: 3 }
}

function badgeOf(task: Task, settings: HuaweiSettings): ClassicNotification['badge'] {
  const badgeClass = task.message.huawei.badgeClass ?? settings.badgeClass
  const badge = clampBadge(task.message.badge)
  if (!badgeClass || !badge) return undefined
  return badge.kind === 'set'
    ? { class: badgeClass, set_num: badge.count }
    : { class: badgeClass, add_num: badge.count }
}
