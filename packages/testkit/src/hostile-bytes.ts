/** A seeded random generator (mulberry32). */
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

/** Texts that are known to break parsers, databases, logs, terminals, shells and web pages. */
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

/** Unusual JSON: wrong types, extreme numbers, special keys, deep nesting. */
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

/** Flips a bit, truncates, repeats or inserts something. */
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
