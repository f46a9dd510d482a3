import { androidFields, type Card, cards } from '@herald/channels/cards'
import { describe, expect, it } from '@jest/globals'
import { fillSection } from '../generated-sections.ts'
import { translationPath } from '../page-structure.ts'
import { vendorSections } from '../vendor-sections.ts'
import { read } from './deployed-programs.ts'

it.each(Object.entries(vendorSections))(
  'the generated sections of %s are up to date; `node scripts/write-generated-sections.ts` writes them',
  (path, sections) => {
    const page = read(path)
    const written = Object.entries(sections).reduce(
      (text, [name, content]) => fillSection(text, name, content),
      page,
    )
    expect(written).toBe(page)
  },
)

it('texts of a card have the same code in both languages', () => {
  const codeIn = (text: string) => new Set(text.match(/`[^`]+`/g))
  const differing = (value: unknown): string[] => {
    if (typeof value !== 'object' || value === null) return []
    if (!('en' in value && 'zh' in value)) return Object.values(value).flatMap(differing)
    const [english, chinese] = [String(value.en), String(value.zh)]
    const isSame = chinese !== '' && codeIn(english).symmetricDifference(codeIn(chinese)).size === 0
    return isSame ? [] : [`${english} / ${chinese}`]
  }
  expect(differing([cards, androidFields])).toEqual([])
  expect(differing({ about: { en: 'use `a`', zh: '使用 `b`' } })).toEqual(['use `a` / 使用 `b`'])
})

describe.each(cards.map((card: Card): [string, Card] => [card.name, card]))(
  'the page of %s',
  (name, card) => {
    const page = read(`docs/vendors/${name}.md`)
    const rows = page.match(/^\|.*\|$/gm) ?? []
    /** Names in the first cell of the tables. */
    const named = new Set(
      rows.flatMap((row) => (row.split(' | ')[0]!.match(/`[^`]+`/g) ?? []).map((word) => word.slice(1, -1))),
    )
    const fields = card.credentials.flatMap((form) => form.fields.map(({ to }) => to))

    it('names the provider and the channel', () => {
      expect(page).toMatch(
        new RegExp(`^Provider ${card.provider}, channel \`${card.publicName ?? name}\``, 'm'),
      )
      expect(read(translationPath(`docs/vendors/${name}.md`))).toMatch(
        new RegExp(
          `^[^\\d\\n]*provider[^\\d\\n]*${card.provider}，[^\\n]*\`${card.publicName ?? name}\``,
          'm',
        ),
      )
    })

    it('explains every field of the certificate', () => {
      const keys = fields.map((to) => to.replace('extra.', ''))
      const classKeys = Object.keys(card.classFields).map((key) => `classes.*.${key}`)
      const missing = [...keys, ...classKeys].filter((key) => !named.has(key) && !named.has(`extra.${key}`))
      expect(missing).toEqual([])
    })

    it('explains no key of `extra` that does not exist', () => {
      const [, table = ''] = /^\| `extra` \| meaning \|\n\|---\|---\|\n((?:\|.*\n)*)/m.exec(page) ?? []
      const settings = read(`packages/channels/src/${name}/settings.ts`)
      const keys = table
        .split('\n')
        .flatMap((row) => (row.split(' | ')[0]!.match(/`[^`]+`/g) ?? []).map((word) => word.slice(1, -1)))
      const isKnown = (key: string) =>
        key.startsWith('classes.*.')
          ? key.slice('classes.*.'.length) in card.classFields
          : fields.includes(`extra.${key}`) || settings.includes(key)
      expect(keys.filter((key) => !isKnown(key))).toEqual([])
    })
  },
)
