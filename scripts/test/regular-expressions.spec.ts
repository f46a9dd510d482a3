import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { describe, expect, it } from '@jest/globals'
import { parseSync } from '@swc/core'

const root = join(import.meta.dirname, '../..')
/** On a text of this length, linear time is a tenth of a millisecond, quadratic a second, exponential does not end. */
const LENGTH = 24 * 1024
const MAX_MS = 100
/** Wall time for all texts of one expression. */
const TIMEOUT_MS = 5_000

/**
 * Expressions that take quadratic time on texts that an attacker cannot make long, with the reason. If such a text may become
 * long, the expression must be changed.
 */
const bounded: Record<string, string> = {
  '/\\/+$/': 'URLs in settings, and URLs that a program passes to its own client',
  '/^assets\\/.+-[\\w-]{8,}\\.\\w+$/': 'names of files that our own build wrote',
}

type Found = { source: string; flags: string; files: string[] }

/** All regular expressions of the product, from the syntax tree. */
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

/** Runs an expression on many texts, in a thread because an exponential one never returns. */
const thread = `
const { parentPort } = require('node:worker_threads')
parentPort.on('message', ({ source, flags, length }) => {
  const pumps = ['a', 'A', '0', '_', ' ', '\\t', '\\n', '/', '.', '-', ':', '=', ';', ',', '@', '#', '"', "'", '\\\\', '[', '{',
    '(', '*', '+', '%', 'é', 'a.', 'a-', 'a/', 'a=', 'a;', 'a@', '0.', '0,', ' a', 'ab', '\\r\\n', '://', 'a:', '\\\\"']
  // The literal start of the expression, so that the part after it is reached.
  const lead = /^\\^?((?:[\\w :;,=@#"'-]|\\\\[\\/.])+)/.exec(source)?.[1]?.replaceAll('\\\\', '') ?? ''
  let worst = { ms: 0, pump: '' }
  for (const before of new Set(['', lead, lead.slice(0, -1)]))
    for (const pump of pumps)
      for (const after of ['!', '\\n']) {
        const text = before + pump.repeat(length / pump.length) + after
        let ms = Infinity
        for (let n = 0; n < 2 && ms > ${MAX_MS}; n++) {
          const began = process.threadCpuUsage().user
          new RegExp(source, flags).test(text)
          ms = Math.min(ms, (process.threadCpuUsage().user - began) / 1000)
        }
        if (ms > worst.ms) worst = { ms, pump: JSON.stringify(before + pump + '…' + after) }
        if (worst.ms > ${MAX_MS}) return parentPort.postMessage(worst)
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
        TIMEOUT_MS,
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
  it('of the product take linear time on long hostile texts', async () => {
    const all = findAll()
    expect(all.length).toBeGreaterThan(100)
    const worst = await worstOf(all)
    const slow = all.flatMap(({ source, flags, files }, i) =>
      worst[i]!.ms > MAX_MS
        ? [`/${source}/${flags} (${files.join(', ')}): ${worst[i]!.ms} ms on ${worst[i]!.pump}`]
        : [],
    )
    const unexplained = slow.filter((line) => !Object.keys(bounded).some((known) => line.startsWith(known)))
    expect(unexplained).toEqual([])
    expect(Object.keys(bounded).filter((known) => !slow.some((line) => line.startsWith(known)))).toEqual([])
  }, 300_000)

  it('that are slow are found', async () => {
    const [good, square, exponential] = await worstOf([
      { source: '^[a-z]+$', flags: '' },
      { source: '\\s+$', flags: '' },
      { source: '^(a+)+$', flags: '' },
    ])
    expect(good!.ms).toBeLessThan(MAX_MS)
    expect(square!.ms).toBeGreaterThan(MAX_MS)
    expect(exponential!.ms).toBeGreaterThan(MAX_MS)
  }, 120_000)
})
