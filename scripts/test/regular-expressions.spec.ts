import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { parseSync } from '@swc/core'
import { charactersOf, compile, countSteps } from './backtracking-steps.ts'

const root = join(import.meta.dirname, '../..')
/** From a text of this length to one of twice the length, linear work grows by 2, quadratic by 4. */
const LENGTH = 400
const MAX_GROWTH = 3
/** Cubic and exponential work exceed it and count as infinite; quadratic work needs less. */
const MAX_STEPS = 10_000_000

/**
 * Expressions that do quadratic work on texts that an attacker cannot make long, with the reason. If such a text may become
 * long, the expression must be changed.
 */
const bounded: Record<string, string> = {
  '/(\\d+)\\.(\\d+)/': 'the version that an installed pgbouncer prints',
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

const pumps = [
  ...[
    'a',
    'A',
    '0',
    '_',
    ' ',
    '\t',
    '\n',
    '/',
    '.',
    '-',
    ':',
    '=',
    ';',
    ',',
    '@',
    '#',
    '"',
    "'",
    '\\',
    '[',
    '{',
  ],
  ...[
    '(',
    '*',
    '+',
    '%',
    'é',
    'a.',
    'a-',
    'a/',
    'a=',
    'a;',
    'a@',
    '0.',
    '0,',
    ' a',
    'ab',
    '\r\n',
    '://',
    'a:',
    '\\"',
  ],
]

type Worst = { growth: number; text: string }

/** The largest growth of the work over many texts. */
function worstOf({ source, flags }: { source: string; flags: string }): Worst {
  const program = compile(source, flags)
  const expression = new RegExp(source, flags.replace('g', ''))
  const sticky = flags.includes('y')
  // The literal start of the expression, so that the part after it is reached.
  const lead = /^\^?((?:[\w :;,=@#"'-]|\\[/.])+)/.exec(source)?.[1]?.replaceAll('\\', '') ?? ''
  const worst: Worst = { growth: 0, text: '' }
  for (const before of new Set(['', lead, lead.slice(0, -1)]))
    for (const pump of pumps)
      for (const after of ['!', '\n']) {
        const stepsOf = (length: number) => {
          const text = before + pump.repeat(length / pump.length) + after
          const counted = countSteps(program, charactersOf(text, flags), { sticky, maxSteps: MAX_STEPS })
          // V8 is not asked about an exponential expression: it would not end.
          if (counted && counted.matched !== expression.test(text))
            throw new Error(
              `V8 and the counting matcher disagree about /${source}/ and ${JSON.stringify(text)}.`,
            )
          return counted?.steps ?? Number.POSITIVE_INFINITY
        }
        const steps = stepsOf(2 * LENGTH)
        const growth = steps === Number.POSITIVE_INFINITY ? steps : steps / stepsOf(LENGTH)
        if (growth > worst.growth)
          Object.assign(worst, { growth, text: JSON.stringify(`${before}${pump}…${after}`) })
        if (growth > MAX_GROWTH) return worst
      }
  return worst
}

describe('regular expressions', () => {
  it('of the product do linear work on long hostile texts', () => {
    const all = findAll()
    expect(all.length).toBeGreaterThan(100)
    const slow = all.flatMap(({ source, flags, files }) => {
      const { growth, text } = worstOf({ source, flags })
      return growth > MAX_GROWTH
        ? [`/${source}/${flags} (${files.join(', ')}): ${growth} times the work for twice ${text}`]
        : []
    })
    const unexplained = slow.filter((line) => !Object.keys(bounded).some((known) => line.startsWith(known)))
    expect(unexplained).toEqual([])
    expect(Object.keys(bounded).filter((known) => !slow.some((line) => line.startsWith(known)))).toEqual([])
  }, 600_000)

  it.each([
    ['^[a-z]+$', 1, 2.1],
    ['^(?:a|b)*?[c-e]{2,9}$', 1, 2.1],
    ['\\s+$', 3.5, 4.5],
    ['^.*a.*b$', 3.5, 4.5],
    ['^\\d*\\d*\\d*$', Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
    ['^(a+)+$', Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
    ['^(a|ab|c)*$', 1, 2.1],
    ['^(a|ab|b)*$', Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
    ['^(a|a)*$', Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  ])('/%s/ multiplies its work by %d to %d', (source, least, most) => {
    const { growth } = worstOf({ source, flags: '' })
    expect(growth).toBeGreaterThanOrEqual(least)
    expect(growth).toBeLessThanOrEqual(most)
  })

  it.each(['(?=a)', '(?<!a)', '(a)\\1', '(a*)*'])(
    'with %s are refused, because their work is not counted',
    (source) => {
      expect(() => compile(source, '')).toThrow('is not supported')
    },
  )
})
