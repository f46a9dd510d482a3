import { replaceFields } from '@herald/domain'
import type { Draft } from './draft.ts'
import { platformPart } from './platform-fields.ts'

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
    }
  /** What the activity's own view gets: its fields as JSON. */
  | { kind: 'activity'; event: string; fields: string }

export function previewOf(draft: Draft, platform: 'iphone' | 'android'): Preview {
  const ios = platform === 'iphone'
  const activity = ios ? activityOf(draft) : undefined
  if (activity) return activity
  if (draft.type === 'cmd') return { kind: 'silent' }
  const title = draft.title.trim()
  const body = draft.body.trim()
  const long = draft.bigText.trim()
  // iOS has no long text: it is used only if the text is missing. Android shows it when expanded.
  const text = ios ? body || long : long || body
  const image = showsImage(draft, ios) ? draft.attachmentUrl.trim() : ''
  if (title === '' && text === '' && image === '') return { kind: 'blank' }
  const subtitle = ios ? String(platformPart('ios', draft.platforms)?.subtitle ?? '') : ''
  return {
    kind: 'card',
    title,
    subtitle,
    body: text,
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

/** iPhones show any attached picture, Android vendors only those of image messages. */
function showsImage({ type, attachmentUrl }: Draft, ios: boolean): boolean {
  return /^https:\/\/.+\.(jpe?g|png)(\?|$)/i.test(attachmentUrl.trim()) && (ios || type === 'image')
}
