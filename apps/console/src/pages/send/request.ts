import { secondsOf } from '../../calculations/local-time.ts'
import { audienceOf, type Draft } from './draft.ts'
import { platformPart, platforms } from './platform-fields.ts'

export type Recipients =
  /** The audience of the draft. */
  | { kind: 'draft'; requestId?: string }
  /** For explain. */
  | { kind: 'device'; pushToken: string }
  /** A test: these devices get it now, and it is no part of a campaign. */
  | { kind: 'test'; pushTokens: readonly string[]; requestId: string }

/** The body of notify, or of explain for one device, as JSON. */
export function requestText(draft: Draft, to: Recipients = { kind: 'draft' }): string {
  switch (to.kind) {
    case 'draft':
      return bodyOf({
        audience: audienceField(draft),
        setting: settingOf(draft, to.requestId),
        message: messageText(draft),
      })
    case 'device':
      return bodyOf({ push_token: to.pushToken, setting: settingOf(draft), message: messageText(draft) })
    case 'test': {
      const now = { ...draft, beginAt: '', endAt: '', speed: '', campaign: '', events: false, requestId: '' }
      return bodyOf({
        audience: { push_token: to.pushTokens },
        setting: settingOf(now, to.requestId),
        message: messageText(now),
      })
    }
  }
}

/** The request id of the draft: the author's own, or the given one. */
export const requestIdOf = (draft: Draft, requestId = ''): string => draft.requestId.trim() || requestId

/** The body of a count while the message is being written: without it, every channel counts that can take a plain text. */
export function countText(draft: Draft): string {
  const { distribution_strategy, ospush_sequence } = settingOf(draft)
  return JSON.stringify({
    audience: audienceField(draft),
    setting: dropBlank({ distribution_strategy, ospush_sequence }),
    ...(draft.type === 'cmd' && { message: { type: 'cmd' } }),
  })
}

/** `message` is JSON already. A line per part, for those who read it. */
function bodyOf({ message, ...rest }: Record<string, unknown> & { message: string }): string {
  const parts = Object.entries(rest).map(([name, value]) => `"${name}":${JSON.stringify(value)}`)
  return `{${[...parts, `"message":${message}`].join(',\n')}}`
}

/** `ext` is inserted as it was typed, because parsing it would round its large numbers. */
function messageText(draft: Draft): string {
  const message = JSON.stringify(messageOf(draft))
  const ext = draft.ext.trim()
  if (ext === '') return message
  return message === '{}' ? `{"ext":${ext}}` : `${message.slice(0, -1)},"ext":${ext}}`
}

/** User ids stay strings, which the API accepts for every int64. */
function audienceField(draft: Draft): unknown {
  return draft.audienceKind === 'all' ? 'all' : { [draft.audienceKind]: audienceOf(draft) }
}

function settingOf(draft: Draft, requestId?: string): Record<string, unknown> {
  return dropBlank({
    distribution_strategy: draft.strategy,
    ospush_sequence: draft.strategy === 'nativepush_only' ? [] : draft.sequence,
    ttl: numberOf(draft.ttl),
    speed: numberOf(draft.speed),
    priority: draft.priority,
    message_class: draft.messageClass,
    campaign: draft.campaign.trim(),
    events: draft.events || undefined,
    request_id: requestIdOf(draft, requestId),
  })
}

function messageOf(draft: Draft): Record<string, unknown> {
  const sound = draft.sound.trim()
  const parts = Object.fromEntries(
    platforms.map(({ name, vendor }) => {
      const part = platformPart(name, draft.platforms)
      return [name, sound === '' || vendor ? part : { sound, ...part }]
    }),
  )
  return dropBlank({
    type: draft.type,
    title: draft.title,
    body: draft.body,
    big_text: draft.bigText,
    attachment_url: draft.attachmentUrl.trim(),
    badge: draft.badge.trim(),
    click_action: draft.url.trim() === '' ? '' : 'url',
    url: draft.url.trim(),
    collapse_key: draft.collapseKey.trim(),
    foreground: draft.foreground,
    urgent: draft.urgent || undefined,
    show_begin_time: secondsOf(draft.beginAt),
    show_end_time: secondsOf(draft.endAt),
    ...parts,
  })
}

function dropBlank(record: Record<string, unknown>): Record<string, unknown> {
  const isBlank = (value: unknown) =>
    value === undefined || value === '' || (Array.isArray(value) && value.length === 0)
  return Object.fromEntries(Object.entries(record).filter(([, value]) => !isBlank(value)))
}

/** A text that is not a number is sent as it is, so that the API's error names the field. */
function numberOf(text: string): number | string | undefined {
  const trimmed = text.trim()
  if (trimmed === '') return undefined
  return Number.isFinite(Number(trimmed)) ? Number(trimmed) : trimmed
}
