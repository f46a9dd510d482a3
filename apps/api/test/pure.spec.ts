import { sleep } from '@herald/async'
import { CommitInDoubt, type Database } from '@herald/db/store'
import { toJson } from '@herald/domain'
import { isPublicAddress } from '@herald/outbound'
import { until } from '@herald/testkit'
import { describe, expect, it, jest } from '@jest/globals'
import fc from 'fast-check'
import { createPasswords } from '../src/auth/passwords.ts'
import { createTokens, newTokenKey } from '../src/auth/tokens.ts'
import { mask, maskExtra } from '../src/certificates/mask.ts'
import { failureOfError } from '../src/http/answer-failure.ts'
import { readJson } from '../src/http/json.ts'
import { scanJson } from '../src/http/json-scan.ts'
import { createLineSplitter, LINE_LIMIT } from '../src/import/line-splitter.ts'
import { isBlank } from '../src/input/blank.ts'
import { quoted } from '../src/input/input-failure.ts'
import { checkIntent } from '../src/notify/intent.ts'
import { createReceiptSink } from '../src/receipts/receipt-sink.ts'

describe('reading JSON', () => {
  it('agrees with JSON.parse on everything that has no duplicate keys', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const text = JSON.stringify(value)
        const bare = text.replaceAll('\\u0000', '')
        const numbers = (_key: string, field: unknown) => (typeof field === 'bigint' ? Number(field) : field)
        expect(JSON.stringify(readJson(Buffer.from(bare)).value, numbers)).toBe(
          JSON.stringify(JSON.parse(bare)),
        )
      }),
    )
  })

  it('finds the extent of a value however the text is laid out', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(undefined, 1, '\t'), (inner, indent) => {
        const ext = { inner }
        const text = JSON.stringify({ message: { a: 'ext":{"', ext, z: { ext: {} } }, ext: {} }, null, indent)
        const { spans } = scanJson(text, { maxDepth: 99, wanted: 'message.ext' })
        expect(spans.map((span) => JSON.parse(text.slice(...span)))).toEqual([
          JSON.parse(JSON.stringify(ext)),
        ])
      }),
    )
  })

  it('finds the values at a path through a list, whatever other keys look like', () => {
    const list = [
      { 'message.ext': { a: 1 } },
      { message: { ext: { b: 2 }, 'ext.': {} } },
      [{ message: { ext: { c: 3 } } }],
      { message: [{ ext: { d: 4 } }] },
      { message: { ext: [5] } },
      { '[]': { message: { ext: {} } } },
      { message: { ext: 'text' } },
    ]
    const text = JSON.stringify({ 'list[]': { message: { ext: {} } }, list, x: { '[]': {} } })
    const { spans } = scanJson(text, { maxDepth: 99, wanted: 'list[].message.ext' })
    expect(spans.map((span) => text.slice(...span))).toEqual(['{"b":2}', '[5]'])
  })

  it('never fails on text that is not valid JSON', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('{', '}', '[', ']', '"', '\\', ',', ':', '1', 'a', ' ') }),
        (text) => {
          scanJson(text, { maxDepth: 64, wanted: 'a.a' })
          scanJson(text, { maxDepth: 64, wanted: 'a[].a' })
        },
      ),
      { numRuns: 2000 },
    )
  })

  it('and writing JSON keep every int64', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
        const text = toJson({ list: [value] })
        expect(text).toBe(`{"list":[${value}]}`)
        const [read] = (readJson(Buffer.from(text)).value as { list: [number | bigint] }).list
        expect(BigInt(read)).toBe(value)
      }),
    )
  })
})

describe('blank', () => {
  it.each([
    [undefined, true],
    [null, true],
    ['', true],
    [' \n\t', true],
    [[], true],
    [{}, true],
    [0, false],
    [false, false],
    ['x', false],
    [[null], false],
    [{ a: null }, false],
  ])('%j: %s', (value, expected) => {
    expect(isBlank(value)).toBe(expected)
  })
})

describe('a caller’s text in a message', () => {
  it.each([
    ['audience', 'audience'],
    ['message.ext.a[0]', 'message.ext.a[0]'],
    ['__proto__', '__proto__'],
    ['.', '"."'],
    ['[x', '"[x"'],
    ['-', '"-"'],
    ['two words', '"two words"'],
    ['a\nb', '"a\\nb"'],
    ['x'.repeat(101), `${'x'.repeat(100)}…`],
  ])('%j reads %s', (word, expected) => {
    expect(quoted(word)).toBe(expected)
  })
})

describe('an intent', () => {
  it.each([
    'intent:#Intent;component=com.a/com.a.Main;end',
    'intent:#Intent;component=com.a/com.a.Main;S.k=v;S.other=a%3Bb;end',
    'intent:#Intent;component=com.a/.Main$Inner;end;',
    'intent://host/path?q=1#Intent;scheme=x;launchFlags=0x04000000;component=com.a/com.a.Main;S.k=;i.n=5;end',
  ])('%s is well-formed', (intent) => {
    expect(checkIntent(intent)).toBeUndefined()
  })
  it.each([
    'com.a/com.a.Main',
    'intent:#Intent;end',
    'intent:#Intent;component=com.a;end',
    'intent:#Intent;component=com.a/com.a.Main',
    'intent:#Intent;component=com.a/com.a.Main;S.k;end',
    'Intent:#Intent;component=a/b;end',
    'intent:#Intent;component=a/b;end;S.k=v',
    `intent:#Intent;${'a=b;'.repeat(50_000)}`,
  ])('%#: is not', (intent) => {
    expect(checkIntent(intent)).toEqual(expect.stringMatching(/^must /))
  })
})

describe('a public address', () => {
  it.each(['8.8.8.8', '1.1.1.1', '223.5.5.5', '2606:4700:4700::1111', '2400:3200::1'])(
    '%s may be called',
    (address) => {
      expect(isPublicAddress(address)).toBe(true)
    },
  )
  it.each([
    '127.0.0.1',
    '10.1.2.3',
    '172.31.0.1',
    '192.168.0.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    'fe80::1',
    'fd00::1',
    '::ffff:8.8.8.8',
    '::ffff:127.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '2001:db8::1',
    'ff02::1',
  ])('%s may not', (address) => {
    expect(isPublicAddress(address)).toBe(false)
  })
})

describe('passwords', () => {
  it('are hashed with a unique salt and verified', async () => {
    const passwords = createPasswords()
    const [first, second] = await Promise.all([passwords.hash('pässword'), passwords.hash('pässword')])
    expect(first).not.toBe(second)
    expect(await passwords.verify('pa\u0308ssword', first)).toBe(true)
    expect(await passwords.verify('password', first)).toBe(false)
    expect(await passwords.verify('anything', undefined)).toBe(false)
  })

  it('are checked a few at a time, and refused when too many wait', async () => {
    let running = 0
    let highest = 0
    const passwords = createPasswords({ atOnce: 2, maxWaiting: 5, derive: async () => Buffer.alloc(32) })
    const attempts = Array.from({ length: 10 }, () =>
      passwords.inTurn({ appId: 'a' }, async () => {
        highest = Math.max(highest, ++running)
        await sleep(5)
        running--
      }),
    )
    const ended = await Promise.allSettled(attempts)
    expect(highest).toBe(2)
    expect(ended.filter(({ status }) => status === 'rejected')).toHaveLength(3)
    await passwords.inTurn({ appId: 'a' }, async () => {})
  })

  it('of an application with many attempts do not keep out those of another', async () => {
    const slow = Promise.withResolvers<Buffer>()
    const passwords = createPasswords({ atOnce: 1, maxWaiting: 5, derive: () => slow.promise })
    const order: string[] = []
    const attempt = (appId: string) =>
      passwords.inTurn({ appId }, async () => {
        await passwords.verify('x', undefined)
        order.push(appId)
      })
    const ofA = Promise.allSettled(Array.from({ length: 10 }, () => attempt('a')))
    const ofB = attempt('b')
    slow.resolve(Buffer.alloc(32))
    await ofB
    expect((await ofA).filter(({ status }) => status === 'rejected')).toHaveLength(4)
    expect(order).toEqual(['a', 'a', 'b', 'a', 'a', 'a', 'a'])
  })

  it('of one login are checked one after another, those of other logins at the same time', async () => {
    const passwords = createPasswords({ atOnce: 3 })
    const running: string[] = []
    const ends: PromiseWithResolvers<void>[] = []
    const attempt = (login: string) =>
      passwords.inTurn({ appId: 'a', login }, () => {
        running.push(login)
        const end = Promise.withResolvers<void>()
        ends.push(end)
        return end.promise
      })
    const all = ['anna', 'anna', 'anna', 'bert', 'carl'].map(attempt)
    await until(() => running.length === 3)
    expect(running).toEqual(['anna', 'bert', 'carl'])
    for (let nth = 0; nth < all.length; nth++) {
      await until(() => ends.length > nth)
      ends[nth]!.resolve()
    }
    await Promise.all(all)
    expect(running).toEqual(['anna', 'bert', 'carl', 'anna', 'anna'])
  })
})

describe('receipts that wait to be counted', () => {
  const receipts = (count: number) =>
    Array.from({ length: count }, (_, i) => ({
      appId: 'a',
      taskId: i + 1,
      deviceId: 1,
      event: 'received' as const,
    }))
  /** Postgres answers no statement until `fail`. */
  function openSink(limits: { maxGroups?: number; maxReceipts?: number }) {
    const written = Promise.withResolvers<never>()
    // It may be rejected before a statement waits for it.
    written.promise.catch(() => {})
    const db = { pool: { query: () => written.promise } } as unknown as Database
    const ended: Promise<unknown>[] = []
    const sink = createReceiptSink(db, undefined, limits)
    return {
      add(count: number) {
        const result = sink(receipts(count)).catch((error) => error)
        ended.push(result)
        return result
      },
      async fail() {
        written.reject(new Error('cannot be written'))
        await Promise.all(ended)
      },
    }
  }
  const tooMany = { code: 50301, retryAfter: 2 }

  it('are limited by their number', async () => {
    const sink = openSink({ maxReceipts: 5 })
    const accepted = [sink.add(3), sink.add(2)]
    expect(await sink.add(1)).toMatchObject(tooMany)
    await sink.fail()
    for (const result of accepted) expect(await result).toMatchObject({ message: 'cannot be written' })
    // A single call is never too large.
    expect(await sink.add(6)).toMatchObject({ message: 'cannot be written' })
  })

  it('are limited by the number of calls', async () => {
    const sink = openSink({ maxGroups: 1 })
    const accepted = Array.from({ length: 200 }, () => sink.add(1))
    expect(await sink.add(1)).toMatchObject(tooMany)
    await sink.fail()
    for (const result of accepted) expect(await result).toMatchObject({ message: 'cannot be written' })
  })
})

describe('tokens', () => {
  const tokens = createTokens({ privateKey: newTokenKey(), days: 1 })
  const claims = { app: 'a', role: 'user' as const, subject: '1', version: 3 }

  it('contain their claims until they expire', () => {
    expect(tokens.verify(tokens.issue(claims).token)).toEqual(claims)
    expect(tokens.verify(tokens.issue(claims, Date.now() - 86_401_000).token)).toBeUndefined()
    expect(tokens.verify(tokens.issue(claims).storeToken)).toBeUndefined()
  })

  it('are valid only for the installation that issued them', () => {
    const others = createTokens({ privateKey: newTokenKey(), days: 1 })
    expect(others.verify(tokens.issue(claims).token)).toBeUndefined()
  })

  it('expire in time, although they are cached', () => {
    const { token } = tokens.issue(claims)
    expect(tokens.verify(token)).toEqual(claims)
    const later = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 86_401_000)
    expect(tokens.verify(token)).toBeUndefined()
    later.mockRestore()
  })
})

describe('splitting lines', () => {
  it('is the same however the bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: fc.constantFrom('a', 'é', '😀', '\n', '\r', ' ') })),
        fc.integer({ min: 1, max: 9 }),
        (parts, size) => {
          const bytes = Buffer.from(parts.join('\n'))
          const splitter = createLineSplitter()
          const lines = []
          for (let at = 0; at < bytes.length; at += size)
            lines.push(...splitter.push(bytes.subarray(at, at + size)))
          lines.push(...splitter.end())
          const expected = bytes.toString().split('\n')
          if (expected.at(-1) === '') expected.pop()
          expect(lines.map((line) => ('text' in line ? line.text : ''))).toEqual(expected)
          expect(lines.map(({ no }) => no)).toEqual(expected.map((_, i) => i + 1))
        },
      ),
    )
  })

  it('skips a line that is too long without keeping it in memory', () => {
    const splitter = createLineSplitter()
    const lines = [...splitter.push(Buffer.from('a\n'))]
    for (let i = 0; i < 100; i++) lines.push(...splitter.push(Buffer.alloc(LINE_LIMIT, 'x')))
    lines.push(...splitter.push(Buffer.from('x\nb\n')))
    expect(lines).toEqual([
      { no: 1, text: 'a' },
      { no: 2, problem: 'is longer than 64 KiB' },
      { no: 3, text: 'b' },
    ])
  })
})

describe('masking', () => {
  it('shows the end of long secrets and nothing of short ones', () => {
    expect([mask(''), mask('short'), mask('a-long-enough-secret')]).toEqual(['', '****', '****cret'])
    expect(
      maskExtra({ callback_secret: 'abcdefghijklmnopq', channel_id: 'c', limits: { requests_per_s: 1 } }),
    ).toEqual({
      callback_secret: '****nopq',
      channel_id: 'c',
      limits: { requests_per_s: 1 },
    })
  })
})

it('a call may have been done if its commit got no reply, and was not if an earlier statement failed', () => {
  const lost = new Error('Connection terminated unexpectedly')
  expect(failureOfError(new CommitInDoubt(lost))).toMatchObject({
    failure: { code: 50001, message: expect.stringContaining('may have been done') },
    unexpected: true,
  })
  expect(failureOfError(lost)).toMatchObject({
    failure: { code: 50301, message: expect.stringContaining('no push was accepted') },
    unexpected: false,
  })
})
