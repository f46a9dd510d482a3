import { androidView, type Click, type Message, replaceKey, titleAndBody } from '@herald/domain'
import type { Task, Unsupported } from '../channel.ts'
import { asStrings, fittingData, timeLeft } from '../shared/payload-parts.ts'
import { ellipsizeCodePoints } from '../shared/texts.ts'
import { classFields } from './classification.ts'
import type { VivoSettings } from './settings.ts'

/** The part that all calls of a task share; the transport adds target, time to live, receipt fields and requestId. */
export type VivoPayload = {
  taskId: number
  notice: VivoNotice
  /** Remaining seconds, at most a day. */
  ttl: number
  receipts: { kind: 'id'; id: string } | { kind: 'url'; url: string } | { kind: 'none' }
}

type VivoNotice = {
  appId: number
  title: string
  content: string
  notifyType: 1 | 4
  skipType: 1 | 2 | 4
  skipContent?: string
  networkType: -1
  classification?: 0 | 1
  category?: string
  pushMode: 0 | 1
  notifyId: number
  addBadge?: true
  clientCustomMap: Record<string, string>
}

/** Limits of https://dev.vivo.com.cn/documentCenter/doc/362, in characters. */
const maxTitle = 40
const maxContent = 100
const maxSkipContent = 1024
const maxCustomMap = 1024
const maxCallbackUrl = 128
const dayS = 86_400

export function mapPayload(task: Task, settings: VivoSettings): VivoPayload | Unsupported {
  const { message } = task
  if (message.type === 'cmd') return { unsupported: 'vivo has no pass-through messages' }
  const texts = titleAndBody(message, task.applicationName)
  const title = texts?.title.trim()
  const content = texts?.body.trim()
  if (!title || !content) return { unsupported: 'vivo needs a title and a content, but all texts are blank' }
  const view = androidView(message, 'vivo')
  const skip = clickOf(view.click)
  if ((skip.skipContent?.length ?? 0) > maxSkipContent)
    return { unsupported: `vivo accepts an intent of at most ${maxSkipContent} characters` }
  // Values must be strings.
  const clientCustomMap = fittingData(task, asStrings, (map) => sizeOf(map) <= maxCustomMap)
  if (!clientCustomMap)
    return { unsupported: `vivo accepts at most ${maxCustomMap} characters of ext, keys and values together` }
  return {
    taskId: task.taskId,
    notice: {
      appId: settings.appId,
      title: ellipsizeCodePoints(title, maxTitle),
      content: ellipsizeCodePoints(content, maxContent),
      notifyType: isSilent(view.sound) ? 1 : 4,
      ...skip,
      networkType: -1,
      ...classFields(task, settings),
      pushMode: message.vivo.pushMode ?? 0,
      notifyId: replaceKey(task.taskId),
      ...badgeOf(message),
      clientCustomMap,
    },
    ttl: timeLeft(task, { min: 0, max: dayS }),
    receipts: receiptsOf(task, settings),
  }
}

/** Each classification has its own daily quota, and so do test messages. */
export function quotaClass({ notice }: VivoPayload): string {
  return JSON.stringify([notice.pushMode, notice.classification, notice.category])
}

function clickOf(click: Click): Pick<VivoNotice, 'skipType' | 'skipContent'> {
  if (click.kind === 'open_app') return { skipType: 1 }
  return { skipType: /^https?:\/\//i.test(click.intent) ? 2 : 4, skipContent: click.intent }
}

/** vivo can only switch the sound on or off. */
function isSilent(sound: string | undefined): boolean {
  return sound !== undefined && /^(none|silent)$/i.test(sound.trim())
}

/** vivo can only add one to the badge, so a number to set is not sent. */
function badgeOf(message: Message): Pick<VivoNotice, 'addBadge'> {
  return message.badge.kind === 'add' && message.badge.count > 0 ? { addBadge: true } : {}
}

function sizeOf(map: Record<string, string>): number {
  let size = 0
  for (const [key, value] of Object.entries(map)) size += key.length + value.length
  return size
}

function receiptsOf(task: Task, settings: VivoSettings): VivoPayload['receipts'] {
  const url = task.callbackUrl
  if (!url) return { kind: 'none' }
  if (settings.callbackId) return { kind: 'id', id: settings.callbackId }
  // vivo accepts the URL in formal messages only; with a longer one the whole push would fail.
  return url.length > maxCallbackUrl || task.message.vivo.pushMode === 1
    ? { kind: 'none' }
    : { kind: 'url', url }
}
