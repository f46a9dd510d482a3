import { createHash } from 'node:crypto'
import type { Message } from '@herald/domain'

/** What an iPhone shows, from the fields of `ios`; for every vendor that reaches iPhones. */

/** Empty strings for missing texts. */
export type IosTexts = Readonly<Record<'title' | 'subtitle' | 'body', string>>

/** The order in which texts are cut. */
export const cutOrder = ['body', 'subtitle', 'title'] as const

export function iosTexts(message: Message, applicationName: string, isAlert: boolean): IosTexts {
  const { title = '', ios } = message
  const { subtitle = '' } = ios
  const body = message.body ?? message.bigText ?? ''
  const hasKeys = ios.titleLocKey !== undefined || ios.locKey !== undefined
  // iOS runs the extension that loads the picture for visible alerts only.
  const textless = message.type === 'image' && !title && !body && !subtitle && !hasKeys
  const shown = { title: textless ? applicationName : title, subtitle, body }
  if (!isAlert) return shown
  // The key takes the place of the text, which would only take room.
  return {
    ...shown,
    ...(ios.titleLocKey !== undefined && { title: '' }),
    ...(ios.locKey !== undefined && { body: '' }),
  }
}

/** The object `aps` of an alert, without badge. */
export function alertAps(message: Message, texts: IosTexts, attachmentUrl: string | undefined): object {
  const { ios } = message
  const alert = {
    title: texts.title || undefined,
    'title-loc-key': ios.titleLocKey,
    'title-loc-args': ios.titleLocArgs,
    subtitle: texts.subtitle || undefined,
    body: texts.body || undefined,
    'loc-key': ios.locKey,
    'loc-args': ios.locArgs,
  }
  const visible = Object.values(alert).some((part) => part !== undefined)
  return {
    alert: visible ? alert : undefined,
    sound: soundOf(ios),
    'content-available': ios.contentAvailable ? 1 : undefined,
    'mutable-content': ios.mutableContent || attachmentUrl !== undefined ? 1 : undefined,
    category: ios.category,
    'thread-id': ios.threadId,
    'interruption-level': ios.interruptionLevel,
    'relevance-score': ios.relevanceScore,
    'target-content-id': ios.targetContentId,
    'filter-criteria': ios.filterCriteria,
  }
}

function soundOf({ sound, critical }: Message['ios']): unknown {
  if (!critical) return sound
  return { critical: 1, name: critical.name ?? sound ?? 'default', volume: critical.volume }
}

/** A header value is at most 64 printable ASCII characters. Of any other id the hash is sent, which replaces notifications as well. */
export function collapseHeader(id: string): string {
  return /^[!-~]([ -~]{0,62}[!-~])?$/.test(id) ? id : createHash('sha256').update(id).digest('hex')
}
