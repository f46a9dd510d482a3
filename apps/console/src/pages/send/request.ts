import { secondsOf } from '../../calculations/local-time.ts'
import type { Draft } from './draft.ts'
import { platformPart, platforms } from './platform-fields.ts'

/**
 * The body of notify, or of explain if a push token is given, as JSON. `ext` is inserted as it was typed, because
 * parsing it would round its large numbers.
 */
export function requestText(draft: Draft, pushToken?: string): string {
  const message = JSON.stringify(messageOf(draft))
  const ext = draft.ext.trim()
  const whole =
    ext === '' ? message : message === '{}' ? `{"ext":${ext}}` : `${message.slice(0, -1)},"ext":${ext}}`
  const parts = [
    ...(pushToken === undefined
      ? [`"audience":${JSON.stringify(audienceOf(draft))}`]
      : [`"push_token":${JSON.stringify(pushToken)}`]),
    `"setting":${JSON.stringify(settingOf(draft))}`,
    `"message":${whole}`,
  ]
  return `{${parts.join(',')}}`
}

/** User ids stay strings, which the API accepts for every int64. */
function audienceOf({ audienceKind, audience }: Draft): unknown {
  return audienceKind === 'all' ? 'all' : { [audienceKind]: audience }
}

function settingOf(draft: Draft): Record<string, unknown> {
  return dropBlank({
    distribution_strategy: draft.strategy,
    ospush_sequence: draft.strategy === 'nativepush_only' ? [] : draft.sequence,
    ttl: numberOf(draft.ttl),
    speed: numberOf(draft.speed),
    priority: draft.priority,
    message_class: draft.messageClass,
    campaign: draft.campaign.trim(),
    events: draft.events || undefined,
    request_id: draft.requestId.trim(),
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
