import { existsSync, globSync } from 'node:fs'
import { join, sep } from 'node:path'
import { cards } from '@herald/channels/cards'
import { describe, expect, it } from '@jest/globals'
import { findDifferences, findEnglishLinks, translationPath } from '../page-structure.ts'
import { read, root } from './deployed-programs.ts'

const exists = (path: string) => existsSync(join(root, path))
const pageAt = (path: string) => ({ path, text: read(path) })
const chinesePaths = globSync('docs/zh/**/*.md', { cwd: root })
  .map((path) => path.split(sep).join('/'))
  .sort()
const englishPath = (path: string) => path.replace(/^docs\/zh\//, 'docs/')

describe('the Chinese pages', () => {
  it('are those that a reader needs to start, to run Herald and to set up the vendors', () => {
    const needed = ['getting-started', 'concepts', 'deployment', 'operations', 'vendors/README'].concat(
      cards.map(({ name }) => `vendors/${name}`),
    )
    const paths = needed.map((name) => `docs/${name}.md`)
    expect(paths.filter((path) => !exists(path))).toEqual([])
    expect(paths.map(translationPath).filter((path) => !exists(path))).toEqual([])
  })

  it('are translations of pages that exist', () => {
    expect(chinesePaths.filter((path) => !exists(englishPath(path)))).toEqual([])
  })

  it.each(chinesePaths)('%s has the structure of the English page', (path) => {
    expect(findDifferences(pageAt(englishPath(path)), pageAt(path))).toEqual([])
  })

  it.each([...chinesePaths, 'README.zh-CN.md'])('%s links to Chinese pages', (path) => {
    expect(findEnglishLinks(pageAt(path), (other) => exists(translationPath(other)))).toEqual([])
  })
})

/** Two pages with the same structure; a case changes one of them. */
const english = `# Title

[简体中文](zh/a.md)

## First
<a id="own"></a>

\`\`\`sh
# export the key
curl "$BASE_URL/push" -d '{"a":1}' # sends it
\`\`\`

| field | meaning |
|---|---|
| \`a\` | one \\| two |
| \`b\` | three |

<!-- fields: written by a script -->
<!-- /fields -->

### Second

\`\`\`json
{"text": "a // b"}
\`\`\`
`
const chinese = `# 标题

[English](../a.md)

## 第一节
<a id="own"></a>

\`\`\`sh
# 导出密钥
curl "$BASE_URL/push" -d '{"a":1}' # 发送
\`\`\`

| 字段 | 含义 |
| --- | --- |
| \`a\` | 一 \\| 二 |
| \`b\` | 三 |

<!-- fields: written by a script -->
<!-- /fields -->

### 第二节

\`\`\`json
{"text": "a // b"}
\`\`\`
`

describe('findDifferences', () => {
  const differences = (text: string, of = english) =>
    findDifferences({ path: 'docs/a.md', text: of }, { path: 'docs/zh/a.md', text })
  const changed = (from: string, to: string) => {
    expect(chinese).toContain(from)
    return differences(chinese.replace(from, to))
  }

  it('accepts translated headings, comments and cells', () => {
    expect(differences(chinese)).toEqual([])
  })

  it.each([
    [
      '[English](../a.md)',
      '',
      'docs/zh/a.md:3 must be [English](../a.md), between empty lines, for docs/a.md:1',
    ],
    ['### 第', '## 第', 'docs/zh/a.md:21 has a heading of level 2, but docs/a.md:21 has one of level 3'],
    ['id="own"', 'id="自己"', 'docs/zh/a.md:6 and docs/a.md:6: the anchors 自己 and own differ'],
    ['```sh', '```bash', 'docs/zh/a.md:8 and docs/a.md:8: code blocks of "bash" and "sh"'],
    ['# 导出密钥', 'export KEY', 'docs/zh/a.md:9 and docs/a.md:9: the code differs'],
    ['# 导出密钥', '# 导出\n# 密钥', 'docs/zh/a.md:10 and docs/a.md:10: the code differs'],
    ['{"a":1}', '{"a":2}', 'docs/zh/a.md:10 and docs/a.md:10: the code differs'],
    [' # 发送', '', 'docs/zh/a.md:10 and docs/a.md:10: the code differs'],
    ['# 发送\n', '# 发送\nls\n', 'docs/zh/a.md:8 and docs/a.md:8: code blocks of 3 and 2 lines'],
    ['"a // b"', '"a // 乙"', 'docs/zh/a.md:24 and docs/a.md:24: the code differs'],
    ['| `b` | 三 |\n', '', 'docs/zh/a.md:13 and docs/a.md:13: tables of 3 and 4 lines'],
    ['| 三 |', '| 三 | 四 |', 'docs/zh/a.md:16 and docs/a.md:16: rows of 3 and 2 cells'],
    ['| `b` |', '| `c` |', 'docs/zh/a.md:16 and docs/a.md:16: the rows are named `c` and `b`'],
    ['a script', 'hand', 'docs/zh/a.md:18 and docs/a.md:18: the comments differ'],
    ['<a id="own"></a>', '', 'docs/zh/a.md:8 and docs/a.md:6: code block instead of anchor'],
    ['<!-- /fields -->', '', 'docs/a.md:19: this comment is missing in the section at docs/zh/a.md:5'],
    [
      '<!-- /fields -->',
      '<!-- /fields -->\n<!-- -->',
      'docs/zh/a.md:20: this comment is missing in the section at docs/a.md:5',
    ],
  ])('reports that %j became %j', (from, to, sentence) => {
    expect(changed(from, to)).toEqual([sentence])
  })

  it('reports a heading that only one of the pages has', () => {
    const more = '\n## 更多\n'
    expect(differences(chinese + more)).toEqual([
      'docs/zh/a.md:27 has a heading that is missing after docs/a.md:21',
    ])
    expect(differences(chinese, english + more)).toEqual([
      'docs/a.md:27 has a heading that is missing after docs/zh/a.md:21',
    ])
  })

  it('reports a page without a link to its translation', () => {
    expect(differences(chinese, english.replace('简体中文', '中文'))).toEqual([
      'docs/a.md:3 must be [简体中文](zh/a.md), between empty lines, for docs/zh/a.md:1',
    ])
  })

  it('goes on with the next section after a difference', () => {
    const text = chinese.replace('<a id="own"></a>', '').replace('"a // b"', '"b"')
    expect(differences(text)).toHaveLength(2)
  })
})

describe('findEnglishLinks', () => {
  const found = (text: string) =>
    findEnglishLinks({ path: 'docs/zh/vendors/a.md', text }, (path) =>
      ['docs/b.md', 'docs/vendors/a.md'].includes(path),
    )

  it.each([
    '# 标题\n\n[English](../../vendors/a.md)',
    '[中文](../b.md#标题)',
    '[只有英文](../../c.md) [仓库](../../../README.md) [外部](https://example.com/docs/b.md)',
    '[本页](#标题)',
  ])('accepts %j', (text) => {
    expect(found(text)).toEqual([])
  })

  it.each([
    ['[b](../../b.md#two)', 'docs/zh/vendors/a.md:1 links to docs/b.md, which is docs/zh/b.md in Chinese'],
    [
      '[English](../../vendors/a.md)',
      'docs/zh/vendors/a.md:1 links to docs/vendors/a.md, which is docs/zh/vendors/a.md in Chinese',
    ],
  ])('reports %j', (text, sentence) => {
    expect(found(text)).toEqual([sentence])
  })
})
