import { expect, it } from '@jest/globals'
import { textList } from '../src/ledger/batch-rows.ts'
import { useDatabase } from './setup.ts'

const db = useDatabase({ max: 1 })

it.each<[string, (string | undefined)[]]>([
  ['no text', []],
  ['plain texts', ['a', 'b c', '']],
  ['quotation marks and backslashes', ['a"b', 'c\\d', '\\', '\\\\', '\\"', '\\n', '\\\\t', '\\u0041']],
  ['what has a meaning in a literal', ['{a,b}', 'NULL', 'null', '{}', ',', ' a ']],
  ['undefined', ['a', undefined, 'b']],
  ['control characters', ['a\tb', 'c\nd', '\u0001', '\\\t', '\u007f']],
  ['other scripts', ['последний', '\u2028', '😀']],
])('a list of texts arrives as it is: %s', async (_, texts) => {
  const { rows } = await db.pool.query({ text: 'SELECT $1::text[] AS texts', values: [textList(texts)] })
  expect(rows[0].texts).toEqual(texts.map((text) => text ?? null))
})

it('a list of usual texts is one text for the driver', () => {
  expect(textList(['a"b', 'c\\d', undefined])).toBe('{"a\\"b","c\\\\d",null}')
})
