import { androidView, replaceKey, titleAndBody } from '@herald/domain'
import type { Task, Unsupported } from '../channel.ts'
import { clampBadge } from '../shared/badge.ts'
import { clientData, passThroughData } from '../shared/client-data.ts'
import { fitTexts } from '../shared/fit-texts.ts'
import { httpsPicture } from '../shared/picture.ts'
import { timeLeft } from '../shared/time-left.ts'
import { mostBytes, noText, soundName, tooLarge, ttlBounds } from './payload-rules.ts'
import type { HuaweiSettings } from './settings.ts'

/**
 * Request of v3 (HarmonyOS 5 and later) without `target`, and the header that names its kind.
 * https://developer.huawei.com/consumer/cn/doc/harmonyos-references/push-scenariozed-api-request-param
 */
export type NextBody = { pushType: 0 | 6; request: NextRequest }
type NextRequest = {
  payload: { notification: NextNotification } | { extraData: string }
  pushOptions: { ttl: number; biTag: string; testMessage?: true }
}
type NextNotification = {
  category: string
  title: string
  body: string
  image?: string
  sound?: string
  badge?: { addNum?: number; setNum?: number }
  /** 0 opens the app's home page. An Android intent names nothing on HarmonyOS, so it travels in the data. */
  clickAction: { actionType: 0; data: object }
  notifyId: number
}

export function mapNext(task: Task, settings: HuaweiSettings): NextBody | Unsupported {
  return task.message.type === 'cmd' ? mapBackground(task, settings) : mapAlert(task, settings)
}

function mapBackground(task: Task, settings: HuaweiSettings): NextBody | Unsupported {
  const extraData = JSON.stringify(passThroughData(task))
  const made: NextBody = {
    pushType: 6,
    request: { payload: { extraData }, pushOptions: options(task, settings) },
  }
  return sizeOf(made) <= mostBytes ? made : tooLarge
}

function mapAlert(task: Task, settings: HuaweiSettings): NextBody | Unsupported {
  const { message } = task
  const shown = titleAndBody(message, task.applicationName)
  if (!shown) return noText
  const view = androidView(message, 'huawei')
  const image = httpsPicture(message)
  const badge = clampBadge(message.badge)
  const data = clientData(task, {
    attachment_url: image ? undefined : message.attachmentUrl,
    intent: view.click.kind === 'intent' ? view.click.intent : undefined,
  })
  const write = ({ title, body }: Readonly<Record<'title' | 'body', string>>): NextBody => ({
    pushType: 0,
    request: {
      payload: {
        notification: {
          // v3 wants one; without an approved category Huawei treats every message as marketing.
          category: message.huawei.category ?? settings.classes[task.messageClass].category ?? 'MARKETING',
          title,
          body,
          image,
          sound: soundName(view.sound),
          badge: badge && (badge.kind === 'set' ? { setNum: badge.count } : { addNum: badge.count }),
          clickAction: { actionType: 0, data },
          notifyId: replaceKey(task.taskId),
        },
      },
      pushOptions: options(task, settings),
    },
  })
  const texts = fitTexts(shown, ['body', 'title'], (tried) => sizeOf(write(tried)), mostBytes)
  return texts ? write(texts) : tooLarge
}

function options(task: Task, settings: HuaweiSettings): NextRequest['pushOptions'] {
  return {
    ttl: timeLeft(task, ttlBounds),
    biTag: String(task.taskId),
    testMessage: settings.targetUserType === 1 ? true : undefined,
  }
}

function sizeOf({ request }: NextBody): number {
  return Buffer.byteLength(JSON.stringify({ ...request, target: { token: [] } }))
}
