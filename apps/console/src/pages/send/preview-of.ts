import type { Draft } from './draft.ts'
import { platformPart } from './platform-fields.ts'

/** What a lock screen would show; no card for a pass-through or an empty message. */
export type Preview =
  | { kind: 'silent' | 'blank' }
  | { kind: 'card'; title: string; subtitle: string; body: string; image: string; badge: string }

export function previewOf(draft: Draft, platform: 'iphone' | 'android'): Preview {
  if (draft.type === 'cmd') return { kind: 'silent' }
  const ios = platform === 'iphone'
  const title = draft.title.trim()
  const body = draft.body.trim()
  const long = draft.bigText.trim()
  // iOS has no long text: it is used only if the text is missing. Android shows it when expanded.
  const text = ios ? body || long : long || body
  const image = showsImage(draft, ios) ? draft.attachmentUrl.trim() : ''
  if (title === '' && text === '' && image === '') return { kind: 'blank' }
  const subtitle = ios ? String(platformPart('ios', draft.platforms)?.subtitle ?? '') : ''
  return { kind: 'card', title, subtitle, body: text, image, badge: draft.badge.trim() || '+1' }
}

/** iPhones show any attached picture, Android vendors only those of image messages. */
function showsImage({ type, attachmentUrl }: Draft, ios: boolean): boolean {
  return /^https:\/\/.+\.(jpe?g|png)(\?|$)/i.test(attachmentUrl.trim()) && (ios || type === 'image')
}
