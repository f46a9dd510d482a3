import { androidView, type Click, type Message, titleAndBody } from '@herald/domain'
import type { HeldOutcome, Task, Unsupported } from '../channel.ts'
import { asStrings, fittingData, timeLeft } from '../shared/payload-parts.ts'
import { replaceNumber } from '../shared/replace-key.ts'
import { cutText } from '../shared/texts.ts'
import { leavingOutExt } from '../shared/too-large.ts'
import { card } from './card.ts'
import { classFields, countedAs, namesClass } from './classification.ts'
import type { VivoSettings } from './settings.ts'

/** The part that all calls of a task share; the transport adds target, time to live, receipt fields and requestId. */
export type VivoPayload = {
  taskId: number
  notice: VivoNotice
  /** Remaining seconds, at most a day. */
  ttl: number
  receipts: { kind: 'id'; id: string } | { kind: 'url'; url: string } | { kind: 'none' }
  /** What the caller chose in the message: vivo's refusal of it concerns that message only. */
  named: { mode: boolean; class: boolean }
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
  foregroundShow?: false
  clientCustomMap: Record<string, string>
}

/** Limits of https://dev.vivo.com.cn/documentCenter/doc/362, in characters; those of the texts are in the card. */
const maxSkipContent = 1024
const maxCustomMap = 1024
/** The limit of vivo's SDK; the document does not name it. */
const maxCustomFields = 10
const maxCallbackUrl = 128
const dayS = 86_400

export const mapPayload = leavingOutExt(mapMessage)

function mapMessage(task: Task, settings: VivoSettings): VivoPayload | Unsupported {
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
  const inData = skip.skipType === 1 && view.click.kind === 'url' ? view.click.url : undefined
  const clientCustomMap = fittingData(task, customMap, (map) => sizeOf(map) <= maxCustomMap, inData)
  if (!clientCustomMap)
    return {
      unsupported: `vivo accepts at most ${maxCustomMap} characters of ext, keys and values together`,
      tooLarge: true,
    }
  return {
    taskId: task.taskId,
    notice: {
      appId: settings.appId,
      title: cutText(title, card.texts.title),
      content: cutText(content, card.texts.body),
      notifyType: isSilent(view.sound) ? 1 : 4,
      ...skip,
      networkType: -1,
      ...classFields(task, settings),
      pushMode: message.vivo.pushMode ?? 0,
      notifyId: replaceNumber(task),
      ...badgeOf(message, settings),
      ...(message.foreground === 'hide' && { foregroundShow: false }),
      clientCustomMap,
    },
    ttl: timeLeft(task, { min: 0, max: dayS }),
    receipts: receiptsOf(task, settings),
    named: { mode: message.vivo.pushMode !== undefined, class: namesClass(message) },
  }
}

/** Codes of a used-up quota, or of a closed hour, that name the classification. */
const quotaCodes: Readonly<Record<string, 0 | 1>> = { 'vivo.10070': 0, 'vivo.10071': 0, 'vivo.10073': 1 }

/**
 * Each classification has its own daily quota, and so do test messages. vivo treats a system message as operational if its content is:
 * the refusal of such a message must not hold other system messages until midnight or the morning.
 */
export function quotaClass({ notice }: VivoPayload, refusal?: HeldOutcome): string {
  const own = countedAs(notice)
  const counted = own === undefined ? own : (quotaCodes[refusal?.reason.code ?? ''] ?? own)
  const name = counted === undefined ? notice.category : counted === 1 ? 'system' : 'operational'
  return notice.pushMode === 1 ? `${name} test messages` : `${name} messages`
}

/** What vivo refuses to an application as a whole, while its other messages are accepted. */
const refusals = {
  // The application is not listed yet: only test messages.
  'vivo.10045': 'mode formal',
  // No permission for system messages.
  'vivo.10082': 'class system',
} as const

/** Every device of the call would be refused too. */
export function isRefusedForAll({ reason }: HeldOutcome): boolean {
  return Object.hasOwn(refusals, reason.code)
}

export function refusedScope(outcome: HeldOutcome, payload: VivoPayload): string | undefined {
  if (!isRefusedForAll(outcome)) return undefined
  const scope = refusals[outcome.reason.code as keyof typeof refusals]
  return scopesOf(payload).find((one) => one === scope)
}

/** Without what the caller named: a refusal of that is not held, and no hold applies to it. */
export function scopesOf({ notice, named }: VivoPayload): string[] {
  const scopes: string[] = []
  if (notice.pushMode === 0 && !named.mode) scopes.push(refusals['vivo.10045'])
  if (countedAs(notice) === 1 && !named.class) scopes.push(refusals['vivo.10082'])
  return scopes
}

/** Parts of a message without which it is still useful. */
export type OptionalPart = 'badge' | 'receipts'

export function without(part: OptionalPart, payload: VivoPayload): VivoPayload {
  if (part === 'receipts') return { ...payload, receipts: { kind: 'none' } }
  const { addBadge: _, ...notice } = payload.notice
  return { ...payload, notice }
}

/** If not, a tap opens the app, which gets the address in its data. */
export function canOpen(url: string): boolean {
  return url.length <= maxSkipContent
}

function clickOf(click: Click): Pick<VivoNotice, 'skipType' | 'skipContent'> {
  if (click.kind === 'open_app') return { skipType: 1 }
  if (click.kind === 'url')
    return canOpen(click.url) ? { skipType: 2, skipContent: click.url } : { skipType: 1 }
  return { skipType: /^https?:\/\//i.test(click.intent) ? 2 : 4, skipContent: click.intent }
}

/** vivo can only switch the sound on or off. */
function isSilent(sound: string | undefined): boolean {
  return sound !== undefined && /^(none|silent)$/i.test(sound.trim())
}

/**
 * vivo can only add one to the badge, so a number to set is not sent. The field needs a permission that most applications do not
 * have, so it is sent only if the message or the certificate asks for it.
 */
function badgeOf({ badge, badgeNamed }: Message, settings: VivoSettings): Pick<VivoNotice, 'addBadge'> {
  const isWanted = badgeNamed || settings.badge
  return isWanted && badge.kind === 'add' && badge.count > 0 ? { addBadge: true } : {}
}

/** Values must be strings. With too many fields, `ext` is one of them, as JSON. */
function customMap(data: object): Record<string, string> {
  const map = asStrings(data)
  if (Object.keys(map).length <= maxCustomFields) return map
  const { task_id, ...ext } = data as Record<string, unknown>
  return asStrings({ ext, task_id })
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
