import { defaultSequence, type SequenceWord, type Strategy } from '@herald/domain'
import { type PlatformValues, platformPart, platforms } from './platform-fields.ts'

export const listKinds = ['tag', 'alias', 'user_id', 'push_token', 'activity'] as const
export type ListKind = (typeof listKinds)[number]
export type AudienceKind = 'all' | ListKind

/** The form's state: every field as the text of its input. */
export type Draft = {
  type: 'text' | 'image' | 'cmd'
  title: string
  body: string
  bigText: string
  attachmentUrl: string
  badge: string
  sound: string
  /** Opened by a tap. */
  url: string
  collapseKey: string
  foreground: '' | 'show' | 'hide'
  urgent: boolean
  ext: string
  audienceKind: AudienceKind
  /** One list per kind, so that a look at another kind loses nothing. */
  audience: Record<ListKind, string[]>
  /** Blank: that of the application. */
  strategy: '' | Strategy
  sequence: readonly SequenceWord[]
  /** Value of a `datetime-local` input: local time without a zone. */
  beginAt: string
  endAt: string
  ttl: string
  speed: string
  priority: '' | 'high' | 'normal'
  messageClass: '' | 'service' | 'marketing'
  campaign: string
  events: boolean
  /** Blank: the console makes one. */
  requestId: string
  platforms: PlatformValues
}

export type Change = (fields: Partial<Draft>) => void

/** The audience is empty and not `all`, so that an accidental click does not push to every device. */
export const blankDraft: Draft = {
  type: 'text',
  title: '',
  body: '',
  bigText: '',
  attachmentUrl: '',
  badge: '',
  sound: '',
  url: '',
  collapseKey: '',
  foreground: '',
  urgent: false,
  ext: '',
  audienceKind: 'tag',
  audience: { tag: [], alias: [], user_id: [], push_token: [], activity: [] },
  strategy: '',
  sequence: defaultSequence,
  beginAt: '',
  endAt: '',
  ttl: '',
  speed: '',
  priority: '',
  messageClass: '',
  campaign: '',
  events: false,
  requestId: '',
  platforms: {},
}

/** The list of the selected kind; empty for `all`. */
export const audienceOf = ({ audienceKind, audience }: Draft): readonly string[] =>
  audienceKind === 'all' ? [] : audience[audienceKind]

export const hasAudience = (draft: Draft): boolean =>
  draft.audienceKind === 'all' || audienceOf(draft).length > 0

/** Whether the message has nothing that the API would take. */
export function isBlankMessage(draft: Draft): boolean {
  if (draft.type === 'cmd') return false
  const texts = [
    draft.title,
    draft.body,
    draft.bigText,
    draft.attachmentUrl,
    draft.badge,
    draft.sound,
    draft.url,
    draft.collapseKey,
    draft.foreground,
    draft.ext,
  ]
  return (
    texts.every((text) => text.trim() === '') &&
    !draft.urgent &&
    platforms.every(({ name }) => platformPart(name, draft.platforms) === undefined)
  )
}

/** Whether nothing was typed or selected. */
export const isUntouched = (draft: Draft): boolean => JSON.stringify(draft) === JSON.stringify(blankDraft)

/** A draft that was stored as JSON, perhaps by another release; undefined if it cannot be used. */
export function readDraft(stored: unknown): Draft | undefined {
  if (!isRecord(stored)) return undefined
  const draft: Record<string, unknown> = { ...blankDraft }
  for (const [name, blank] of Object.entries(blankDraft)) {
    const value = stored[name]
    if (value === undefined) continue
    if (typeof value !== typeof blank || Array.isArray(value) !== Array.isArray(blank)) return undefined
    draft[name] = value
  }
  const audience = draft.audience as Record<string, unknown>
  const lists = listKinds.map((kind) => [kind, audience[kind] ?? []] as const)
  if (!lists.every(([, list]) => isTextList(list)) || !isTextList(draft.sequence)) return undefined
  return { ...draft, audience: Object.fromEntries(lists) } as unknown as Draft
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isTextList = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')
