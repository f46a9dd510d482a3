import { globSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { openApiDocument } from '@herald/api'
import { describe, expect, it } from '@jest/globals'

const root = join(import.meta.dirname, '../..')

/** Phrases that are hard to read, and what to write instead. Lower case matches both cases, a space also a line break. */
const denied = Object.entries({
  'so (many|much|often|long as)': 'the number, "maximum number of", "while"',
  '(once|one) a (batch|call|device|job|line|recipient|request|task|vendor)': 'per',
  anew: 'again',
  'mend(s|ed|ing)?': 'fix',
  'nam(e|es|ed|ing) again': 'enqueue again',
  'under way': 'in progress, in flight',
  'meanwhile|thereby|whereby|thereupon|upon|hitherto': 'nothing, or a new sentence',
  'whom|whoever|whosoever': 'a sentence with a subject',
  'Answers (a|an|all|how|if|none|one|only|the|those|what|when|where|whether|which|who|with)': 'Returns',
  'at the door': 'on input, before it starts',
  'be a device': 'test device',
  'what (becomes|became) of': 'result',
  'told of': 'reported, notified',
  'all the same': 'anyway',
  'for ever': 'forever',
  '(is|are|was|were) no JSON': 'not valid JSON',
  'the books': 'the counters, the ledger',
  'of processor': 'CPU time',
}).map(([phrase, instead]) => ({
  instead,
  expression: new RegExp(
    `\\b(?:${phrase.replaceAll(' ', '\\s+')})\\b`,
    phrase === phrase.toLowerCase() ? 'gi' : 'g',
  ),
}))

const texts = globSync(
  [
    '*.md',
    'docs/**/*.md',
    '{apps,packages}/*/README.md',
    'deploy/**/*.{md,yml,yaml,json}',
    '{apps,packages}/*/{src,test}/**/*.{ts,tsx,js}',
    '{bench,scripts}/**/*.{ts,mjs}',
  ],
  { cwd: root },
)
  .map((path) => path.split(sep).join('/'))
  .filter((path) => !path.includes('/generated/') && !path.endsWith('plain-words.spec.ts'))
  .sort()
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))

const findDenied = (text: string) =>
  denied.flatMap(({ expression, instead }) =>
    [...text.matchAll(expression)].map(
      ({ 0: phrase, index }) =>
        `${text.slice(0, index).split('\n').length}: ${phrase.replace(/\s+/g, ' ')} (write: ${instead})`,
    ),
  )

describe('texts', () => {
  it('use plain words', () => {
    const all = [...texts, { path: 'OpenAPI', text: JSON.stringify(openApiDocument(), null, 1) }]
    expect(all.length).toBeGreaterThan(500)
    expect(all.flatMap(({ path, text }) => findDenied(text).map((found) => `${path}:${found}`))).toEqual([])
  })

  it.each([
    ['Answers whether it is there.', ['1: Answers whether (write: Returns)']],
    ['Twice.\nSo\nmany entries anew', [expect.stringMatching(/^2: So many /), '3: anew (write: again)']],
    ['The gateway answers the call; recommended, also many, one approach', []],
  ])('are searched for others: %j', (text, found) => {
    expect(findDenied(text)).toEqual(found)
  })
})
