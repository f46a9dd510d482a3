import {
  androidFields,
  type Card,
  type CarryingWord,
  cards,
  type MessageField,
  type SharedField,
} from '@herald/channels/cards'
import { table } from './generated-sections.ts'

const code = (text: string | number) => `\`${text}\``

/** Generated sections of the vendor pages, by path and name. */
export const vendorSections: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'docs/concepts.md': { fields: sharedFieldsTable() },
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

/** The fields that not every vendor carries, in the order of the table. */
function sharedFieldNames(): Readonly<Record<SharedField, string>> {
  return {
    cmd: '`type` `cmd`',
    big_text: '`big_text`',
    attachment_url: 'picture: `type` `image`, `attachment_url`',
    badge: '`badge`',
    sound: '`android.sound`, `ios.sound`',
    channel_id: '`android.channel_id`',
    intent: '`android.click_action` `intent`',
    url: '`click_action` `url`, `url`',
    collapse_key: '`collapse_key`',
    foreground: '`foreground`',
    urgent: '`urgent`',
  }
}

function sharedFieldsTable(): string {
  const list: readonly Card[] = cards
  const named = Object.entries(sharedFieldNames()) as [SharedField, string][]
  const rows = named.map(([field, name]) => [
    name,
    ...list.map(({ carries }) => {
      const carrying = carries[field]
      return typeof carrying === 'string' ? wordOf(carrying) : `${wordOf(carrying.is)} *`
    }),
  ])
  const remarks = named.flatMap(([field, name]) => {
    const said = list.flatMap(({ title, carries }) => {
      const carrying = carries[field]
      return typeof carrying === 'string' ? [] : [`${title.en}: ${carrying.remark}`]
    })
    return said.length > 0 ? [`- ${name}: ${said.join('. ')}.`] : []
  })
  const head = ['field', ...list.map(({ name, title }) => `[${title.en}](vendors/${name}.md)`)]
  return `${table(head, rows)}\n\n\\* with a remark:\n\n${remarks.join('\n')}`
}

function wordOf(word: CarryingWord): string {
  return word === 'no' ? '–' : word
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
    case 'number':
      return `${field.whole ? 'integer' : 'number'} from ${field.min} to ${field.max}`
    case 'list':
      return `up to ${field.maxItems} texts`
    case 'object':
      return 'JSON object'
    case 'record':
      return `object: ${Object.entries(field.fields)
        .map(([name, { required }]) => (required ? code(name) : `${code(name)}?`))
        .join(', ')}`
    case 'text':
      if (field.maxBytes) return `text, at most ${field.maxBytes} bytes`
      // A larger limit only bounds the request.
      return field.maxLength && field.maxLength < 10_000
        ? `text, at most ${field.maxLength} characters`
        : 'text'
  }
}
