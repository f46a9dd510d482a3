import { globSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { type Card, cards } from '@herald/channels/cards'
import { expect, it } from '@jest/globals'

const root = join(import.meta.dirname, '../..')
const names = cards.map(({ name }) => name).join('|')
/** The list of vendors, and the folders of each; a vendor's own protocol may mention another vendor. */
const allowed = new RegExp(
  `^(packages/channels/src/cards\\.ts$|packages/(channels|simulators)/src/(${names})/|apps/worker-(${names})/)`,
)

/** Without specs, which may use any vendor as an example, and migrations, which never change. */
const sources = globSync(['{apps,packages}/*/src/**/*.*', 'scripts/**/*.*', 'prisma/schema.prisma'], {
  cwd: root,
  exclude: (path) => /(^|[\\/])(node_modules|generated|dist|test)$/.test(path),
})
  .map((path) => path.split(sep).join('/'))
  .filter((path) => !allowed.test(path) && !path.endsWith('.md'))
  .map((path) => ({ path, lines: readFileSync(join(root, path), 'utf8').split('\n') }))

it('searches the sources', () => {
  expect(sources.length).toBeGreaterThan(400)
})

it.each(cards.map((card: Card) => [card.name, card.publicName]))(
  '%s is named only in its own folders: code elsewhere reads its card',
  (name, publicName) => {
    const search = new RegExp([name, publicName].filter(Boolean).join('|'), 'i')
    const found = sources.flatMap(({ path, lines }) =>
      lines.flatMap((line, at) => (search.test(line) ? [`${path}:${at + 1}: ${line.trim()}`] : [])),
    )
    expect(found).toEqual([])
  },
)
