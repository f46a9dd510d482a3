import { androidFields, type Card, cards, type MessageField, type SharedField } from '@herald/channels/cards'
import { type Language, reasonsTable, table } from './generated-sections.ts'
import { translationPath } from './page-structure.ts'
import { type Words, wordsOf } from './vendor-section-words.ts'

const code = (text: string | number) => `\`${text}\``

const languages: readonly Language[] = ['en', 'zh']

/** Generated sections of the vendor pages and of what concepts.md says about vendors, in all languages, by path and name. */
export const vendorSections: Readonly<Record<string, Readonly<Record<string, string>>>> = Object.fromEntries(
  languages.flatMap((language) => {
    const path = (english: string) => (language === 'en' ? english : translationPath(english))
    return [
      [path('docs/concepts.md'), { fields: sharedFieldsTable(language), reasons: reasonsTable(language) }],
      [
        path('docs/vendors/README.md'),
        { vendors: vendorsTable(language), android: fieldsTable(androidFields, language) },
      ],
      ...cards.map((card) => [
        path(`docs/vendors/${card.name}.md`),
        { fields: messageFields(card, language) },
      ]),
    ]
  }),
)

function vendorsTable(language: Language): string {
  const words = wordsOf[language]
  const rows = cards.map((card: Card) => [
    `${card.provider}`,
    `[${card.title[language]}](${card.name}.md)`,
    code(card.publicName ?? card.name),
    card.solePlatform ? '–' : [card.name, ...(card.inUps ? ['ups'] : [])].map(code).join(words.comma),
    code(`message.${card.message.object}`),
    card.reportsReceipts ? words.receipts : words.noReceipts,
    `${card.limits.perDevicePerDay ?? '–'}`,
  ])
  return table(words.vendorsHead, rows)
}

/** The fields that not every vendor carries, in the order of the table, by the names that a message has for them. */
function sharedFieldNames(): Readonly<Record<SharedField, readonly string[]>> {
  return {
    cmd: ['`type` `cmd`'],
    big_text: ['`big_text`'],
    attachment_url: ['`type` `image`', '`attachment_url`'],
    badge: ['`badge`'],
    sound: ['`android.sound`', '`ios.sound`'],
    channel_id: ['`channel_id`'],
    intent: ['`android.click_action` `intent`'],
    url: ['`click_action` `url`', '`url`'],
    collapse_key: ['`collapse_key`'],
    foreground: ['`foreground`'],
    urgent: ['`urgent`'],
  }
}

function sharedFieldsTable(language: Language): string {
  const words = wordsOf[language]
  const list: readonly Card[] = cards
  const named = (Object.entries(sharedFieldNames()) as [SharedField, readonly string[]][]).map(
    ([field, names]) =>
      [field, `${field === 'attachment_url' ? words.picture : ''}${names.join(words.comma)}`] as const,
  )
  const rows = named.map(([field, name]) => [
    name,
    ...list.map(({ carries }) => {
      const carrying = carries[field]
      return typeof carrying === 'string' ? words.carrying[carrying] : `${words.carrying[carrying.is]} *`
    }),
  ])
  const remarks = named.flatMap(([field, name]) => {
    const said = list.flatMap(({ title, carries }) => {
      const carrying = carries[field]
      return typeof carrying === 'string'
        ? []
        : [{ vendor: title[language], remark: carrying.remark[language] }]
    })
    return said.length > 0 ? [`- ${words.remarks(name, said)}`] : []
  })
  const head = [words.field, ...list.map(({ name, title }) => `[${title[language]}](vendors/${name}.md)`)]
  return `${table(head, rows)}\n\n\\* ${words.withRemark}\n\n${remarks.join('\n')}`
}

function messageFields({ message }: Card, language: Language): string {
  const words = wordsOf[language]
  const object = code(`message.${message.object}`)
  const hasOwn = Object.keys(message.fields).length > 0
  const intro = message.android
    ? words.inherits(object, message.inheritsChannel ?? false, hasOwn)
    : words.onlyOwn(object)
  return hasOwn ? `${intro}\n\n${fieldsTable(message.fields, language)}` : intro
}

function fieldsTable(fields: Readonly<Record<string, MessageField>>, language: Language): string {
  const words = wordsOf[language]
  const rows = Object.entries(fields).map(([name, field]) => [
    code(name),
    valuesOf(field, words),
    (field.about ?? field.label)[language],
  ])
  return table(words.fieldsHead, rows)
}

function valuesOf(field: MessageField, words: Words): string {
  switch (field.type) {
    case 'choice':
      // A number without a text is refused.
      return field.choices
        .filter((choice) => typeof choice === 'string' || Object.hasOwn(field.choiceTexts, choice))
        .map(code)
        .join(words.comma)
    case 'flag':
      return ['true', 'false'].map(code).join(words.comma)
    case 'number':
      return words.number(field.min, field.max, field.whole ?? false)
    case 'list':
      return words.list(field.maxItems)
    case 'object':
      return words.object
    case 'record':
      return words.record(
        Object.entries(field.fields)
          .map(([name, { required }]) => (required ? code(name) : `${code(name)}?`))
          .join(words.comma),
      )
    case 'text':
      if (field.maxBytes) return words.textOfBytes(field.maxBytes)
      // A larger limit only bounds the request.
      return field.maxLength && field.maxLength < 10_000
        ? words.textOfCharacters(field.maxLength)
        : words.text
  }
}
