import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { describe, expect, it } from '@jest/globals'
import { parseSync } from '@swc/core'

const root = join(import.meta.dirname, '../..')
/** A linear search of so many characters takes a tenth of a millisecond, a quadratic one a second, an exponential one for ever. */
const LENGTH = 24 * 1024
const MOST_MS = 100
/** By the clock, for all texts of one expression together: they take milliseconds, or for ever. */
const GIVE_UP_MS = 5_000

/**
 * Expressions that take quadratic time on texts nobody unknown can make long, each with what bounds it. Whoever lets such a
 * text grow has to mend the expression.
 */
const bounded: Record<string, string> = {
  '/\\/+$/': 'addresses of settings, and those a program gives its own client',
  '/^assets\\/.+-[\\w-]{8,}\\.\\w+$/': 'names of files that our own build wrote',
}

type Found = { source: string; flags: string; files: string[] }

/** Every regular expression of the product, read from the syntax and not from the text. */
function findAll(): Found[] {
  const found = new Map<string, Found>()
  for (const file of globSync('{apps,packages}/*/src/**/*.{ts,tsx}', { cwd: root }).sort()) {
    if (file.includes('/generated/')) continue
    const tree = parseSync(readFileSync(join(root, file), 'utf8'), {
      syntax: 'typescript',
      tsx: file.endsWith('x'),
    })
    visit(tree, (source, flags) => {
      const key = `/${source}/${flags}`
      const known = found.get(key) ?? { source, flags, files: [] }
      if (!known.files.includes(file)) known.files.push(file)
      found.set(key, known)
    })
  }
  return [...found.values()]
}

function visit(node: unknown, onExpression: (source: string, flags: string) => void): void {
  if (typeof node !== 'object' || node === null) return
  if (Array.isArray(node)) {
    for (const item of node) visit(item, onExpression)
    return
  }
  const { type, pattern, flags } = node as { type?: string; pattern?: string; flags?: string }
  if (type === 'RegExpLiteral') onExpression(pattern!, flags ?? '')
  else for (const value of Object.values(node)) visit(value, onExpression)
}

/** Tries an expression on one text after the other; a thread, because an exponential one never comes back. */
const thread = `
const { parentPort } = require('node:worker_threads')
parentPort.on('message', ({ source, flags, length }) => {
  const pumps = ['a', 'A', '0', '_', ' ', '\\t', '\\n', '/', '.', '-', ':', '=', ';', ',', '@', '#', '"', "'", '\\\\', '[', '{',
    '(', '*', '+', '%', 'é', 'a.', 'a-', 'a/', 'a=', 'a;', 'a@', '0.', '0,', ' a', 'ab', '\\r\\n', '://', 'a:', '\\\\"']
  // Beginnings of the expression itself, so that what stands behind its first words is reached, too.
  const lead = /^\\^?((?:[\\w :;,=@#"'-]|\\\\[\\/.])+)/.exec(source)?.[1]?.replaceAll('\\\\', '') ?? ''
  let worst = { ms: 0, pump: '' }
  for (const before of new Set(['', lead, lead.slice(0, -1)]))
    for (const pump of pumps)
      for (const after of ['!', '\\n']) {
        const text = before + pump.repeat(length / pump.length) + after
        let ms = Infinity
        for (let n = 0; n < 2 && ms > ${MOST_MS}; n++) {
          const began = process.threadCpuUsage().user
          new RegExp(source, flags).test(text)
          ms = Math.min(ms, (process.threadCpuUsage().user - began) / 1000)
        }
        if (ms > worst.ms) worst = { ms, pump: JSON.stringify(before + pump + '…' + after) }
        if (worst.ms > ${MOST_MS}) return parentPort.postMessage(worst)
      }
  parentPort.postMessage(worst)
})`

async function worstOf(
  expressions: { source: string; flags: string }[],
): Promise<{ ms: number; pump: string }[]> {
  let worker = new Worker(thread, { eval: true })
  const results: { ms: number; pump: string }[] = []
  for (const expression of expressions) {
    const result = await new Promise<{ ms: number; pump: string }>((resolve) => {
      const timer = setTimeout(
        () => resolve({ ms: Number.POSITIVE_INFINITY, pump: 'never ends' }),
        GIVE_UP_MS,
      )
      worker.once('message', (worst) => {
        clearTimeout(timer)
        resolve(worst)
      })
      worker.postMessage({ ...expression, length: LENGTH })
    })
    if (result.ms === Number.POSITIVE_INFINITY) {
      await worker.terminate()
      worker = new Worker(thread, { eval: true })
    }
    results.push(result)
  }
  await worker.terminate()
  return results
}

describe('regular expressions', () => {
  it('of the product take no more than linear time on long hostile texts', async () => {
    const all = findAll()
    expect(all.length).toBeGreaterThan(100)
    const worst = await worstOf(all)
    const slow = all.flatMap(({ source, flags, files }, i) =>
      worst[i]!.ms > MOST_MS
        ? [`/${source}/${flags} (${files.join(', ')}): ${worst[i]!.ms} ms on ${worst[i]!.pump}`]
        : [],
    )
    const unexplained = slow.filter((line) => !Object.keys(bounded).some((known) => line.startsWith(known)))
    expect(unexplained).toEqual([])
    expect(Object.keys(bounded).filter((known) => !slow.some((line) => line.startsWith(known)))).toEqual([])
  }, 300_000)

  it('that are slow would be found', async () => {
    const [good, square, exponential] = await worstOf([
      { source: '^[a-z]+$', flags: '' },
      { source: '\\s+$', flags: '' },
      { source: '^(a+)+$', flags: '' },
    ])
    expect(good!.ms).toBeLessThan(MOST_MS)
    expect(square!.ms).toBeGreaterThan(MOST_MS)
    expect(exponential!.ms).toBeGreaterThan(MOST_MS)
  }, 120_000)
})
