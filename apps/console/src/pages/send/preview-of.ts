import { cards } from '@herald/channels/cards'
import { replaceFields } from '@herald/domain'
import type { Draft } from './draft.ts'
import { platformPart } from './platform-fields.ts'
import { cutFor, type VendorName } from './text-limits.ts'

/** `android`: any Android phone, without a vendor's limits. */
export type Screen = 'iphone' | 'android' | VendorName

/** What a lock screen would show; no card for a pass-through or an empty message. */
export type Preview =
  | { kind: 'silent' | 'blank' }
  | {
      kind: 'card'
      title: string
      subtitle: string
      body: string
      image: string
      badge: string
      /** Opened by a tap; blank: the app. */
      url: string
      collapseKey: string
      urgent: boolean
      /** Not shown while the app is in front. */
      hidden: boolean
      /** The texts that the vendor cuts. */
      cut: ('title' | 'body')[]
    }
  /** What the activity's own view gets: its fields as JSON. */
  | { kind: 'activity'; event: string; fields: string }

export function previewOf(draft: Draft, screen: Screen): Preview {
  const ios = screen === 'iphone'
  const activity = ios ? activityOf(draft) : undefined
  if (activity) return activity
  if (draft.type === 'cmd') return { kind: 'silent' }
  const title = draft.title.trim()
  const body = draft.body.trim()
  const long = draft.bigText.trim()
  // iOS has no long text: it is used only if the text is missing. Android shows it when expanded, if the vendor has it.
  const text = ios || !showsLongText(screen) ? body || long : long || body
  const image = ios || draft.type === 'image' ? pictureUrl(draft) : ''
  if (title === '' && text === '' && image === '') return { kind: 'blank' }
  const shown =
    ios || screen === 'android' ? { title, body: text } : cutTexts(screen, title, text, text === long)
  const subtitle = ios ? String(platformPart('ios', draft.platforms)?.subtitle ?? '') : ''
  return {
    kind: 'card',
    ...shown,
    subtitle,
    cut: [
      ...(shown.title === title ? [] : ['title' as const]),
      ...(shown.body === text ? [] : ['body' as const]),
    ],
    image,
    badge: draft.badge.trim() || '+1',
    url: draft.url.trim(),
    collapseKey: collapseKeyOf(draft, ios),
    urgent: draft.urgent,
    hidden: draft.foreground === 'hide',
  }
}

/** iOS has a field of its own, which takes precedence. */
function collapseKeyOf({ collapseKey, platforms }: Draft, ios: boolean): string {
  const [, field] = replaceFields.find(([object]) => object === 'ios') ?? []
  const own = ios && field ? platformPart('ios', platforms)?.[field] : undefined
  return String(own ?? '') || collapseKey.trim()
}

function activityOf({ platforms }: Draft): Preview | undefined {
  const value = platformPart('ios', platforms)?.live_activity
  if (typeof value !== 'object' || value === null) return undefined
  const { event = 'update', content_state = {} } = value as { event?: unknown; content_state?: unknown }
  const fields = typeof content_state === 'string' ? content_state : JSON.stringify(content_state)
  return { kind: 'activity', event: String(event), fields }
}

const cardOf = (screen: Screen) => cards.find(({ name }) => name === screen)

function showsLongText(screen: Screen): boolean {
  const carrying = cardOf(screen)?.carries.big_text
  return carrying === undefined || (typeof carrying === 'string' ? carrying : carrying.is) === 'yes'
}

function cutTexts(vendor: VendorName, title: string, text: string, isLong: boolean) {
  return { title: cutFor(vendor, title, 'title'), body: cutFor(vendor, text, isLong ? 'bigText' : 'body') }
}

/** iPhones show any attached picture, Android vendors only those of image messages. The page may load https addresses only. */
export function pictureUrl({ attachmentUrl }: Draft): string {
  const url = attachmentUrl.trim()
  return /^https:\/\/.+\.(jpe?g|png)(\?|$)/i.test(url) ? url : ''
}
