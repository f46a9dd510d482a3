import { androidView, type Message, titleAndBody } from '@herald/domain'
import { isUnsupported, type Task, type Unsupported } from '../channel.ts'
import { isWebPage } from '../shared/intent-uri.ts'
import {
  type AttachmentPlace,
  clampBadge,
  clientData,
  passThroughData,
  timeLeft,
} from '../shared/payload-parts.ts'
import { replaceNumber } from '../shared/replace-key.ts'
import { fitTexts } from '../shared/texts.ts'
import { leavingOutExt } from '../shared/too-large.ts'
import {
  call,
  foregroundShow,
  marketingCategory,
  maxBytes,
  noText,
  picturePlaces,
  soundName,
  tooLarge,
  ttlBounds,
  voice,
} from './payload-rules.ts'
import type { HuaweiSettings } from './settings.ts'

/**
 * Request of v3 (HarmonyOS 5 and later) without `target`, and the push-type header.
 * https://developer.huawei.com/consumer/cn/doc/harmonyos-references/push-scenariozed-api-request-param
 */
export type V3Body = {
  pushType: 0 | 2 | 6 | 10
  request: V3Request
  /** The message as an alert, for apps without the permission for `pushType`. */
  asAlert?: V3Body
}
type V3Request = {
  payload: { notification: V3Notification; extraData?: string } | { extraData: string }
  pushOptions: { ttl: number; biTag: string; receiptId?: string; testMessage?: true }
}
export type V3Notification = {
  category: string
  title: string
  body: string
  image?: string
  sound?: string
  badge?: { addNum?: number; setNum?: number }
  clickAction: V3Click
  notifyId: number
  foregroundShow?: boolean
}
/** 0 opens the app's home page, 1 the page of an ability. */
type V3Click =
  | { actionType: 0; data: object }
  | { actionType: 1; action?: string; uri?: string; data: object }

/** The only category of voice broadcasts, and only theirs. */
const voiceCategory = 'PLAY_VOICE'
/** Huawei keeps a call for 30 to 60 seconds. */
const callTtlBounds = { min: 30, max: 60 }

export const mapV3 = leavingOutExt((task: Task, settings: HuaweiSettings): V3Body | Unsupported => {
  const { message } = task
  const isCommand = message.type === 'cmd'
  const pushType = message.huawei.harmonyPushType ?? (isCommand ? 6 : 0)
  switch (pushType) {
    case 0:
      return isCommand ? noNotification : mapAlert(task, settings)
    case voice:
      return isCommand ? noNotification : mapVoice(task, settings)
    case 6:
      return mapData(task, pushType, options(task, settings))
    case call:
      return mapCall(task, settings)
    default:
      return unsupportedPushTypes[pushType]
  }
})

const noNotification: Unsupported = {
  unsupported: 'harmony_push_type 0 and 2 show a notification, which a message of type cmd does not have',
}
const unsupportedPushTypes: Readonly<Record<1 | 7, Unsupported>> = {
  1: { unsupported: 'harmony_push_type 1 (card) needs the fields of a card, which a message does not have' },
  7: {
    unsupported:
      'harmony_push_type 7 (live view) needs the fields of a live view, which a message does not have',
  },
}

function mapData(task: Task, pushType: 6 | 10, pushOptions: V3Request['pushOptions']): V3Body | Unsupported {
  const extraData = JSON.stringify(passThroughData(task))
  const made: V3Body = { pushType, request: { payload: { extraData }, pushOptions } }
  return sizeOfV3(made) <= maxBytes ? made : tooLarge
}

function mapCall(task: Task, settings: HuaweiSettings): V3Body | Unsupported {
  const ttl = timeLeft(task, callTtlBounds)
  const made = mapData(task, call, { ...options(task, settings), ttl })
  if (isUnsupported(made) || task.message.type === 'cmd') return made
  return withAlert(made, mapAlert(task, settings))
}

function mapVoice(task: Task, settings: HuaweiSettings): V3Body | Unsupported {
  const alert = mapAlert(task, settings)
  if (isUnsupported(alert)) return alert
  const broadcast = mapAlert(task, settings, (texts) => ({
    category: voiceCategory,
    extraData: JSON.stringify(clientData(task, texts)),
  }))
  return isUnsupported(broadcast) ? broadcast : withAlert({ ...broadcast, pushType: voice }, alert)
}

function withAlert(body: V3Body, alert: V3Body | Unsupported): V3Body {
  return isUnsupported(alert) ? body : { ...body, asAlert: alert }
}

/** What a voice broadcast has in addition to an alert: the text that the app's extension speaks. */
type Spoken = { category: string; extraData: string }

function mapAlert(
  task: Task,
  settings: HuaweiSettings,
  speak?: (texts: Texts) => Spoken,
): V3Body | Unsupported {
  const { message } = task
  const shown = titleAndBody(message, task.applicationName)
  if (!shown) return noText
  const category = alertCategory(task, settings)
  const { sound } = androidView(message, 'huawei')
  const badge = clampBadge(message.badge)
  const write = (texts: Texts, { image, inData }: AttachmentPlace): V3Body => {
    const spoken = speak?.(texts)
    return {
      pushType: 0,
      request: {
        payload: {
          notification: {
            category: spoken?.category ?? category,
            ...texts,
            image,
            sound: soundName(sound),
            badge: badge && (badge.kind === 'set' ? { setNum: badge.count } : { addNum: badge.count }),
            clickAction: clickAction(task, inData),
            notifyId: replaceNumber(task),
            foregroundShow: foregroundShow(message),
          },
          extraData: spoken?.extraData,
        },
        pushOptions: options(task, settings),
      },
    }
  }
  for (const place of picturePlaces(message, category)) {
    const whole = write(shown, place)
    if (sizeOfV3(whole) <= maxBytes) return whole
  }
  const texts = fitTexts(shown, ['body', 'title'], (tried) => sizeOfV3(write(tried, {})), maxBytes)
  return texts ? write(texts, {}) : tooLarge
}

/**
 * Required in v3; without an approved category Huawei treats every message as marketing. v3 refuses that of voice broadcasts in an alert,
 * which then has the category of its class.
 */
function alertCategory({ message, messageClass }: Task, { classes }: HuaweiSettings): string {
  const named = [message.huawei.category, classes[messageClass].category]
  return named.find((category) => category !== undefined && category !== voiceCategory) ?? marketingCategory
}

type Texts = Readonly<Record<'title' | 'body', string>>

/**
 * The message's page of the app, or its deep link. HarmonyOS has no Android intents, and v3 opens no web pages: a tap opens the home page,
 * and the data has the intent or the address.
 */
function clickAction(task: Task, attachment: string | undefined): V3Click {
  const { page, inData } = harmonyClick(task.message)
  const data = clientData(task, { attachment_url: attachment, ...inData })
  return page ? { actionType: 1, ...page, data } : { actionType: 0, data }
}

export function harmonyClick(message: Message): {
  page?: { action?: string; uri?: string }
  inData?: { intent: string } | { url: string }
} {
  const { clickPage } = message.huawei
  if (clickPage?.ability || clickPage?.uri) return { page: { action: clickPage.ability, uri: clickPage.uri } }
  const { click } = androidView(message, 'huawei')
  if (click.kind === 'intent') return { inData: { intent: click.intent } }
  if (click.kind === 'open_app') return {}
  return isWebPage(click.url) ? { inData: { url: click.url } } : { page: { uri: click.url } }
}

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
