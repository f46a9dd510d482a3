import type { JsonSchema } from '../src/openapi/schemas.ts'

/** Random numbers that a seed repeats (mulberry32). */
export function createDice(seed: number) {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  return {
    next,
    below: (n: number) => Math.floor(next() * n),
    chance: (p: number) => next() < p,
    pick: <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!,
  }
}
export type Dice = ReturnType<typeof createDice>

/** Texts that have broken parsers, stores, logs, terminals, shells and screens. */
export const nastyTexts = [
  '',
  ' ',
  '\t\n\r',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\udfff\ud800',
  '\uffff',
  '\u202e\u0041',
  '\u001b[31m\u0007',
  'a\r\nSet-Cookie: x=1',
  '\n{"level":"fatal","msg":"forged"}',
  "' OR 1=1 --",
  "'); DROP TABLE task; --",
  '%s%n%x',
  '\u0024{jndi:ldap://127.0.0.1/a}',
  '{{7*7}}',
  '<script>alert(1)</script>',
  '../../../../etc/passwd',
  '..%2f..%2f',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'null',
  'NaN',
  'Infinity',
  '1e999',
  '-0',
  '9223372036854775808',
  '0x10',
  '１２３',
  'a'.repeat(300),
  'é'.repeat(200),
  '😀'.repeat(80),
  `${'a'.repeat(60)}!`,
  'http://169.254.169.254/latest.png',
  'http://[::ffff:127.0.0.1]/a.png',
  'file:///etc/passwd.png',
  'intent:#Intent;component=a/b;S.k=v;end',
  `intent:#Intent;${';'.repeat(200)}end`,
]

/** Pieces of JSON no serializer would write: wrong types, wrong numbers, wrong nesting. */
export const nastyJson = [
  'null',
  'true',
  '[]',
  '{}',
  '[[]]',
  '[null]',
  '{"":0}',
  '-1',
  '0',
  '-0',
  '0.1',
  '1e999',
  '-1e999',
  '1e-400',
  '9007199254740993',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775809',
  '123456789012345678901234567890',
  '{"__proto__":{"admin":true}}',
  '{"constructor":{"prototype":{}}}',
  '{"length":1}',
  '{"toString":1}',
  '"\\u0000"',
  '"\\ud800"',
  '"\\u0061"',
  '[1,2,3,4,5,6,7,8,9]',
  `[${'0,'.repeat(600)}0]`,
  '['.repeat(70) + ']'.repeat(70),
]

const quoted = JSON.stringify

/** Writes values of a schema as JSON text; `known` are values that lead past "does not exist". */
export function createWriter(dice: Dice, known: Record<string, readonly unknown[]>) {
  const text = (): string => {
    if (dice.chance(0.35)) return dice.pick(nastyTexts)
    const length = dice.below(24)
    let out = ''
    for (let i = 0; i < length; i++)
      out += String.fromCharCode(dice.chance(0.9) ? 32 + dice.below(95) : dice.below(0xffff))
    return out
  }

  function value(schema: JsonSchema, name: string, depth: number): string {
    if (dice.chance(0.04)) return dice.chance(0.5) ? dice.pick(nastyJson) : quoted(text())
    if (name in known && dice.chance(0.75)) return quoted(dice.pick(known[name]!))
    const options = (schema.oneOf ?? schema.anyOf) as JsonSchema[] | undefined
    if (options) return value(dice.pick(options), name, depth)
    if (schema.const !== undefined) return quoted(schema.const)
    if (schema.enum) return quoted(dice.pick(schema.enum as unknown[]))
    switch (Array.isArray(schema.type) ? dice.pick(schema.type as string[]) : schema.type) {
      case 'string':
        return schema.format === 'int64' ? quoted(String(dice.below(1e9))) : quoted(text())
      case 'integer':
        return dice.chance(0.7) ? String(dice.below(20) - 1) : dice.pick(nastyJson)
      case 'number':
        return String(dice.next() * 1e6)
      case 'boolean':
        return String(dice.chance(0.5))
      case 'array': {
        const length = dice.chance(0.02) ? 600 : dice.below(4)
        return `[${Array.from({ length }, () => value((schema.items ?? {}) as JsonSchema, '', depth + 1)).join()}]`
      }
      case 'object':
        return object(schema, depth)
      default:
        return dice.chance(0.5) ? quoted(text()) : dice.pick(nastyJson)
    }
  }

  function object(schema: JsonSchema, depth: number): string {
    const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>)
    const required = (schema.required ?? []) as string[]
    // Of forty optional fields a handful: otherwise every object would fail at its first wrong one.
    const share = Math.min(0.6, 4 / (properties.length + 1))
    const fields = properties.flatMap(([key, property]) =>
      dice.chance(required.includes(key) ? 0.97 : key in known ? 0.6 : share)
        ? [`${quoted(key)}:${value(property, key, depth + 1)}`]
        : [],
    )
    if (properties.length === 0 && depth < 6)
      for (let i = dice.below(3); i > 0; i--) fields.push(`${quoted(text())}:${dice.pick(nastyJson)}`)
    if (dice.chance(0.02)) fields.push(`${quoted(dice.pick(nastyTexts))}:1`)
    if (dice.chance(0.01) && fields[0]) fields.push(fields[0])
    return `{${fields.join()}}`
  }

  return { text, value: (schema: JsonSchema) => value(schema, '', 0) }
}

/** Breaks bytes a little: a bit, a cut, a repetition, an insertion. */
export function mutate(dice: Dice, bytes: Buffer): Buffer {
  if (bytes.length === 0) return Buffer.from([dice.below(256)])
  const at = dice.below(bytes.length)
  switch (dice.below(5)) {
    case 0: {
      const copy = Buffer.from(bytes)
      copy[at]! ^= 1 << dice.below(8)
      return copy
    }
    case 1:
      return bytes.subarray(0, at)
    case 2:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at >> 1)])
    case 3:
      return Buffer.concat([bytes.subarray(0, at), Buffer.from(dice.pick(nastyTexts)), bytes.subarray(at)])
    default:
      return Buffer.concat([bytes.subarray(0, at), Buffer.from(dice.pick(nastyJson)), bytes.subarray(at + 1)])
  }
}
