import { androidView, type Click, titleAndBody } from '@herald/domain'
import type { Task, Unsupported } from '../channel.ts'
import { isWebPage, viewIntent } from '../shared/intent-uri.ts'
import {
  type AttachmentPlace,
  clampBadge,
  clientData,
  fitNotification,
  passThroughData,
  timeLeft,
} from '../shared/payload-parts.ts'
import { replaceNumber } from '../shared/replace-key.ts'
import { leavingOutExt } from '../shared/too-large.ts'
import {
  categoryOf,
  foregroundShow,
  importanceOf,
  maxBytes,
  noText,
  picturePlaces,
  soundName,
  tooLarge,
  ttlBounds,
  urgencyOf,
} from './payload-rules.ts'
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
  click_action: { type: 1; intent: string } | { type: 2; url: string } | { type: 3 }
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
  foreground_show?: boolean
}

export const mapV2 = leavingOutExt((task: Task, settings: HuaweiSettings) =>
  task.message.type === 'cmd' ? mapPassThrough(task, settings) : mapNotification(task, settings),
)

function mapPassThrough(task: Task, settings: HuaweiSettings): V2Body | Unsupported {
  const request = envelope(task, settings, passThroughData(task), {
    // Huawei delivers commands with a category faster.
    category: categoryOf(task, settings),
    urgency: urgencyOf(task.message),
  })
  return sizeOfV2(request) <= maxBytes ? request : tooLarge
}

function mapNotification(task: Task, settings: HuaweiSettings): V2Body | Unsupported {
  const { message } = task
  const shown = titleAndBody(message, task.applicationName)
  if (!shown) return noText
  const category = categoryOf(task, settings)
  const view = androidView(message, 'huawei')
  const sound = soundName(view.sound)
  const write = ({ title, body, bigText }: Texts, { image, inData }: AttachmentPlace) =>
    envelope(task, settings, clientData(task, { attachment_url: inData }), {
      category,
      notification: {
        title,
        body,
        click_action: clickAction(view.click),
        image,
        ...(bigText && { style: 1, big_title: title, big_body: bigText }),
        channel_id: view.channelId,
        // Files of res/raw are named without extension, and ignored if default_sound is not false.
        ...(sound && { sound: `/raw/${sound.replace(/\.[a-z0-9]{2,4}$/i, '')}`, default_sound: false }),
        importance: importanceOf(task, settings),
        badge: badgeOf(task, settings),
        notify_id: replaceNumber(task),
        foreground_show: foregroundShow(message),
      },
    })
  for (const place of picturePlaces(message, category)) {
    const whole = write({ ...shown, bigText: message.bigText ?? '' }, place)
    if (sizeOfV2(whole) <= maxBytes) return whole
  }
  const withoutPicture = (texts: Texts) => write(texts, {})
  return fitNotification(shown, message.bigText, withoutPicture, sizeOfV2, maxBytes) ?? tooLarge
}

type Texts = Readonly<Record<'title' | 'body' | 'bigText', string>>

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
export function sizeOfV2(request: V2Body): number {
  return Buffer.byteLength(JSON.stringify({ ...request, message: { ...request.message, token: [] } }))
}

function clickAction(click: Click): V2Notification['click_action'] {
  if (click.kind === 'open_app') return { type: 3 }
  if (click.kind === 'intent') return { type: 1, intent: withClearTop(click.intent) }
  // Type 2 takes https only.
  return isWebPage(click.url)
    ? { type: 2, url: click.url }
    : { type: 1, intent: withClearTop(viewIntent(click.url)) }
}

/** Huawei demands FLAG_ACTIVITY_CLEAR_TOP: without it a tap may open the page, or show the message, twice. */
function withClearTop(intent: string): string {
  return /#Intent;(.*;)?launchFlags=/.test(intent)
    ? intent
    : intent.replace('#Intent;', '#Intent;launchFlags=0x04000000;')
}

function badgeOf(task: Task, settings: HuaweiSettings): V2Notification['badge'] {
  const badgeClass = task.message.huawei.badgeClass ?? settings.badgeClass
  const badge = clampBadge(task.message.badge)
  if (!badgeClass || !badge) return undefined
  return badge.kind === 'set'
    ? { class: badgeClass, set_num: badge.count }
    : { class: badgeClass, add_num: badge.count }
}
