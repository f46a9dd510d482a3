import { androidFields, type Card, cards, type MessageField } from '@herald/channels/cards'
import { table } from './generated-sections.ts'

const code = (text: string | number) => `\`${text}\``

/** Generated sections of the vendor pages, by path and name. */
export const vendorSections: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'docs/vendors/README.md': { vendors: vendorsTable(), android: fieldsTable(androidFields) },
  ...Object.fromEntries(
    cards.map((card) => [`docs/vendors/${card.name}.md`, { fields: messageFields(card) }]),
  ),
}

function vendorsTable(): string {
  const rows = cards.map((card: Card) => [
    `${card.provider}`,
    `[${card.title.en}](${card.name}.md)`,
    code(card.publicName ?? card.name),
    card.solePlatform ? '–' : card.inUps ? `${code(card.name)}, ${code('ups')}` : code(card.name),
    code(`message.${card.message.object}`),
    card.reportsReceipts ? 'yes' : 'no',
    `${card.limits.perDevicePerDay ?? '–'}`,
  ])
  return table(
    [
      '`provider`',
      'vendor',
      'channel',
      'word in `ospush_sequence`',
      'fields of a message',
      'receipts',
      'marketing per device and day',
    ],
    rows,
  )
}

function messageFields({ message }: Card): string {
  const object = code(`message.${message.object}`)
  const own = Object.keys(message.fields).length > 0 ? fieldsTable(message.fields) : ''
  if (!message.android) return `${object}:\n\n${own}`
  const channel = message.inheritsChannel ? '' : `, except \`channel_id\`, which is registered per vendor`
  return `${object} has the [fields of \`message.android\`](README.md#message-fields); what it leaves out is taken from \`message.android\`${channel}.${own && ` Its own fields:\n\n${own}`}`
}

function fieldsTable(fields: Readonly<Record<string, MessageField>>): string {
  const rows = Object.entries(fields).map(([name, field]) => [
    code(name),
    valuesOf(field),
    field.about ?? field.label.en,
  ])
  return table(['field', 'values', 'meaning'], rows)
}

function valuesOf(field: MessageField): string {
  switch (field.type) {
    case 'choice':
      return field.choices.map(code).join(', ')
    case 'flag':
      return '`true`, `false`'
    case 'object':
      return 'JSON object'
    case 'text':
      if (field.maxBytes) return `text, at most ${field.maxBytes} bytes`
      // A larger limit only bounds the request.
      return field.maxLength && field.maxLength < 10_000
        ? `text, at most ${field.maxLength} characters`
        : 'text'
  }
}
