import { startReceiver } from '@herald/testkit/receiver'
import { afterEach, describe, expect, it } from '@jest/globals'
import { type HonorSimulatorOptions, startHonorSimulator } from '../src/honor/simulator.ts'

const app = { appId: '104436234', clientId: 'c-1', clientSecret: 's-1' }
const other = { appId: '5', clientId: 'c-5', clientSecret: 's-5' }
const credential = { grant_type: 'client_credentials', client_id: 'c-1', client_secret: 's-1' }

const toClose: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(toClose.splice(0).map((close) => close()))
})

type Reply = { status: number; code?: unknown; message?: string; data?: Record<string, unknown> }

async function start(options: HonorSimulatorOptions = {}) {
  const simulator = await startHonorSimulator({ credentials: [app, other], ...options })
  toClose.push(simulator.close)
  const form = (fields: Record<string, string>, path = '/auth/token') =>
    fetch(simulator.url + path, { method: 'POST', body: new URLSearchParams(fields) })
  const login = async (fields = credential) => {
    const reply = await form(fields, '/auth/realms/developer/protocol/openid-connect/token')
    return ((await reply.json()) as { access_token: string }).access_token
  }
  const post = async (
    bearer: string,
    body: unknown,
    headers = {},
    path = '/api/v1/104436234/sendMessage',
  ) => {
    const reply = await fetch(simulator.url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${bearer}`,
        timestamp: String(Date.now()),
        'content-type': 'application/json; charset=UTF-8',
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    const text = await reply.text()
    return { status: reply.status, ...(text && JSON.parse(text)) } as Reply
  }
  return { simulator, form, login, post }
}

const shown = { title: 'Parcel', body: 'Arrives today', clickAction: { type: 3 } }
const message = (over: object = {}) => ({
  data: '{"order":"77"}',
  android: { ttl: '3600s', biTag: '7001', targetUserType: 0, notification: shown },
  token: ['TOK1'],
  ...over,
})
const notice = (over: object) => message({ android: { notification: { ...shown, ...over } } })
const android = (over: object) => message({ android: { notification: shown, ...over } })

describe('honor simulator: token endpoint', () => {
  it('serves both paths', async () => {
    const { form } = await start({ expiresIn: 77 })
    for (const path of ['/auth/token', '/auth/realms/developer/protocol/openid-connect/token']) {
      const reply = await form(credential, path)
      expect(await reply.json()).toMatchObject({ expires_in: 77, token_type: 'Bearer' })
    }
  })

  it('serves only the older path with olderAuthPath', async () => {
    const { form } = await start({ olderAuthPath: true })
    expect((await form(credential)).status).toBe(404)
  })

  it.each([
    ['a wrong secret', { ...credential, client_secret: 'x' }, 401, 'unauthorized_client'],
    ['an unknown client', { ...credential, client_id: 'x' }, 401, 'unauthorized_client'],
    ['another grant', { ...credential, grant_type: 'password' }, 400, 'unsupported_grant_type'],
  ])('refuses %s', async (_name, fields, status, error) => {
    const { form } = await start()
    const reply = await form(fields)
    expect(reply.status).toBe(status)
    expect(await reply.json()).toMatchObject({ error })
  })

  it('requires a form', async () => {
    const { simulator } = await start()
    const body = JSON.stringify(credential)
    expect((await fetch(`${simulator.url}/auth/token`, { method: 'POST', body })).status).toBe(400)
  })
})

describe('honor simulator: access tokens and headers', () => {
  it('refuses wrong tokens, tokens of other apps, unknown apps and paths', async () => {
    const { login, post } = await start()
    expect(await post('nonsense', message())).toMatchObject({ status: 401, code: 80200001 })
    const foreign = await login({ ...credential, client_id: 'c-5', client_secret: 's-5' })
    expect(await post(foreign, message())).toMatchObject({ status: 401, code: 80200001 })
    const token = await login()
    expect(await post(token, message(), {}, '/api/v1/1/sendMessage')).toMatchObject({ status: 404 })
    expect(await post(token, message(), {}, '/v1/104436234/messages:send')).toMatchObject({ status: 404 })
  })

  it('refuses an expired token', async () => {
    let now = 1_760_000_000_000
    const { login, post } = await start({ expiresIn: 60, now: () => now })
    const token = await login()
    now += 60_000
    expect(await post(token, message())).toMatchObject({ status: 401, code: 80200003 })
  })

  it.each([
    ['without timestamp', { timestamp: '' }],
    ['with seconds', { timestamp: '1700000000' }],
    ['with a text', { timestamp: 'yesterday-now' }],
    ['of another content type', { 'content-type': 'text/plain' }],
  ])('refuses a request %s', async (_name, headers) => {
    const { login, post } = await start()
    expect(await post(await login(), message(), headers)).toMatchObject({ status: 400, code: 80100001 })
  })

  it('compares the timestamp with the clock only with maxSkewMs', async () => {
    const old = { timestamp: '1600000000000' }
    const lax = await start()
    expect(await lax.post(await lax.login(), message(), old)).toMatchObject({ code: 200 })
    const strict = await start({ maxSkewMs: 60_000 })
    expect(await strict.post(await strict.login(), message(), old)).toMatchObject({ status: 400 })
    expect(await strict.post(await strict.login(), message())).toMatchObject({ code: 200 })
  })
})

describe('honor simulator: rules of the body', () => {
  const refusals: [string, unknown, number][] = [
    ['JSON that is not valid', '{', 80100003],
    ['a list', '[]', 80100003],
    ['Huawei’s wrapper', { message: message() }, 80100003],
    ['Huawei’s click_action', notice({ click_action: { type: 3 } }), 80100003],
    ['Huawei’s add_num', notice({ badge: { badgeClass: 'a', add_num: 1 } }), 80100003],
    ['Huawei’s bi_tag', android({ bi_tag: '1' }), 80100003],
    ['no token', message({ token: undefined }), 80100001],
    ['an empty token list', message({ token: [] }), 80300010],
    ['1001 tokens', message({ token: Array.from({ length: 1001 }, (_, i) => `t${i}`) }), 80300010],
    ['a body of more than 4096 bytes', message({ data: 'x'.repeat(4096) }), 80300008],
    ['data that is not a string', message({ data: {} }), 80100001],
    ['nothing to deliver', { android: {}, token: ['t'] }, 80100001],
    ['a ttl with decimals', android({ ttl: '1.5s' }), 80100001],
    ['a ttl that is a number', android({ ttl: 60 }), 80100001],
    ['a ttl over 15 days', android({ ttl: '1296001s' }), 80100001],
    ['an unknown user type', android({ targetUserType: 2 }), 80100001],
    ['a missing title', notice({ title: '' }), 80100001],
    ['a missing body', notice({ body: undefined }), 80100001],
    ['a missing clickAction', notice({ clickAction: undefined }), 80100001],
    ['a page without intent', notice({ clickAction: { type: 1 } }), 80100001],
    ['a URL without https', notice({ clickAction: { type: 2, url: 'http://a' } }), 80100001],
    ['a click of another type', notice({ clickAction: { type: 4 } }), 80100001],
    ['big text without body', notice({ style: 1, bigTitle: 'a' }), 80100001],
    ['an inbox style', notice({ style: 3 }), 80100001],
    ['importance HIGH', notice({ importance: 'HIGH' }), 80100001],
    ['a badge without class', notice({ badge: { addNum: 1 } }), 80100001],
    ['a badge that adds 0', notice({ badge: { badgeClass: 'a', addNum: 0 } }), 80100001],
    ['a badge of 100', notice({ badge: { badgeClass: 'a', setNum: 100 } }), 80100001],
    ['an http picture', notice({ image: 'http://a/b.png' }), 80100001],
    ['four buttons', notice({ buttons: [{}, {}, {}, {}] }), 80100001],
  ]
  it.each(refusals)('refuses %s', async (_name, body, code) => {
    const { simulator, login, post } = await start()
    expect(await post(await login(), body)).toMatchObject({ status: 400, code })
    expect(simulator.ledger().accepted).toBe(0)
  })

  it.each([
    ['1000 tokens', message({ token: Array.from({ length: 1000 }, (_, i) => `${i}`.padStart(100, 'x')) })],
    [
      'titles given outside android',
      {
        notification: { title: 'a', body: 'b' },
        android: { notification: { clickAction: { type: 3 } } },
        token: ['t'],
      },
    ],
    ['pass-through', { data: '{"snake_case":1}', android: { ttl: '600s', biTag: 'm-2' }, token: ['TOK1'] }],
    ['a badge set to zero', notice({ badge: { badgeClass: 'a', setNum: 0 } })],
  ])('accepts %s', async (_name, body) => {
    const { login, post } = await start()
    expect(await post(await login(), body)).toMatchObject({ status: 200, code: 200 })
  })
})

describe('honor simulator: tokens, codes and rates', () => {
  it('lists expired and failed tokens and accepts the others', async () => {
    const { simulator, login, post } = await start()
    simulator.kill(['dead'])
    const reply = await post(await login(), message({ token: ['TOK1', 'EXPIRED1', 'FAIL1', 'dead'] }))
    expect(reply).toMatchObject({
      code: 200,
      message: 'success',
      data: { sendResult: true, failTokens: ['FAIL1'], expireTokens: ['EXPIRED1', 'dead'] },
    })
    expect(simulator.ledger(7001)).toEqual({ accepted: 1, distinct: 1, duplicates: 0 })
  })

  it('replies 80300007 if no token is valid', async () => {
    const { login, post } = await start()
    expect(await post(await login(), message({ token: ['EXPIRED1'] }))).toMatchObject({
      status: 200,
      code: 80300007,
      data: { sendResult: false, expireTokens: ['EXPIRED1'] },
    })
  })

  it.each([
    [200, false, 200],
    [0, false, 0],
    [80000000, true, '80000000'],
  ] as const)('reports success as %d, as a string: %p', async (successCode, textCodes, code) => {
    const { login, post } = await start({ successCode, textCodes })
    expect(await post(await login(), message())).toMatchObject({ code })
  })

  it.each([503, 429] as const)(
    'replies with an empty %d above its rate of devices',
    async (throttleStatus) => {
      const now = 1_760_000_000_000
      const { login, post } = await start({ devicesPerSecond: 1, throttleStatus, now: () => now })
      const token = await login()
      expect(await post(token, message())).toMatchObject({ code: 200 })
      expect(await post(token, message())).toEqual({ status: throttleStatus })
    },
  )
})

describe('honor simulator: receipts', () => {
  type Status = { biTag: string; appid: string; token: string; status: number; requestId: string }

  async function listen() {
    const { posts, url, close } = await startReceiver()
    toClose.push(close)
    const statuses = () => posts.flatMap(({ body }) => JSON.parse(body.toString()).statuses as Status[])
    return { url, statuses }
  }

  it('reports the status of each accepted token with the tag of the request', async () => {
    const { url, statuses } = await listen()
    const { simulator, login, post } = await start()
    simulator.registerReceipts({ appId: app.appId, url })
    const token = ['TOK1', 'EXPIRED1', 'FAIL1', 'NORECEIPT1', 'BADRCPT1']
    const reply = await post(await login(), message({ token }))
    await simulator.receiptsPosted()
    expect(statuses()).toMatchObject([
      { biTag: '7001', appid: app.appId, token: 'TOK1', status: 40000002, requestId: reply.data?.requestId },
      { token: 'BADRCPT1', status: 49999999 },
    ])
    expect(statuses()).toHaveLength(2)
  })

  it('accepts marketing above the daily cap of a device and reports it as not delivered', async () => {
    const { url, statuses } = await listen()
    const { simulator, login, post } = await start({
      marketingPerDay: 2,
      receipts: [{ appId: app.appId, url }],
    })
    const token = await login()
    const low = notice({ importance: 'LOW' })
    for (let i = 0; i < 3; i++) expect(await post(token, low)).toMatchObject({ code: 200 })
    await post(token, notice({ importance: 'NORMAL' }))
    await simulator.receiptsPosted()
    expect(statuses().map(({ status }) => status === 40000002)).toEqual([true, true, false, true])
  })

  it('posts nothing with silentReceipts', async () => {
    const { url, statuses } = await listen()
    const { simulator, login, post } = await start({ receipts: [{ appId: app.appId, url }] })
    simulator.setFaults({ silentReceipts: true })
    await post(await login(), message())
    await simulator.receiptsPosted()
    expect(statuses()).toEqual([])
  })
})

describe('honor simulator: rules that not every source has', () => {
  const rules: [string, object, string][] = [
    ['big_text_equals_body', notice({ style: 1, bigTitle: 'Parcel', bigBody: 'Long text' }), '80100001'],
    ['no_marketing_pictures', notice({ image: 'https://img.example/a.png' }), '80100001'],
    ['dead_is_404', message({ token: ['EXPIRED1'] }), '404'],
  ]
  it.each(rules)('refuses by %s only if it is switched on', async (name, body, code) => {
    const { simulator, login, post } = await start()
    const token = await login()
    expect((await post(token, body)).status).toBe(200)
    simulator.setFaults({ rules: [name] })
    expect(String((await post(token, body)).code)).toBe(code)
    expect(await post(token, message())).toMatchObject({ status: 200, code: 200 })
  })
})
