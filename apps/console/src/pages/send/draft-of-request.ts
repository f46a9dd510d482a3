import { parseVerbatim, type SequenceWord, sequenceWords } from '@herald/domain'
import { localTime } from '../../calculations/local-time.ts'
import { blankDraft, type Draft, type ListKind, listKinds } from './draft.ts'
import { type PlatformField, type PlatformName, type PlatformValues, platforms } from './platform-fields.ts'

type Json = Record<string, unknown>

export type FilledDraft = {
  draft: Draft
  /** Paths of the request that the form has no field for, or that are over. */
  leftOut: string[]
}

const texts = {
  title: 'title',
  body: 'body',
  big_text: 'bigText',
  attachment_url: 'attachmentUrl',
  badge: 'badge',
  url: 'url',
  collapse_key: 'collapseKey',
  foreground: 'foreground',
  type: 'type',
} as const satisfies Record<string, keyof Draft>

const settings = {
  distribution_strategy: 'strategy',
  ttl: 'ttl',
  speed: 'speed',
  priority: 'priority',
  message_class: 'messageClass',
  campaign: 'campaign',
} as const satisfies Record<string, keyof Draft>

/**
 * The draft that sends the same request again: the reverse of `requestText`. `text` is a body of notify, `now` in milliseconds. Times that are
 * over are left out, and so is the request id: with it nothing would be sent.
 */
export function draftOfRequest(text: string, now: number): FilledDraft {
  // Numbers of `ext` and user ids keep their digits.
  const {
    audience,
    setting = {},
    message = {},
  } = parseVerbatim(text) as Json & {
    setting?: Json
    message?: Json
  }
  const leftOut: string[] = []
  const draft = {
    ...blankDraft,
    ...audienceIn(audience, leftOut),
    ...settingIn(setting, leftOut),
    ...messageIn(message, now, leftOut),
  }
  return { draft, leftOut }
}

/** A value as the text of an input. Numbers were parsed verbatim, so they are objects. */
const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

function audienceIn(audience: unknown, leftOut: string[]): Partial<Draft> {
  if (audience === 'all') return { audienceKind: 'all' }
  const given = (audience ?? {}) as Json
  for (const name of Object.keys(given))
    if (!listKinds.includes(name as ListKind)) leftOut.push(`audience.${name}`)
  const kind = listKinds.find((name) => Array.isArray(given[name]))
  if (kind === undefined) return {}
  return {
    audienceKind: kind,
    audience: { ...blankDraft.audience, [kind]: (given[kind] as unknown[]).map(textOf) },
  }
}

function settingIn(setting: Json, leftOut: string[]): Partial<Draft> {
  const draft: Json = {}
  for (const [name, value] of Object.entries(setting)) {
    if (value === null || name === 'request_id') continue
    if (name in settings) draft[settings[name as keyof typeof settings]] = textOf(value)
    else if (name === 'events') draft.events = value === true
    else if (name === 'ospush_sequence' && Array.isArray(value))
      draft.sequence = value.filter((word): word is SequenceWord => sequenceWords.includes(word))
    else leftOut.push(`setting.${name}`)
  }
  return draft
}

function messageIn(message: Json, now: number, leftOut: string[]): Partial<Draft> {
  const draft: Json = {}
  const values: PlatformValues = {}
  for (const [name, value] of Object.entries(message)) {
    const platform = platforms.find((known) => known.name === name)
    const path = `message.${name}`
    if (value === null) continue
    if (name in texts) draft[texts[name as keyof typeof texts]] = textOf(value)
    else if (name === 'urgent') draft.urgent = value === true
    else if (name === 'ext') draft.ext = JSON.stringify(value, null, 2)
    else if (name === 'show_begin_time' || name === 'show_end_time') {
      const at = Number(textOf(value)) * 1000
      if (at <= now) leftOut.push(path)
      else draft[name === 'show_begin_time' ? 'beginAt' : 'endAt'] = localTime(at)
    } else if (platform) values[platform.name] = fieldsIn(platform.name, value as Json, path, leftOut)
    // The form has one action for all platforms: a link. It follows from `url`.
    else if (name !== 'click_action' || value !== 'url') leftOut.push(path)
  }
  return { ...draft, platforms: values }
}

function fieldsIn(
  platform: PlatformName,
  given: Json,
  path: string,
  leftOut: string[],
): Record<string, string> {
  const fields = platforms.find(({ name }) => name === platform)?.fields ?? []
  const values: Record<string, string> = {}
  const walk = (part: Json, prefix: string) => {
    for (const [name, value] of Object.entries(part)) {
      const full = prefix + name
      const field = fields.find((known) => known.name === full)
      if (value === null) continue
      if (field) values[full] = inputText(field, value)
      else if (fields.some((known) => known.name.startsWith(`${full}.`))) walk(value as Json, `${full}.`)
      else leftOut.push(`${path}.${full}`)
    }
  }
  walk(given, '')
  return values
}

function inputText(field: PlatformField, value: unknown): string {
  return field.type === 'list' && Array.isArray(value) ? value.map(textOf).join('\n') : textOf(value)
}
