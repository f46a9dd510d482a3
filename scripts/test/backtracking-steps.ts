/**
 * Counts the steps of a backtracking matcher, as V8's is one: unlike time, the count is the same on every machine. V8 decides
 * whether one character matches an atom; the order of attempts, which makes an expression slow, is implemented here.
 */
export type Steps = { steps: number; matched: boolean }

type Test = (text: string[], at: number) => boolean
type Instruction =
  | { op: 'character'; matches: (character: string) => boolean }
  | { op: 'assert'; holds: Test }
  /** Tries `first`, and `second` if that fails. */
  | { op: 'split'; first: number; second: number }
  | { op: 'jump'; to: number }
  | { op: 'match' }

/** Returns undefined when `maxSteps` do not suffice. */
export function countSteps(
  program: Instruction[],
  text: string[],
  { sticky = false, maxSteps = Number.POSITIVE_INFINITY } = {},
): Steps | undefined {
  let steps = 0
  const lastStart = sticky ? 0 : text.length
  for (let start = 0; start <= lastStart; start++) {
    const pending = [0, start]
    while (pending.length > 0) {
      let at = pending.pop()!
      let pc = pending.pop()!
      for (;;) {
        if (++steps > maxSteps) return undefined
        const instruction = program[pc]!
        if (instruction.op === 'match') return { steps, matched: true }
        if (instruction.op === 'split') {
          pending.push(instruction.second, at)
          pc = instruction.first
        } else if (instruction.op === 'jump') pc = instruction.to
        else {
          const isCharacter = instruction.op === 'character'
          const holds = isCharacter
            ? at < text.length && instruction.matches(text[at]!)
            : instruction.holds(text, at)
          if (!holds) break
          if (isCharacter) at++
          pc++
        }
      }
    }
  }
  return { steps, matched: false }
}

/** The text as the expression sees it: code points or UTF-16 units. */
export const charactersOf = (text: string, flags: string): string[] =>
  /[uv]/.test(flags) ? [...text] : text.split('')

/** Throws on syntax that it does not know, such as lookarounds and references to groups. */
export function compile(source: string, flags: string): Instruction[] {
  const program: Instruction[] = []
  const atomFlags = flags.replace(/[^iusv]/g, '')
  let at = 0
  const unknown = (what: string) => new Error(`/${source}/${flags}: ${what} at ${at} is not supported`)

  function alternatives(): void {
    const ends: { op: 'jump'; to: number }[] = []
    for (;;) {
      const from = program.length
      sequence()
      if (source[at] !== '|') break
      at++
      const split = { op: 'split' as const, first: from + 1, second: 0 }
      insert(from, split)
      const end = { op: 'jump' as const, to: 0 }
      program.push(end)
      ends.push(end)
      split.second = program.length
    }
    for (const end of ends) end.to = program.length
  }

  function sequence(): void {
    while (at < source.length && source[at] !== '|' && source[at] !== ')') repeated()
  }

  function repeated(): void {
    const from = program.length
    const begin = at
    term()
    const body = source.slice(begin, at)
    const quantifier = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})(\??)/.exec(source.slice(at))
    if (!quantifier) return
    const [whole, sign, least, comma, most, lazy] = quantifier
    at += whole.length
    const min = sign ? (sign === '+' ? 1 : 0) : Number(least)
    const max = sign ? (sign === '?' ? 1 : Infinity) : most ? Number(most) : comma ? Infinity : min
    program.length = from
    const copy = () => {
      const after = at
      at = begin
      term()
      at = after
    }
    for (let n = 0; n < min; n++) copy()
    const choice = (inside: number, outside: number) =>
      lazy
        ? { op: 'split' as const, first: outside, second: inside }
        : { op: 'split' as const, first: inside, second: outside }
    if (max === Infinity) {
      // V8 ends a round that matched nothing; that is not implemented here.
      if (new RegExp(`^(?:${body})$`, atomFlags).test('')) throw unknown('a repeat of what may be empty')
      const split = program.length
      program.push({ op: 'match' })
      copy()
      program.push({ op: 'jump', to: split })
      program[split] = choice(split + 1, program.length)
    } else {
      const splits: number[] = []
      for (let n = min; n < max; n++) {
        splits.push(program.length)
        program.push({ op: 'match' })
        copy()
      }
      for (const split of splits) program[split] = choice(split + 1, program.length)
    }
  }

  /** Moves what was compiled since `from` by one. */
  function insert(from: number, instruction: Instruction): void {
    program.splice(from, 0, instruction)
    for (const moved of program.slice(from + 1)) {
      if (moved.op === 'jump') moved.to++
      if (moved.op === 'split') {
        moved.first++
        moved.second++
      }
    }
  }

  function term(): void {
    const rest = source.slice(at)
    if (rest[0] === '(') {
      const open = /^\((?:\?:|\?<[A-Za-z]\w*>|(?!\?))/.exec(rest)?.[0]
      if (!open) throw unknown('a group')
      at += open.length
      alternatives()
      at++
      return
    }
    const multiline = flags.includes('m')
    const isWord = (character = '') => /^\w$/.test(character)
    const boundary: Test = (text, i) => isWord(text[i - 1]) !== isWord(text[i])
    const assertions: [string, Test][] = [
      ['^', (text, i) => i === 0 || (multiline && /[\n\r\u2028\u2029]/.test(text[i - 1]!))],
      ['$', (text, i) => i === text.length || (multiline && /[\n\r\u2028\u2029]/.test(text[i]!))],
      ['\\b', boundary],
      ['\\B', (text, i) => !boundary(text, i)],
    ]
    for (const [sign, holds] of assertions) {
      if (!rest.startsWith(sign)) continue
      at += sign.length
      program.push({ op: 'assert', holds })
      return
    }
    if (/^\\[1-9k]/.test(rest)) throw unknown('a reference')
    const atom =
      /^(?:\[(?:\\[\s\S]|[^\]\\])*\]|\\[pP]\{[^}]*\}|\\u\{[^}]*\}|\\u[\da-fA-F]{4}|\\x[\da-fA-F]{2}|\\c[A-Za-z]|\\[\s\S])/.exec(
        rest,
      )?.[0] ?? charactersOf(rest, flags)[0]!
    if (flags.includes('v') && /^\[.*(?:\[|--|&&)/.test(atom)) throw unknown('a set of sets')
    at += atom.length
    program.push({ op: 'character', matches: matcherOf(atom, atomFlags) })
  }

  alternatives()
  if (at < source.length) throw unknown('a closing bracket')
  program.push({ op: 'match' })
  return program
}

function matcherOf(atom: string, flags: string): (character: string) => boolean {
  const expression = new RegExp(`^(?:${atom})$`, flags)
  const known = new Map<string, boolean>()
  return (character) => {
    let matches = known.get(character)
    if (matches === undefined) {
      matches = expression.test(character)
      known.set(character, matches)
    }
    return matches
  }
}
