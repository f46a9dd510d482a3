import { androidView, type Click, type Message, replaceKey, titleAndBody } from '@herald/domain'
import type { Task, Unsupported } from '../channel.ts'
import { asStrings, fittingData } from '../shared/client-data.ts'
import { timeLeft } from '../shared/time-left.ts'
import { ellipsizeCodePoints } from '../shared/truncate.ts'
import { classFields } from './classification.ts'
import type { VivoSettings } from './settings.ts'

/** What every call of a task has in common; the transport adds target, time to live, receipt wish and requestId. */
export type VivoPayload = {
  taskId: number
  notice: VivoNotice
  /** Seconds left, up to a day. */
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

/** Limits of https://dev.vivo.com.cn/documentCenter/doc/362, in characters of any script. */
const mostTitle = 40
const mostContent = 100
const mostSkipContent = 1024
const mostCustomMap = 1024
const mostCallbackUrl = 128
const dayS = 86_400

export function mapPayload(task: Task, settings: VivoSettings): VivoPayload | Unsupported {
  const { message } = task
  if (message.type === 'cmd') return { unsupported: 'vivo has no pass-through messages' }
  const texts = titleAndBody(message, task.applicationName)
  const title = texts?.title.trim()
  const content = texts?.body.trim()
  if (!title || !content) return { unsupported: 'vivo needs a title and a content, and every text is blank' }
  const view = androidView(message, 'vivo')
  const skip = clickOf(view.click)
  if ((skip.skipContent?.length ?? 0) > mostSkipContent)
    return { unsupported: `vivo takes an intent of at most ${mostSkipContent} characters` }
  // Values must be strings.
  const clientCustomMap = fittingData(task, asStrings, (map) => sizeOf(map) <= mostCustomMap)
  if (!clientCustomMap)
    return { unsupported: `vivo takes at most ${mostCustomMap} characters of ext, keys and values together` }
  return {
    taskId: task.taskId,
    notice: {
      appId: settings.appId,
      title: ellipsizeCodePoints(title, mostTitle),
      content: ellipsizeCodePoints(content, mostContent),
      notifyType: isSilent(view.sound) ? 1 : 4,
      ...skip,
      networkType: -1,
      ...classFields(task, settings),
      pushMode: message.vivo.pushMode ?? 0,
      notifyId: replaceKey(task.taskId),
      ...badgeOf(message),
      clientCustomMap,
    },
    ttl: timeLeft(task, { least: 0, most: dayS }),
    receipts: receiptsOf(task, settings),
  }
}

/** The two classifications have a day's volume each, test sends one of their own. */
export function quotaClass({ notice }: VivoPayload): string {
  return JSON.stringify([notice.pushMode, notice.classification, notice.category])
}

function clickOf(click: Click): Pick<VivoNotice, 'skipType' | 'skipContent'> {
  if (click.kind === 'open_app') return { skipType: 1 }
  return { skipType: /^https?:\/\//i.test(click.intent) ? 2 : 4, skipContent: click.intent }
}

/** vivo cannot name a sound, only ring or not. */
function isSilent(sound: string | undefined): boolean {
  return sound !== undefined && /^(none|silent)$/i.test(sound.trim())
}

/** The server can only add one to the icon, so a number to set is not carried. */
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
  // The address in the request works for formal sends only; a longer one would fail the whole push.
  return url.length > mostCallbackUrl || task.message.vivo.pushMode === 1
    ? { kind: 'none' }
    : { kind: 'url', url }
}
