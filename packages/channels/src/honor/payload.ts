import { androidView, type Click, type MessageClass, replaceKey, titleAndBody } from '@herald/domain'
import type { Task, Unsupported } from '../channel.ts'
import { clientData } from '../shared/client-data.ts'
import { fitTexts } from '../shared/fit-texts.ts'
import { timeLeft } from '../shared/time-left.ts'
import type { HonorSettings } from './settings.ts'

/**
 * Request of sendMessage without `token`. Names are camelCase and there is no wrapper: Huawei's form is refused here.
 * https://developer.honor.com/cn/docs/11002/reference/downlink-message
 */
export type HonorPayload = { data: string; android: HonorAndroid }
export type HonorAndroid = {
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
const mostTtl = 15 * 86_400
/** No least value is documented; one second is as close to "only if reachable now" as is surely taken. */
const leastTtl = 1

const noText: Unsupported = { unsupported: 'Honor needs a title or a body to show' }
const tooLarge: Unsupported = {
  unsupported: `the message is over Honor's ${mostBytes} bytes even with its texts cut`,
}

/** Importance is Honor's message class; left out, it is marketing. NORMAL needs approval in the console. */
const importanceOf: Readonly<Record<MessageClass, string>> = { service: 'NORMAL', marketing: 'LOW' }

export function mapHonorPayload(task: Task, settings: HonorSettings): HonorPayload | Unsupported {
  return task.message.type === 'cmd' ? mapPassThrough(task, settings) : mapNotification(task, settings)
}

function mapPassThrough(task: Task, settings: HonorSettings): HonorPayload | Unsupported {
  const { title, body, bigText, attachmentUrl } = task.message
  const data = clientData(task, { title, body, big_text: bigText, attachment_url: attachmentUrl })
  const payload = envelope(task, settings, data)
  return sizeOf(payload) <= mostBytes ? payload : tooLarge
}

function mapNotification(task: Task, settings: HonorSettings): HonorPayload | Unsupported {
  const { message } = task
  const shown = titleAndBody(message, task.applicationName)
  if (!shown) return noText
  // Honor has neither custom channels nor sounds: both follow importance.
  const { click } = androidView(message, 'honor')
  const image = pictureOf(task)
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
    [
      { field: 'bigText', needed: false },
      { field: 'body', needed: true },
      { field: 'title', needed: true },
    ],
    (tried) => sizeOf(write(tried)),
    mostBytes,
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
      ttl: `${timeLeft(task, { least: leastTtl, most: mostTtl })}s`,
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

/** https only. Anything else attached travels in the data. */
function pictureOf({ message }: Task): string | undefined {
  return message.type === 'image' && /^https:\/\//i.test(message.attachmentUrl ?? '')
    ? message.attachmentUrl
    : undefined
}

function clickAction(click: Click): HonorNotification['clickAction'] {
  return click.kind === 'intent' ? { type: 1, intent: click.intent } : { type: 3 }
}

/** Adding takes 1 to 99, setting 0 to 99, both need the launcher's class. "+0" is no badge at all. */
function badgeOf({ message }: Task, settings: HonorSettings): HonorNotification['badge'] {
  const badgeClass = message.honor.badgeClass ?? settings.badgeClass
  const { kind, count } = message.badge
  if (!badgeClass || (kind === 'add' && count < 1)) return undefined
  const shown = Math.min(count, 99)
  return kind === 'set' ? { badgeClass, setNum: shown } : { badgeClass, addNum: shown }
}
