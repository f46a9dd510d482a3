import { androidView, replaceKey, titleAndBody } from '@herald/domain'
import type { Task, Unsupported } from '../channel.ts'
import {
  type AttachmentPlace,
  attachmentPlace,
  clampBadge,
  clientData,
  passThroughData,
  timeLeft,
} from '../shared/payload-parts.ts'
import { fitTexts } from '../shared/texts.ts'
import { categoryOf, maxBytes, noText, soundName, tooLarge, ttlBounds } from './payload-rules.ts'
import type { HuaweiSettings } from './settings.ts'

/**
 * Request of v3 (HarmonyOS 5 and later) without `target`, and the push-type header.
 * https://developer.huawei.com/consumer/cn/doc/harmonyos-references/push-scenariozed-api-request-param
 */
export type V3Body = { pushType: 0 | 6; request: V3Request }
type V3Request = {
  payload: { notification: V3Notification } | { extraData: string }
  pushOptions: { ttl: number; biTag: string; receiptId?: string; testMessage?: true }
}
export type V3Notification = {
  category: string
  title: string
  body: string
  image?: string
  sound?: string
  badge?: { addNum?: number; setNum?: number }
  /** 0 opens the app's home page. HarmonyOS has no Android intents, so an intent is sent in the data. */
  clickAction: { actionType: 0; data: object }
  notifyId: number
}

export function mapV3(task: Task, settings: HuaweiSettings): V3Body | Unsupported {
  return task.message.type === 'cmd' ? mapBackground(task, settings) : mapAlert(task, settings)
}

function mapBackground(task: Task, settings: HuaweiSettings): V3Body | Unsupported {
  const extraData = JSON.stringify(passThroughData(task))
  const made: V3Body = {
    pushType: 6,
    request: { payload: { extraData }, pushOptions: options(task, settings) },
  }
  return sizeOfV3(made) <= maxBytes ? made : tooLarge
}

function mapAlert(task: Task, settings: HuaweiSettings): V3Body | Unsupported {
  const { message } = task
  const shown = titleAndBody(message, task.applicationName)
  if (!shown) return noText
  const view = androidView(message, 'huawei')
  const badge = clampBadge(message.badge)
  const intent = view.click.kind === 'intent' ? view.click.intent : undefined
  const write = ({ title, body }: Texts, { image, inData }: AttachmentPlace): V3Body => ({
    pushType: 0,
    request: {
      payload: {
        notification: {
          // Required in v3; without an approved category Huawei treats every message as marketing.
          category: categoryOf(task, settings) ?? 'MARKETING',
          title,
          body,
          image,
          sound: soundName(view.sound),
          badge: badge && (badge.kind === 'set' ? { setNum: badge.count } : { addNum: badge.count }),
          clickAction: { actionType: 0, data: clientData(task, { attachment_url: inData, intent }) },
          notifyId: replaceKey(task.taskId),
        },
      },
      pushOptions: options(task, settings),
    },
  })
  const whole = write(shown, attachmentPlace(message))
  if (sizeOfV3(whole) <= maxBytes) return whole
  const texts = fitTexts(shown, ['body', 'title'], (tried) => sizeOfV3(write(tried, {})), maxBytes)
  return texts ? write(texts, {}) : tooLarge
}

type Texts = Readonly<Record<'title' | 'body', string>>

function options(task: Task, settings: HuaweiSettings): V3Request['pushOptions'] {
  return {
    ttl: timeLeft(task, ttlBounds),
    biTag: String(task.taskId),
    receiptId: settings.receiptId,
    testMessage: settings.targetUserType === 1 ? true : undefined,
  }
}

export function sizeOfV3({ request }: V3Body): number {
  return Buffer.byteLength(JSON.stringify({ ...request, target: { token: [] } }))
}
