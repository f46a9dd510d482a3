import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { anchorsOf, findBrokenLinks, linksOf } from '../docs-links.ts'

const root = join(import.meta.dirname, '../..')

describe('the documents', () => {
  const pages = globSync('**/*.md', {
    cwd: root,
    exclude: (path) => /(^|[\\/])(node_modules|dist|\.herald|\.git)$/.test(path),
  }).map((path) => ({ path: path.split(sep).join('/'), text: readFileSync(join(root, path), 'utf8') }))

  it('link to files and headings that exist', () => {
    expect(pages.length).toBeGreaterThan(20)
    expect(findBrokenLinks(pages, (path) => existsSync(join(root, path)))).toEqual([])
  })

  it('can all be reached from the README', () => {
    const links = new Map(pages.map(({ path, text }) => [path, linksOf(text)]))
    const found = new Set(['README.md'])
    for (const path of found)
      for (const { target } of links.get(path) ?? []) {
        const next = join(path, '..', target.split('#')[0] || '.')
          .split(sep)
          .join('/')
        if (links.has(next)) found.add(next)
      }
    const guides = pages.map(({ path }) => path).filter((path) => path.startsWith('docs/'))
    expect(guides.filter((path) => !found.has(path))).toEqual([])
  })
})

describe('findBrokenLinks', () => {
  const broken = (text: string) =>
    findBrokenLinks(
      [
        { path: 'docs/a.md', text },
        { path: 'docs/b.md', text: '# One\n## Two words, `code` & more\n## One\n<a id="own"></a>' },
      ],
      (path) => ['docs/a.md', 'docs/b.md', 'docs/images', 'README.md'].includes(path),
    )

  it.each([
    '[up](../README.md)',
    '[a folder](images)',
    '[b](b.md#one) [again](b.md#one-1) [own](b.md#own)',
    '[b](b.md#two-words-code--more)',
    '## Here\n[here](#here)',
    '[out](https://example.com/x#y) [mail](mailto:a@example.com)',
    '`[code](nowhere.md)`',
    '```md\n[code](nowhere.md)\n```',
  ])('accepts %j', (text) => {
    expect(broken(text)).toEqual([])
  })

  it.each([
    ['[c](c.md)', 'docs/a.md:1 links to c.md, but docs/c.md does not exist'],
    ['\n![c](images/c.png)', 'docs/a.md:2 links to images/c.png, but docs/images/c.png does not exist'],
    ['[b](b.md#three)', 'docs/a.md:1 links to b.md#three, but docs/b.md has no such heading'],
    ['[b](b.md#one-2)', 'docs/a.md:1 links to b.md#one-2, but docs/b.md has no such heading'],
    ['[here](#nowhere)', 'docs/a.md:1 links to #nowhere, but docs/a.md has no such heading'],
    ['[ref]\n\n[ref]: c.md', 'docs/a.md:3 links to c.md, but docs/c.md does not exist'],
    ['<img src="c.png">', 'docs/a.md:1 links to c.png, but docs/c.png does not exist'],
  ])('reports %j', (text, sentence) => {
    expect(broken(text)).toEqual([sentence])
  })
})

describe('anchorsOf', () => {
  it('ignores comments in code blocks', () => {
    expect([...anchorsOf('# 中文 标题\n```sh\n# not one\n```\n### A (b)')]).toEqual(['中文-标题', 'a-b'])
  })
})
