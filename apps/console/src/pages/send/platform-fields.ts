import {
  androidFields,
  cards,
  type MessageField,
  type MessageObject,
  type Text,
} from '@herald/channels/cards'

/**
 * A field of a platform's or vendor's part of the message. The form has its value as text. The fields of a record are listed one by one,
 * as `record.field`.
 */
export type PlatformField = Exclude<MessageField, { type: 'record' }> & { name: string }

/** `vendor` is absent for a platform. */
type Platform = { name: PlatformName; vendor?: Text; fields: readonly PlatformField[] }
export type PlatformName = 'android' | (typeof cards)[number]['message']['object']
export type PlatformValues = Partial<Record<PlatformName, Record<string, string>>>

const listed = (fields: MessageObject['fields']): PlatformField[] =>
  Object.entries(fields).flatMap(([name, field]) =>
    field.type === 'record'
      ? listed(field.fields).map((part) => ({
          ...part,
          name: `${name}.${part.name}`,
          label: { en: `${field.label.en}: ${part.label.en}`, zh: `${field.label.zh}：${part.label.zh}` },
        }))
      : [{ ...field, name }],
  )

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
  const part: Record<string, unknown> = {}
  for (const field of fields) {
    const value = given[field.name]?.trim() ?? ''
    if (value !== '') put(part, field.name.split('.'), converted(field, value))
  }
  return Object.keys(part).length === 0 ? undefined : part
}

function put(record: Record<string, unknown>, [name, ...rest]: string[], value: unknown): void {
  if (rest.length === 0) record[name!] = value
  else {
    record[name!] ??= {}
    put(record[name!] as Record<string, unknown>, rest, value)
  }
}

function converted(field: PlatformField, value: string): unknown {
  switch (field.type) {
    case 'flag':
      return value === 'true'
    case 'choice':
      return field.choices.find((choice) => String(choice) === value)
    case 'number':
      // A text that is no number is sent as it is, so that the API's error names the field.
      return Number.isFinite(Number(value)) ? Number(value) : value
    case 'list':
      return value.split('\n').filter((line) => line.trim() !== '')
    default:
      return value
  }
}
