import {
  androidFields,
  cards,
  type MessageField,
  type MessageObject,
  type Text,
} from '@herald/channels/cards'

/** A field of a platform's or vendor's part of the message. The form has its value as text. */
export type PlatformField = MessageField & { name: string }

/** `vendor` is absent for a platform. */
type Platform = { name: PlatformName; vendor?: Text; fields: readonly PlatformField[] }
export type PlatformName = 'android' | (typeof cards)[number]['message']['object']
export type PlatformValues = Partial<Record<PlatformName, Record<string, string>>>

const listed = (fields: MessageObject['fields']): PlatformField[] =>
  Object.entries(fields).map(([name, field]) => ({ ...field, name }))

const android = listed(androidFields)
const ofCards = cards.map(({ title, message }): Platform => {
  const fields = listed(message.fields)
  return 'android' in message
    ? { name: message.object, vendor: title, fields: [...android, ...fields] }
    : { name: message.object, fields }
})

/** Platforms first. */
export const platforms: readonly Platform[] = [
  ...ofCards.filter(({ vendor }) => !vendor),
  { name: 'android', fields: android },
  ...ofCards.filter(({ vendor }) => vendor),
]

/** Returns the fields that are set, in the types of the API; undefined if none is. */
export function platformPart(
  platform: PlatformName,
  values: PlatformValues,
): Record<string, unknown> | undefined {
  const given = values[platform] ?? {}
  const fields = platforms.find(({ name }) => name === platform)?.fields ?? []
  const entries = fields.flatMap((field) => {
    const value = given[field.name]?.trim() ?? ''
    return value === '' ? [] : [[field.name, converted(field, value)]]
  })
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

function converted(field: MessageField, value: string): unknown {
  if (field.type === 'flag') return value === 'true'
  return field.type === 'choice' ? field.choices.find((choice) => String(choice) === value) : value
}
