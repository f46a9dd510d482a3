import { type Card, cards } from '@herald/channels/cards'
import { describe, expect, it } from '@jest/globals'
import { fillSection } from '../generated-sections.ts'
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
