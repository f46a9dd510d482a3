import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { fromExactJson, toExactJson } from '../src/exact-json.ts'
import { HeraldError } from '../src/herald-error.ts'
import { HeraldOperator } from '../src/herald-operator.ts'
import { HeraldServer } from '../src/herald-server.ts'

type Sent = { path: string; init: RequestInit & { headers: Record<string, string> } }

/** A fake server with the given responses that records its requests. */
function fake(answer: (sent: Sent) => { status?: number; body: string; headers?: Record<string, string> }) {
  const sent: Sent[] = []
  const fetch = async (url: string | URL | Request, init?: RequestInit) => {
    const one = { path: new URL(String(url)).pathname, init: init as Sent['init'] }
    sent.push(one)
    if (init?.body instanceof ReadableStream) one.init.body = await new Response(init.body).text()
    const { status = 200, body, headers } = answer(one)
    return new Response(body, { status, headers })
  }
  return { sent, fetch: fetch as typeof globalThis.fetch }
}
const ok = (data: string) => ({ body: `{"code":200,"data":${data},"message":null}` })
const failed = (code: number, status: number, headers?: Record<string, string>) => ({
  status,
  headers,
  body: `{"code":${code},"data":null,"message":"No."}`,
})
const options = { baseUrl: 'http://herald.example/', appId: 'app' }

describe('int64', () => {
  it('is exact in both directions', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
        const { id } = fromExactJson(`{"id":${value}}`) as { id: number | bigint }
        expect(BigInt(id)).toBe(value)
        expect(typeof id).toBe(Number.isSafeInteger(Number(value)) ? 'number' : 'bigint')
        expect(toExactJson({ id: value })).toBe(`{"id":${value}}`)
      }),
    )
  })

  it('is written as a number, also in ext', () => {
    expect(toExactJson({ ext: { n: 2n ** 60n } })).toBe('{"ext":{"n":1152921504606846976}}')
    expect(toExactJson({ n: 2n ** 60n }, 2)).toBe('{\n  "n": 1152921504606846976\n}')
  })

  it('is written as a number by a runtime without rawJSON, and no string is changed', () => {
    const json = JSON as { rawJSON?: unknown }
    const { rawJSON } = json
    json.rawJSON = undefined
    try {
      expect(toExactJson({ n: -(2n ** 60n), s: '1' })).toBe('{"n":-1152921504606846976,"s":"1"}')
      expect(toExactJson({ n: 2n ** 60n }, 2)).toBe('{\n  "n": 1152921504606846976\n}')
      fc.assert(
        fc.property(fc.array(fc.string({ unit: fc.constantFrom('#', '"', '\\', '-', '1') })), (strings) => {
          const plain = { strings, keys: Object.fromEntries(strings.map((key) => [key, 1])) }
          const wanted = JSON.stringify({ plain, last: 7 })
          expect(toExactJson({ plain, last: 7n })).toBe(wanted)
        }),
      )
    } finally {
      json.rawJSON = rawJSON
    }
  })

  it('does not change fractions and digits in strings', () => {
    expect(fromExactJson('{"a":0.1234567890123456,"b":"12345678901234567890"}')).toEqual({
      a: 0.1234567890123456,
      b: '12345678901234567890',
    })
  })
})

describe('HeraldServer', () => {
  it('sends the headers of the API, also to act as a user or group', async () => {
    const { fetch, sent } = fake(() => ok('[]'))
    const herald = new HeraldServer({ ...options, token: 't', fetch })
    await herald.taskDetail([9007199254740993n])
    await herald.asUser(5n).certificates()
    await herald.asGroup(7).certificates()
    expect(sent.map(({ path, init }) => [init.method, path])).toEqual([
      ['POST', '/push/task/detail'],
      ['GET', '/admin/push/certificate/list'],
      ['GET', '/admin/push/certificate/list'],
    ])
    expect(sent[0]!.init.headers).toEqual({
      app_id: 'app',
      'access-token': 't',
      'content-type': 'application/json',
    })
    expect(sent[0]!.init.body).toBe('{"list":[9007199254740993]}')
    expect(sent[1]!.init.headers).toMatchObject({ user_id: '5' })
    expect(sent[2]!.init.headers).toMatchObject({ group_id: '7' })
  })

  it('replaces an expired token once, and only if it has the secret', async () => {
    let good = 'new'
    const { fetch, sent } = fake(({ path, init }) =>
      path === '/token/admin'
        ? ok('{"token":"new"}')
        : init.headers['access-token'] === good
          ? ok('[]')
          : failed(40102, 401),
    )
    const herald = new HeraldServer({ ...options, token: 'old', appSecret: 's', fetch })
    await herald.certificates()
    expect(sent.map(({ path }) => path)).toEqual([
      '/admin/push/certificate/list',
      '/token/admin',
      '/admin/push/certificate/list',
    ])
    good = 'never'
    await expect(herald.certificates()).rejects.toMatchObject({ code: 40102 })
    await expect(new HeraldServer({ ...options, token: 'old', fetch }).certificates()).rejects.toMatchObject({
      code: 40102,
    })
    await expect(new HeraldServer({ ...options, fetch }).certificates()).rejects.toThrow(
      'appSecret or a token',
    )
  })

  it('after an import with an expired token, uses a new one', async () => {
    const { fetch, sent } = fake(({ path, init }) =>
      path === '/token/admin'
        ? ok('{"token":"new"}')
        : init.headers['access-token'] === 'old'
          ? failed(40102, 401)
          : ok('{}'),
    )
    const herald = new HeraldServer({ ...options, token: 'old', appSecret: 's', fetch })
    const devices = [{ device_guid: 'g' }]
    await expect(herald.importDevices(devices)).rejects.toMatchObject({ code: 40102 })
    await herald.importDevices(devices)
    expect(sent.map(({ path, init }) => [path, init.headers['access-token']])).toEqual([
      ['/admin/device/import', 'old'],
      ['/token/admin', undefined],
      ['/admin/device/import', 'new'],
    ])
  })

  it('rejects with code, message and retryAfter', async () => {
    const { fetch } = fake(() => failed(42901, 429, { 'retry-after': '3' }))
    const error = await new HeraldServer({ ...options, token: 't', fetch }).users().catch((reason) => reason)
    expect(error).toBeInstanceOf(HeraldError)
    expect(error).toMatchObject({ code: 42901, status: 429, message: 'No.', retryAfter: 3 })
  })

  it('streams an import as lines', async () => {
    const { fetch, sent } = fake(() => ok('{}'))
    const herald = new HeraldServer({ ...options, token: 't', fetch })
    async function* devices() {
      for (let i = 0; i < 3000; i++)
        yield { device_guid: `g${i}`, platform: 'android' as const, user_id: 2n ** 62n }
    }
    await herald.importDevices(devices())
    const lines = String(sent[0]!.init.body).split('\n')
    expect(lines).toHaveLength(3001)
    expect(lines[2999]).toBe('{"device_guid":"g2999","platform":"android","user_id":4611686018427387904}')
    expect(lines[3000]).toBe('')
  })
})

describe('calls of the own server', () => {
  it('have the paths and bodies of the API; null is sent, absent fields are not', async () => {
    const { fetch, sent } = fake(() => ok('{"list":[]}'))
    const herald = new HeraldServer({ ...options, token: 't', fetch })
    await herald.putDevice({ device_guid: 'g', alias: null, user_id: 2n ** 62n })
    await herald.putDevices([{ device_guid: 'g', tags: [] }])
    await herald.removeDevice({ push_token: 'p' })
    await herald.changeTag('vip', { add: [{ alias: 'a' }], remove: [{ device_guid: 'g' }] })
    await herald.tags({ after: 'v', limit: 5 })
    await herald.erase({ alias: 'a' })
    await herald.identity()
    await herald.putIdentity({ issuer: 'https://i', audience: 'app', jwks_url: 'https://i/keys' })
    await herald.removeIdentity()
    await herald.changeSettings({ default_strategy: 'ospush_only', default_ttl: null })
    await herald.auditList({ action: 'task.cancel', limit: 5 })
    await herald.notifyBatch([{ audience: { alias: ['a'] }, message: { title: 't' } }])
    await herald.countAudience({ audience: 'all' })
    await herald.recallTask(7, { replace: { title: 'n' }, dry_run: true })
    expect(sent.map(({ path, init }) => `${init.method} ${path} ${init.body ?? ''}`)).toEqual([
      'PUT /admin/device {"device_guid":"g","alias":null,"user_id":4611686018427387904}',
      'POST /admin/device/batch {"list":[{"device_guid":"g","tags":[]}]}',
      'POST /admin/device/remove {"push_token":"p"}',
      'POST /admin/tag/member {"tag":"vip","add":[{"alias":"a"}],"remove":[{"device_guid":"g"}]}',
      'POST /admin/tag/list {"after":"v","limit":5}',
      'POST /admin/erase {"alias":"a"}',
      'GET /admin/identity ',
      'PUT /admin/identity {"issuer":"https://i","audience":"app","jwks_url":"https://i/keys"}',
      'POST /admin/identity/remove {}',
      'PUT /admin/app/settings {"default_strategy":"ospush_only","default_ttl":null}',
      'POST /admin/audit/list {"action":"task.cancel","limit":5}',
      'POST /push/notify/batch {"list":[{"audience":{"alias":["a"]},"message":{"title":"t"}}]}',
      'POST /push/audience/count {"audience":"all"}',
      'POST /push/task/recall {"task_id":7,"replace":{"title":"n"},"dry_run":true}',
    ])
  })

  it('of the app send no token: the push token or the sign-in token is in the body', async () => {
    const { fetch, sent } = fake(() => ok('{"push_token":"p"}'))
    const app = new HeraldServer({ ...options, fetch })
    await app.exchangeToken('jwt', 'g')
    expect(await app.registerDevice('g', 'ios')).toBe('p')
    await app.bindToken('p', { provider: 'flyme', device_token: 'd' })
    await app.unbindToken('p', 4)
    await app.setBadge('p', 0)
    await app.sendReceipts('p', [{ task_id: 7, event: 'clicked' }])
    expect(sent.map(({ path, init }) => `${path} ${init.body}`)).toEqual([
      '/token/exchange {"id_token":"jwt","device_guid":"g"}',
      '/push/register {"device_guid":"g","platform":"ios"}',
      '/user/token/bind {"push_token":"p","provider":"flyme","device_token":"d"}',
      '/user/token/unbind {"push_token":"p","provider":4}',
      '/user/push/badge {"push_token":"p","badge":0}',
      '/push/receipt {"push_token":"p","list":[{"task_id":7,"event":"clicked"}]}',
    ])
    for (const { init } of sent) expect(init.headers).not.toHaveProperty('access-token')
  })
})

describe('a push that is repeated', () => {
  const push = (request_id?: string) => ({
    audience: 'all' as const,
    setting: { request_id },
    message: { title: 'x' },
  })
  /** Fails in the given ways, then succeeds. */
  function failing(...failures: (Error | ReturnType<typeof failed>)[]) {
    const { fetch, sent } = fake(() => {
      const failure = failures.shift() ?? ok('{"task_id":1}')
      if (failure instanceof Error) throw failure
      return failure
    })
    return { sent, herald: new HeraldServer({ ...options, token: 't', retries: 2, fetch }) }
  }
  const now = { 'retry-after': '0' }

  it('is repeated after network failures, 429 and 5xx, as often as allowed', async () => {
    const twice = failing(new TypeError('fetch failed'), failed(50301, 503, now))
    expect(await twice.herald.notify(push('r'))).toEqual({ task_id: 1 })
    expect(twice.sent).toHaveLength(3)
    const lost = failing(failed(50201, 502, now))
    expect(await lost.herald.notify(push('r'))).toEqual({ task_id: 1 })
    expect(lost.sent).toHaveLength(2)
    const often = failing(failed(42901, 429, now), failed(50301, 503, now), failed(50001, 500, now))
    await expect(often.herald.notify(push('r'))).rejects.toMatchObject({ code: 50001 })
    expect(often.sent).toHaveLength(3)
  })

  it('is not repeated without a request_id, nor when it was refused', async () => {
    for (const [request_id, status] of [
      [undefined, 503],
      [' \t', 503],
      ['r', 400],
    ] as const) {
      const { herald, sent } = failing(failed(status * 100 + 1, status, now))
      await expect(herald.notify(push(request_id))).rejects.toMatchObject({ status })
      expect(sent).toHaveLength(1)
    }
  })
})

describe('a task by its id', () => {
  const pageOf = (id: string) => fake(() => ok(`{"list":[{"task_id":${id}}],"next":null}`))

  it('is read through the list and compared by id', async () => {
    const { fetch, sent } = pageOf('7')
    const herald = new HeraldServer({ ...options, token: 't', fetch })
    expect(await herald.task(7)).toEqual({ task_id: 7 })
    expect(sent[0]!.init.body).toBe('{"task_ids":[7]}')
    expect(await herald.task(9)).toBeUndefined()
  })
})

describe('HeraldOperator', () => {
  it('sends its key and no app_id', async () => {
    const { fetch, sent } = fake(({ path }) =>
      ok(path === '/admin/app' ? '{"app_id":"a","app_secret":"s"}' : '[]'),
    )
    const operator = new HeraldOperator({ baseUrl: 'http://herald.example/', operatorKey: 'key', fetch })
    expect(await operator.createApplication({ name: 'Shop' })).toEqual({ app_id: 'a', app_secret: 's' })
    expect(await operator.applications()).toEqual([])
    await operator.changeApplication('a', { name: 'Store' })
    expect(sent.pop()!.init).toMatchObject({ method: 'PUT', body: '{"app_id":"a","name":"Store"}' })
    await operator.renewSecret('a', { keepOldSeconds: 60 })
    expect(sent.pop()!.init.body).toBe('{"app_id":"a","keep_old_seconds":60}')
    await operator.auditList({ limit: 5 })
    expect(sent.map(({ path, init }) => [init.method, path])).toEqual([
      ['POST', '/admin/app'],
      ['GET', '/admin/app/list'],
      ['POST', '/admin/app/audit'],
    ])
    expect(sent[0]!.init.headers).toMatchObject({ authorization: 'Bearer key' })
    expect(sent[0]!.init.headers).not.toHaveProperty('app_id')
  })

  it('rejects like HeraldServer', async () => {
    const { fetch } = fake(() => failed(40301, 403))
    const operator = new HeraldOperator({ baseUrl: 'http://x', operatorKey: 'wrong', fetch })
    await expect(operator.applications()).rejects.toMatchObject({ code: 40301, message: 'No.' })
  })
})

describe('the export of a task', () => {
  const line = '{"device_id":1,"user_id":9007199254740993,"channel":"apns","fate":"sent"}\n'
  const end = '{"sums":{"apns":{"sent":1}},"counters":{},"equal":true,"lines":1}\n'
  const exported = async (body: string) => {
    const { fetch, sent } = fake(() => ({ body }))
    const lines = new HeraldServer({ ...options, token: 't', fetch }).exportTask(5n)
    const seen = []
    let next = await lines.next()
    for (; !next.done; next = await lines.next()) seen.push(next.value)
    return { seen, end: next.value, sent }
  }

  it('is read line by line, and returns the sums', async () => {
    const { seen, end: sums, sent } = await exported(line + line + end)
    expect(seen.map(({ user_id }) => user_id)).toEqual([9007199254740993n, 9007199254740993n])
    expect(sums).toMatchObject({ equal: true, sums: { apns: { sent: 1 } } })
    expect(sent.map(({ path, init }) => [init.method, path])).toEqual([['GET', '/push/task/export']])
  })

  it('fails if its end is missing', async () => {
    await expect(exported(line)).rejects.toThrow('cut off')
    await expect(exported(line + end.slice(0, -10))).rejects.toThrow('cut off')
  })

  it('fails if no response begins within the timeout', async () => {
    const fetch = (_url: string | URL | Request, init?: RequestInit) =>
      new Promise<Response>((_resolve, reject) => {
        const signal = init!.signal!
        signal.addEventListener('abort', () => reject(signal.reason))
      })
    const never = fetch as typeof globalThis.fetch
    const herald = new HeraldServer({ ...options, token: 't', timeoutMs: 50, fetch: never })
    await expect(herald.exportTask(5).next()).rejects.toMatchObject({ name: 'TimeoutError' })
  })

  it('fails with the answer of the server, and repeats a call whose token was revoked', async () => {
    const { fetch } = fake(() => failed(40401, 404))
    await expect(
      new HeraldServer({ ...options, token: 't', fetch }).exportTask(5).next(),
    ).rejects.toMatchObject({
      code: 40401,
    })
    let calls = 0
    const renewed = fake(({ path }) =>
      path === '/token/admin'
        ? ok('{"token":"new"}')
        : calls++ === 0
          ? failed(40102, 401)
          : { body: line + end },
    )
    const herald = new HeraldServer({ ...options, appSecret: 's', token: 'old', fetch: renewed.fetch })
    expect((await herald.exportTask(5).next()).value).toMatchObject({ fate: 'sent' })
  })
})
