import type { Draft } from './draft.ts'
import { type PlatformName, platforms } from './platform-fields.ts'

/** A field of the form: one of the draft, or `platforms.<platform>.<field>`. */
export type FieldName = Exclude<keyof Draft, 'platforms' | 'audienceKind'> | `platforms.${string}`

/** The parts of the form that can be folded. */
export type Section = 'content' | 'routing' | 'platforms'

/** From the top of the page to its end. */
const fields: readonly (readonly [FieldName, path: string, Section?])[] = [
  ['type', 'message.type'],
  ['title', 'message.title'],
  ['body', 'message.body'],
  ['attachmentUrl', 'message.attachment_url'],
  ['url', 'message.url'],
  ['bigText', 'message.big_text', 'content'],
  ['badge', 'message.badge', 'content'],
  ['sound', 'message.sound', 'content'],
  ['collapseKey', 'message.collapse_key', 'content'],
  ['foreground', 'message.foreground', 'content'],
  ['urgent', 'message.urgent', 'content'],
  ['ext', 'message.ext', 'content'],
  ['audience', 'audience'],
  ['beginAt', 'message.show_begin_time'],
  ['endAt', 'message.show_end_time'],
  ['speed', 'setting.speed'],
  ['campaign', 'setting.campaign'],
  ['strategy', 'setting.distribution_strategy', 'routing'],
  ['sequence', 'setting.ospush_sequence', 'routing'],
  ['ttl', 'setting.ttl', 'routing'],
  ['priority', 'setting.priority', 'routing'],
  ['messageClass', 'setting.message_class', 'routing'],
  ['events', 'setting.events', 'routing'],
  ['requestId', 'setting.request_id', 'routing'],
]

const order = new Map<FieldName, number>(fields.map(([name], index) => [name, index]))

/** Id of the field's input in the page. */
export const idOf = (field: FieldName): string => `send-${field.replaceAll('.', '-')}`

export const placeOf = (field: FieldName): number => order.get(field) ?? fields.length

/** Where the field is; undefined: always visible. */
export function sectionOf(field: FieldName): { section: Section; platform?: PlatformName } | undefined {
  const [kind, name] = field.split('.')
  if (kind === 'platforms') return { section: 'platforms', platform: name as PlatformName }
  const section = fields.find(([known]) => known === field)?.[2]
  return section && { section }
}

export const platformField = (platform: PlatformName, name: string): FieldName =>
  `platforms.${platform}.${name}`

/** The field of an API path such as `message.ios.subtitle` or `audience.user_id[3]`; undefined if the form has none. */
export function fieldOfPath(path: string, draft: Draft): FieldName | undefined {
  if (/^audience\b/.test(path)) return 'audience'
  if (path === 'message') return 'title'
  if (path === 'message.click_action') return 'url'
  const found = fields.find(([, known]) => path === known || path.startsWith(`${known}[`))?.[0]
  if (found) return found
  const [, object, rest] = /^message\.([a-z]+)\.(.+?)(?:\[\d+\])?$/.exec(path) ?? []
  const platform = platforms.find(({ name }) => name === object)
  if (!platform || rest === undefined) return undefined
  // The sound of the message is sent in the parts of the platforms.
  if (rest === 'sound' && !draft.platforms[platform.name]?.sound?.trim()) return 'sound'
  const field = platform.fields.find(({ name }) => name === rest || rest.startsWith(`${name}.`))
  return field && platformField(platform.name, field.name)
}
