import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'

const read = (path: string) => readFileSync(join(import.meta.dirname, path), 'utf8')
const flat = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('import '))
    .join('\n')

it('the examples of the README are type-checked', () => {
  const examples = [...read('../README.md').matchAll(/```ts\n(.*?)```/gs)].map(([, text]) => flat(text!))
  const checked = flat(read('readme-examples.ts'))
  expect(examples.length).toBeGreaterThan(0)
  for (const example of examples) expect(checked).toContain(example)
})
