import type { en } from '../../words/en.ts'

/** One field of a platform's or vendor's own part of a message. Values are kept as text and turned by kind. */
export type PlatformField = {
  name: keyof (typeof en)['field']
  kind: 'text' | 'flag' | 'choice' | 'number'
  /** For choice and number: what may be chosen. */
  options?: readonly string[]
}

const text = (...names: PlatformField['name'][]): PlatformField[] =>
  names.map((name) => ({ name, kind: 'text' }))
const choice = (name: PlatformField['name'], ...options: string[]): PlatformField => ({
  name,
  kind: 'choice',
  options,
})
const number = (name: PlatformField['name'], ...options: string[]): PlatformField => ({
  name,
  kind: 'number',
  options,
})

const clicks: PlatformField[] = [
  ...text('sound', 'channel_id'),
  choice('click_action', 'open_app', 'intent'),
  ...text('intent'),
]

/** The parts of a message by platform and vendor, in the order of the interface. */
export const platformFields = {
  ios: [
    ...text('sound', 'subtitle', 'category', 'thread_id', 'apns_collapse_id'),
    { name: 'content_available', kind: 'flag' },
    { name: 'mutable_content', kind: 'flag' },
  ],
  android: clicks,
  huawei: [
    ...clicks,
    ...text('badge_class', 'category'),
    choice('importance', 'LOW', 'NORMAL', 'HIGH'),
    choice('urgency', 'NORMAL', 'HIGH'),
  ],
  honor: [...clicks, ...text('badge_class'), choice('importance', 'LOW', 'NORMAL')],
  xiaomi: [...clicks, ...text('template_id', 'template_param')],
  oppo: [
    ...clicks,
    ...text('category'),
    number('notify_level', '1', '2', '16'),
    ...text('private_msg_template_id', 'private_title_parameters', 'private_content_parameters'),
  ],
  vivo: [...clicks, number('push_mode', '0', '1'), number('classification', '0', '1'), ...text('category')],
  flyme: [...clicks, number('notice_msg_type', '0', '1')],
  fcm: clicks,
} satisfies Record<string, PlatformField[]>

export type PlatformName = keyof typeof platformFields
export const platformNames = Object.keys(platformFields) as PlatformName[]
export type PlatformValues = Partial<Record<PlatformName, Record<string, string>>>

export const fieldsOf = (platform: PlatformName): PlatformField[] => platformFields[platform]

/** What is set of a platform's part, as the interface wants it; undefined when nothing is. */
export function platformPart(
  platform: PlatformName,
  values: PlatformValues,
): Record<string, unknown> | undefined {
  const given = values[platform] ?? {}
  const entries = fieldsOf(platform).flatMap(({ name, kind }) => {
    const value = given[name]?.trim() ?? ''
    if (value === '') return []
    return [[name, kind === 'flag' ? value === 'true' : kind === 'number' ? Number(value) : value]]
  })
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}
