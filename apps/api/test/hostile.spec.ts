import { sleep } from '@herald/async'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { createPasswords } from '../src/auth/passwords.ts'
import { countingPasswords, notifyBothWays, openTestApi, type TestApi } from './harness.ts'

let api: TestApi
beforeAll(async () => {
  api = await openTestApi({
    overrides: { passwords: createPasswords({ derive: countingPasswords().derive }) },
  })
})
afterAll(() => api.close())

const json = { 'content-type': 'application/json' }
const send = (raw: string | Uint8Array, headers: Record<string, string> = json) =>
  notifyBothWays(api, { raw, headers })
const ok = '{"audience":"all","message":{"title":"x"}}'

describe('a hostile body', () => {
  const deep = (levels: number) =>
    `{"audience":"all","message":{"title":"x","ext":{"a":${'['.repeat(levels)}${']'.repeat(levels)}}}}`
  const cases: [string, string | Uint8Array, number, string][] = [
    ['nothing', '', 40001, 'The body is empty'],
    ['white space', '  ', 40001, 'The body is empty'],
    ['broken JSON', '{"audience":', 40001, 'The body is not valid JSON.'],
    ['a trailing comma', '{"audience":"all",}', 40001, 'The body is not valid JSON.'],
    ['two values', `${ok}${ok}`, 40001, 'The body is not valid JSON.'],
    ['NaN', '{"audience":NaN}', 40001, 'The body is not valid JSON.'],
    ['a list', '[]', 40001, 'The body must be a JSON object.'],
    ['null', 'null', 40001, 'The body must be a JSON object.'],
    ['a string', '"all"', 40001, 'The body must be a JSON object.'],
    ['a number', '5', 40001, 'The body must be a JSON object.'],
    [
      'a duplicate key',
      '{"audience":"all","audience":"all","message":{"title":"x"}}',
      40001,
      'The field audience occurs twice.',
    ],
    [
      'a nested duplicate',
      '{"audience":"all","message":{"title":"x","ios":{"sound":"a","sound":"b"}}}',
      40001,
      'The field message.ios.sound occurs twice.',
    ],
    [
      'an escaped duplicate',
      '{"audience":"all","message":{"title":"x","t\\u0069tle":"y"}}',
      40001,
      'The field message.title occurs twice.',
    ],
    [
      'a duplicate in ext',
      '{"audience":"all","message":{"title":"x","ext":{"l":[{"a":1,"a":2}]}}}',
      40001,
      'occurs twice.',
    ],
    ['too deep nesting', deep(62), 40001, 'The body is nested deeper than 64 levels.'],
    ['absurd nesting', '['.repeat(500_000), 40001, 'The body is nested deeper than 64 levels.'],
    [
      '__proto__',
      '{"__proto__":{"audience":"all"},"audience":"all","message":{"title":"x"}}',
      40001,
      '__proto__ is not a field of the body.',
    ],
    [
      'constructor',
      '{"constructor":1,"audience":"all","message":{"title":"x"}}',
      40001,
      'constructor is not a field of the body.',
    ],
    [
      '__proto__ inside',
      '{"audience":"all","message":{"title":"x","ios":{"__proto__":{}}}}',
      40001,
      '__proto__ is not a field of message.ios.',
    ],
    [
      'a lone surrogate',
      '{"audience":"all","message":{"title":"\\ud800"}}',
      40002,
      'message.title contains half of a surrogate pair.',
    ],
    [
      'a lone surrogate in ext',
      '{"audience":"all","message":{"title":"x","ext":{"a":["\\udc00"]}}}',
      40002,
      'message.ext.a[0] contains half of a surrogate pair.',
    ],
    [
      'a lone surrogate as a key',
      '{"audience":"all","message":{"title":"x","ext":{"\\ud800":1}}}',
      40002,
      'contains half of a surrogate pair.',
    ],
    [
      'NUL',
      '{"audience":{"tag":["a\\u0000"]},"message":{"title":"x"}}',
      40002,
      'audience.tag[0] contains the character U+0000.',
    ],
    [
      'invalid UTF-8',
      Buffer.from([...Buffer.from('{"audience":"'), 0xff, ...Buffer.from('"}')]),
      40001,
      'The body is not valid UTF-8.',
    ],
    [
      'a number beyond int64',
      '{"audience":{"user_id":[9223372036854775808]},"message":{"title":"x"}}',
      40002,
      'audience.user_id[0] must be a 64-bit integer.',
    ],
    [
      'a number beyond everything',
      '{"audience":{"user_id":[1e999]},"message":{"title":"x"}}',
      40002,
      'audience.user_id[0] must be a 64-bit integer.',
    ],
    [
      'a fraction that rounds to an integer',
      '{"audience":{"user_id":[9007199254740993.0]},"message":{"title":"x"}}',
      40002,
      'audience.user_id[0] must be a 64-bit integer.',
    ],
    ['a long name', `{"${'x'.repeat(5000)}":1}`, 40001, 'is not a field of the body.'],
  ]
  it.each(cases)('that is %s is refused', async (_name, raw, code, message) => {
    const answer = await send(raw)
    expect(answer.code).toBe(code)
    expect(answer.message).toContain(message)
    expect(answer.message!.length).toBeLessThan(300)
  })

  it('is accepted in unusual but valid forms', async () => {
    expect((await send(`\ufeff \n${ok}\t `)).code).toBe(200)
    expect((await send('{"audience":"all","message":{"title":"\\ud83d\\ude00 \\u0041"}}')).code).toBe(200)
    expect((await send(deep(60))).code).toBe(200)
    expect((await send(Buffer.from(ok), {})).code).toBe(200)
    expect((await send(ok, { 'content-type': 'application/json; charset=UTF-8' })).code).toBe(200)
    expect((await send(ok, { 'content-type': 'application/vnd.x+json' })).code).toBe(200)
  })

  it('must have a JSON content type or none', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'json',
      'application/json; charset=latin1',
    ])
      expect(await send(ok, { 'content-type': type })).toMatchObject({ status: 400, code: 40001 })
    expect((await send(ok, { ...json, 'content-encoding': 'gzip' })).code).toBe(40001)
  })

  it('may have 64 KiB on other calls', async () => {
    const body = (length: number) => ({ raw: JSON.stringify({ name: 'x'.repeat(length) }), headers: json })
    expect(await api.call('/admin/group', body(65_536))).toMatchObject({ status: 413, code: 41301 })
    expect(await api.call('/admin/group', body(65_000))).toMatchObject({ code: 40002 })
  })
})

describe('a hostile request', () => {
  const head = (line: string, ...headers: string[]) =>
    `${[line, 'Host: x', `app_id: ${api.appId}`, `access-token: ${api.adminToken}`, ...headers].join('\r\n')}\r\n\r\n`
  const envelopeOf = (text: string) => JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4))

  it('is answered in an envelope even when it is not HTTP', async () => {
    for (const bytes of [
      'GET / HTTP/9.9\r\n\r\n',
      'hello\r\n\r\n',
      'GET / HTTP/1.1\r\nbroken header\r\n\r\n',
    ]) {
      const text = await api.socket(bytes)
      expect(text).toMatch(/^HTTP\/1\.1 400 /)
      expect(envelopeOf(text)).toMatchObject({ code: 40001, data: null })
    }
  })

  it('is answered in an envelope when its headers are too large', async () => {
    const text = await api.socket(head('GET /push/certificate HTTP/1.1', `x: ${'x'.repeat(20_000)}`))
    expect(text).toMatch(/^HTTP\/1\.1 431 /)
    expect(envelopeOf(text)).toMatchObject({ code: 43101 })
  })

  it('is refused at once if its body is too large', async () => {
    const announced = await api.socket(head('POST /push/notify HTTP/1.1', 'content-length: 99999999'))
    expect(announced).toMatch(/^HTTP\/1\.1 413 /)
    expect(announced.toLowerCase()).toContain('connection: close')
    const chunk = 'x'.repeat(100_000)
    const chunked = await api.socket(
      `${head('POST /push/notify HTTP/1.1', 'transfer-encoding: chunked')}${`186a0\r\n${chunk}\r\n`.repeat(11)}`,
    )
    expect(chunked).toMatch(/^HTTP\/1\.1 413 /)
  })

  it('that ends in the middle of its body changes nothing', async () => {
    const { connect } = await import('node:net')
    const socket = connect(api.port, '127.0.0.1')
    socket.write(
      `${head('POST /admin/group HTTP/1.1', 'content-type: application/json', 'content-length: 100')}{"name"`,
    )
    await sleep(50)
    socket.destroy()
    expect((await api.client.groups()).list).toEqual([])
  })

  it('gets 404 at unknown paths', async () => {
    for (const path of [
      '/push',
      '/push/notify/',
      '/PUSH/notify',
      '/%',
      '/%00',
      '/push/../admin',
      '/callback/x',
      '//push/notify',
    ])
      expect((await api.call(path)).code).toBe(40401)
  })

  it('gets the methods that a path supports', async () => {
    const answer = await api.call('/user/push/tag', { method: 'PATCH' })
    expect(answer).toMatchObject({ status: 405, code: 40501 })
    expect(answer.headers.get('allow')).toBe('GET, POST, DELETE')
    expect((await api.call('/push/notify')).code).toBe(40501)
    expect((await api.call('/push/notify', { method: 'OPTIONS' })).code).toBe(40501)
  })

  it('cannot smuggle a query parameter', async () => {
    const get = (query: string) => api.call(`/push/certificate${query}`)
    expect(await get('?provider=1&provider=2')).toMatchObject({ code: 40002 })
    expect(await get('?provider=1&x=2')).toMatchObject({
      code: 40002,
      message: 'x is not a query parameter of this call.',
    })
    expect(await get('?provider=%00')).toMatchObject({ code: 40002 })
    expect(await get('?provider=0')).toMatchObject({ code: 40002 })
    expect(await get('?provider=1e0')).toMatchObject({ code: 40002 })
    expect(await get('?environment=1')).toMatchObject({ code: 40002, message: 'provider is required.' })
    expect(await get('?provider=1&environment=2')).toMatchObject({ code: 40002 })
    expect((await api.call('/user/push/tag?push_token=%00', { headers: { user_id: '1' } })).code).toBe(40401)
  })

  it('gets a request id with every answer, and no hint about the software', async () => {
    const { headers } = await api.call('/push/task/list', { body: {} })
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    expect(headers.get('x-powered-by')).toBeNull()
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('cache-control')).toBe('no-store')
  })
})

describe('an internal error', () => {
  it('is an envelope without its cause', async () => {
    const accept = api.deps.acceptor.accept
    api.deps.acceptor.accept = () => Promise.reject(new Error('secret detail at /src/x.ts:1'))
    try {
      const answer = await send(ok)
      expect(answer).toMatchObject({ status: 500, code: 50001, message: 'An internal error occurred.' })
      expect(answer.text).not.toContain('secret')
    } finally {
      api.deps.acceptor.accept = accept
    }
  })

  it('is 50301 when Postgres is unreachable, and nothing was accepted', async () => {
    const accept = api.deps.acceptor.accept
    api.deps.acceptor.accept = () =>
      Promise.reject(Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }))
    try {
      expect(await send(ok)).toMatchObject({ status: 503, code: 50301 })
    } finally {
      api.deps.acceptor.accept = accept
    }
  })
})

describe('a rate limit', () => {
  it('stops registrations from one address with Retry-After, and never an admin', async () => {
    const slow = await openTestApi({ env: { HERALD_REGISTRATIONS_PER_SECOND: '5' } })
    try {
      const register = (i: number) =>
        slow.call('/push/register', { token: null, body: { device_guid: `g${i}` } })
      // The clock stands still: on a slow machine tokens would be added while the calls are answered.
      const clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now())
      const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => register(i))).finally(() =>
        clock.mockRestore(),
      )
      const refused = answers.filter(({ code }) => code === 42901)
      const codes = answers.map(({ code }) => code).sort()
      expect(codes).toEqual([...Array(10).fill(200), ...Array(10).fill(42901)])
      expect(Number(refused[0]!.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
      const admin = await Promise.all(
        Array.from({ length: 600 }, () => slow.call('/push/task/list', { body: {} })),
      )
      expect(admin.every(({ code }) => code === 200)).toBe(true)
    } finally {
      await slow.close()
    }
  })

  it('allows fifty logins per second from one address', async () => {
    await api.call('/admin/user', { body: { username: 'many', password: 'password' } })
    const answers = await Promise.all(
      Array.from({ length: 100 }, () =>
        api.call('/token/user', { token: null, body: { name: 'many', password: 'password' } }),
      ),
    )
    expect(answers.every(({ code }) => code === 200)).toBe(true)
  })
})
