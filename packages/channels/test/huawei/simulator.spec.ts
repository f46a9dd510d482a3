import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from '@jest/globals'
import { huawei } from '../../src/huawei/channel.ts'
import { signPass } from '../../src/huawei/service-account.ts'
import { type HuaweiSimulatorOptions, startHuaweiSimulator } from '../../src/huawei/simulator.ts'
import { sampleCertificate } from '../samples.ts'
import { makeServiceAccount } from './service-account.ts'

const account = makeServiceAccount('388421841222000001')
const app = {
  clientId: '100200300',
  clientSecret: 's3cr3t',
  projectId: account.projectId,
  serviceAccount: account.known,
}
const other = { clientId: '999', clientSecret: 'other', projectId: '777' }

const toClose: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(toClose.splice(0).map((close) => close()))
})

async function start(options: HuaweiSimulatorOptions = {}) {
  const simulator = await startHuaweiSimulator({ credentials: [app, other], ...options })
  toClose.push(simulator.close)
  const form = (fields: Record<string, string>) =>
    fetch(`${simulator.url}/oauth2/v3/token`, { method: 'POST', body: new URLSearchParams(fields) })
  const login = async (clientId = app.clientId, clientSecret = app.clientSecret) => {
    const reply = await form({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    })
    return ((await reply.json()) as { access_token: string }).access_token
  }
  const post = async (bearer: string, body: unknown, path = '/v1/100200300/messages:send', headers = {}) => {
    const reply = await fetch(simulator.url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${bearer}`,
        'content-type': 'application/json;charset=UTF-8',
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    const text = await reply.text()
    return {
      status: reply.status,
      ...(text ? (JSON.parse(text) as { code: string; msg: string }) : { text }),
    }
  }
  return { simulator, form, login, post }
}

const click_action = { type: 3 }
const shown = { title: 'Parcel', body: 'Arrives today', click_action }
const message = (over: object = {}) => ({
  validate_only: false,
  message: { android: { ttl: '3600s', bi_tag: '7001', notification: shown }, token: ['IQAAAACy0A'], ...over },
})
const notice = (over: object) => message({ android: { notification: { ...shown, ...over } } })
const android = (over: object) => message({ android: { notification: shown, ...over } })

describe('huawei simulator: token endpoint', () => {
  const good = { grant_type: 'client_credentials', client_id: app.clientId, client_secret: app.clientSecret }

  it('hands out a token with its life, slashes escaped', async () => {
    const { form } = await start({ expiresIn: 77 })
    const replies = await Promise.all(Array.from({ length: 20 }, () => form(good)))
    const texts = await Promise.all(replies.map((reply) => reply.text()))
    expect(JSON.parse(texts[0]!)).toMatchObject({ expires_in: 77, token_type: 'Bearer' })
    expect(texts.join()).toContain('\\/')
  })

  it.each([
    ['client_id malformed', { ...good, client_id: 'abc' }, 20002],
    ['client_id unknown', { ...good, client_id: '1' }, 20002],
    ['client_secret wrong', { ...good, client_secret: 'x' }, 12304],
    ['client_secret missing', { ...good, client_secret: '' }, 20171],
    ['grant_type wrong', { ...good, grant_type: 'password' }, 20182],
  ])('refuses with 1101: %s', async (_name, fields, sub_error) => {
    const { form } = await start()
    const reply = await form(fields)
    expect(reply.status).toBe(400)
    expect(await reply.json()).toMatchObject({ error: 1101, sub_error })
  })

  it('wants a form and a POST', async () => {
    const { simulator } = await start()
    const url = `${simulator.url}/oauth2/v3/token`
    expect((await fetch(url, { method: 'POST', body: JSON.stringify(good) })).status).toBe(400)
    expect((await fetch(url)).status).toBe(405)
  })

  it('answers 503 after 1000 tokens in five minutes, and opens again', async () => {
    let now = 1_760_000_000_000
    const { form } = await start({ now: () => now })
    for (let i = 0; i < 1000; i += 50)
      await Promise.all(Array.from({ length: 50 }, async () => expect((await form(good)).status).toBe(200)))
    expect((await form(good)).status).toBe(503)
    now += 300_000
    expect((await form(good)).status).toBe(200)
  })

  it('takes any credential when told to', async () => {
    const { login, post } = await start({ credentials: [], acceptAnyCredentials: true })
    expect(await post(await login('5', 'anything'), message(), '/v1/5/messages:send')).toMatchObject({
      code: '80000000',
    })
  })
})

describe('huawei simulator: who may send', () => {
  it('accepts v1 by app and v2 by project', async () => {
    const { login, post } = await start()
    const token = await login()
    expect(await post(token, message())).toMatchObject({ status: 200, code: '80000000', msg: 'Success' })
    expect(await post(token, message(), `/v2/${app.projectId}/messages:send`)).toMatchObject({
      code: '80000000',
    })
  })

  it('refuses unknown tokens and those of another app', async () => {
    const { login, post } = await start()
    for (const bearer of ['', 'nonsense', await login(other.clientId, other.clientSecret)])
      expect(await post(bearer, message())).toMatchObject({ status: 401, code: '80200001' })
  })

  it('refuses an expired token', async () => {
    let now = 1_760_000_000_000
    const { login, post } = await start({ expiresIn: 60, now: () => now })
    const token = await login()
    now += 60_000
    expect(await post(token, message())).toMatchObject({ status: 401, code: '80200003' })
  })

  it('knows no other path', async () => {
    const { login, post } = await start()
    expect(await post(await login(), message(), '/v1/100200300/send')).toMatchObject({ status: 404 })
    expect(await post(await login(), message(), '/v4/100200300/messages:send')).toMatchObject({ status: 404 })
  })
})

describe('huawei simulator: rules of the body', () => {
  const refusals: [string, unknown, string][] = [
    ['JSON that is none', '{', '80100003'],
    ['no message', {}, '80100003'],
    ['two targets', message({ topic: 'news' }), '80100001'],
    ['no token', message({ token: [] }), '80300010'],
    ['no target', message({ token: undefined }), '80300010'],
    ['1001 tokens', message({ token: Array.from({ length: 1001 }, (_, i) => `t${i}`) }), '80300010'],
    ['a body of more than 4096 bytes', message({ data: 'x'.repeat(4096) }), '80300008'],
    ['data that is no string', message({ data: { a: 1 } }), '80100001'],
    ['nothing to deliver', message({ android: {} }), '80100001'],
    ['a ttl that is a number', android({ ttl: 3600 }), '80100001'],
    ['a ttl in minutes', android({ ttl: '60m' }), '80100001'],
    ['a ttl over 15 days', android({ ttl: '1296001s' }), '80100001'],
    ['a collapse_key over 100', android({ collapse_key: 101 }), '80100013'],
    ['an unknown category', android({ category: 'NEWS' }), '80100001'],
    ['an unknown urgency', android({ urgency: 'LOW' }), '80100001'],
    ['HIGH urgency without the right', android({ urgency: 'HIGH' }), '80300011'],
    ['an unknown user type', android({ target_user_type: 2 }), '80100001'],
    ['a missing title', notice({ title: undefined }), '80100001'],
    ['a missing body', notice({ body: '' }), '80100001'],
    ['a missing click_action', notice({ click_action: undefined }), '80100001'],
    ['a page without intent', notice({ click_action: { type: 1 } }), '80100001'],
    ['a URL without https', notice({ click_action: { type: 2, url: 'http://a' } }), '80100001'],
    ['a click of another type', notice({ click_action: { type: 9 } }), '80100001'],
    ['big text without title', notice({ style: 1, big_body: 'x' }), '80100001'],
    ['six inbox lines', notice({ style: 3, inbox_content: ['1', '2', '3', '4', '5', '6'] }), '80100001'],
    ['the style of big pictures', notice({ style: 2 }), '80100001'],
    ['an unknown importance', notice({ importance: 'MAX' }), '80100001'],
    ['a badge without class', notice({ badge: { add_num: 1 } }), '80100001'],
    ['a badge that adds 0', notice({ badge: { class: 'a', add_num: 0 } }), '80100001'],
    ['a badge of 100', notice({ badge: { class: 'a', set_num: 100 } }), '80100001'],
    ['an http picture', notice({ image: 'http://a/b.png' }), '80100001'],
    [
      'four buttons',
      notice({ buttons: [1, 2, 3, 4].map(() => ({ name: 'a', action_type: 0 })) }),
      '80100001',
    ],
    ['a forbidden word', notice({ body: 'a FORBIDDEN_WORD here' }), '80100016'],
  ]
  it.each(refusals)('refuses %s', async (_name, body, code) => {
    const { simulator, login, post } = await start()
    expect(await post(await login(), body)).toMatchObject({ status: 400, code })
    expect(simulator.ledger().accepted).toBe(0)
  })

  const passes: [string, unknown][] = [
    [
      '4096 bytes beside the tokens',
      message({ token: Array.from({ length: 1000 }, (_, i) => `${i}`.padStart(130, 'x')) }),
    ],
    [
      'titles given outside android',
      {
        message: {
          notification: { title: 'a', body: 'b' },
          android: { notification: { click_action } },
          token: ['t'],
        },
      },
    ],
    ['pass-through', { message: { data: '{"cmd":"sync"}', android: { ttl: '600s' }, token: ['t'] } }],
    ['big text', notice({ style: 1, big_title: 'a', big_body: 'b' })],
    ['a badge set to zero', notice({ badge: { class: 'a', set_num: 0 } })],
    ['a ttl with decimals', android({ ttl: '3.123456789s' })],
  ]
  it.each(passes)('takes %s', async (_name, body) => {
    const { login, post } = await start()
    expect(await post(await login(), body)).toMatchObject({ status: 200, code: '80000000' })
  })

  it('takes HIGH urgency with the right to it', async () => {
    const { login, post } = await start({ highUrgency: true })
    expect(await post(await login(), android({ urgency: 'HIGH' }))).toMatchObject({ code: '80000000' })
  })

  it('wants JSON announced as JSON', async () => {
    const { login, post } = await start()
    const reply = await post(await login(), message(), undefined, { 'content-type': 'text/plain' })
    expect(reply).toMatchObject({ status: 400, code: '80100003' })
  })
})

describe('huawei simulator: tokens, ledger and rates', () => {
  it('lists illegal tokens inside msg and keeps the rest', async () => {
    const { simulator, login, post } = await start()
    simulator.kill(['dead'])
    const reply = await post(await login(), message({ token: ['a', 'ILLEGAL1', 'dead', 'a'] }))
    expect(reply).toMatchObject({ status: 200, code: '80100000' })
    expect(JSON.parse((reply as { msg: string }).msg)).toEqual({
      success: 2,
      failure: 2,
      illegal_tokens: ['ILLEGAL1', 'dead'],
    })
    expect(simulator.ledger(7001)).toEqual({ accepted: 2, distinct: 1, duplicates: 1 })
    const ledger = await fetch(`${simulator.url}/_sim/ledger?task_id=7001`)
    expect(await ledger.json()).toEqual({ accepted: 2, distinct: 1, duplicates: 1 })
  })

  it('answers 80300007 when no token is good', async () => {
    const { login, post } = await start()
    expect(await post(await login(), message({ token: ['ILLEGAL1'] }))).toMatchObject({
      status: 200,
      code: '80300007',
    })
  })

  it('closes its registry when told to', async () => {
    const { login, post } = await start({ registry: ['known'] })
    const token = await login()
    expect(await post(token, message({ token: ['known'] }))).toMatchObject({ code: '80000000' })
    expect(await post(token, message({ token: ['stranger'] }))).toMatchObject({ code: '80300007' })
  })

  it('answers validate_only without keeping anything', async () => {
    const { simulator, login, post } = await start()
    expect(await post(await login(), { ...message(), validate_only: true })).toMatchObject({
      code: '80000000',
    })
    expect(simulator.ledger().accepted).toBe(0)
  })

  it('answers an empty 503 over its rate of devices', async () => {
    const now = 1_760_000_000_000
    const { login, post } = await start({ devicesPerSecond: 2, now: () => now })
    const token = await login()
    expect(await post(token, message({ token: ['a', 'b'] }))).toMatchObject({ code: '80000000' })
    expect(await post(token, message())).toEqual({ status: 503, text: '' })
  })
})

describe('huawei simulator: v3', () => {
  const { next } = huawei.readSettings(sampleCertificate('huawei', { certificate: account.json }))
  const path = `/v3/${app.projectId}/messages:send`
  const pass = (now = Date.now()) => signPass(next!, now).value
  const alert = (over: object = {}, options: object = {}) => ({
    payload: {
      notification: { category: 'IM', title: 'a', body: 'b', clickAction: { actionType: 0 }, ...over },
    },
    target: { token: ['MAMzLgA'] },
    pushOptions: { ttl: 600, biTag: '7001', ...options },
  })

  it('takes an alert and a background message by JWT', async () => {
    const { simulator, post } = await start()
    expect(await post(pass(), alert(), path, { 'push-type': '0' })).toMatchObject({ code: '80000000' })
    const background = { payload: { extraData: 'x' }, target: { token: ['MAMzLgB'] } }
    expect(await post(pass(), background, path, { 'push-type': '6' })).toMatchObject({ code: '80000000' })
    expect(simulator.ledger(7001).accepted).toBe(1)
  })

  it('refuses OAuth tokens, strangers’ and old JWTs', async () => {
    const { login, post } = await start()
    const headers = { 'push-type': '0' }
    expect(await post(await login(), alert(), path, headers)).toMatchObject({ code: '80200001' })
    const stranger = huawei.readSettings(
      sampleCertificate('huawei', { certificate: makeServiceAccount(account.projectId).json }),
    )
    const forged = signPass(stranger.next!, Date.now()).value
    expect(await post(forged, alert(), path, headers)).toMatchObject({ code: '80200001' })
    expect(await post(pass(), alert(), '/v3/777/messages:send', headers)).toMatchObject({ code: '80200001' })
    const old = pass(Date.now() - 3_700_000)
    expect(await post(old, alert(), path, headers)).toMatchObject({ status: 401, code: '80200005' })
  })

  it('lists refused tokens by reason', async () => {
    const { post } = await start()
    const body = { ...alert(), target: { token: ['a', 'ILLEGAL1', 'NORIGHT1'] } }
    const reply = (await post(pass(), body, path, { 'push-type': '0' })) as unknown as {
      code: string
      msg: string
    }
    expect(reply.code).toBe('80100000')
    expect(JSON.parse(reply.msg).illegalTokens).toEqual({
      tokenFormatError: ['ILLEGAL1'],
      noRight: ['NORIGHT1'],
    })
  })

  it.each([
    ['no push-type', alert(), {}, '80100001'],
    ['an alert without category', alert({ category: undefined }), { 'push-type': '0' }, '80100001'],
    ['a ttl that is text', alert({}, { ttl: '600s' }), { 'push-type': '0' }, '80100001'],
    ['a page without address', alert({ clickAction: { actionType: 1 } }), { 'push-type': '0' }, '80100001'],
    ['a badge of 100', alert({ badge: { setNum: 100 } }), { 'push-type': '0' }, '80100001'],
    ['background without data', alert(), { 'push-type': '6' }, '80100001'],
    ['no target', { payload: {} }, { 'push-type': '0' }, '80100003'],
    ['no tokens', { ...alert(), target: { token: [] } }, { 'push-type': '0' }, '80300010'],
    [
      'eleven test tokens',
      { ...alert({}, { testMessage: true }), target: { token: [...'abcdefghijk'] } },
      { 'push-type': '0' },
      '80300030',
    ],
    ['a body of more than 4096 bytes', alert({ body: 'x'.repeat(4096) }), { 'push-type': '0' }, '80300008'],
  ])('refuses %s', async (_name, body, headers, code) => {
    const { post } = await start()
    expect(await post(pass(), body, path, headers)).toMatchObject({ status: 400, code })
  })
})

describe('huawei simulator: receipts', () => {
  type Post = { headers: Record<string, string>; body: Buffer }

  async function startListener(): Promise<{ url: string; posts: Post[] }> {
    const posts: Post[] = []
    const server: Server = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
      posts.push({ headers: request.headers as Record<string, string>, body: Buffer.concat(chunks) })
      response.end('{"code":"0","message":"success"}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    toClose.push(
      () =>
        new Promise((resolve) => {
          server.close(() => resolve())
          server.closeAllConnections()
        }),
    )
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/cb/secret`, posts }
  }

  const key = Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')
  const settings = huawei.readSettings(
    sampleCertificate('huawei', {
      appId: app.clientId,
      appSecret: app.clientSecret,
      extra: { callback_user: 'pushuser', callback_secret: key },
    }),
  )
  const readAll = (posts: Post[]) =>
    posts.flatMap(({ headers, body }) => {
      const reading = huawei.readCallback!({ headers, body, query: {}, now: Date.now() }, settings)
      if (!reading.ok) throw new Error(reading.problem)
      return reading.receipts
    })

  it.each([1, 2] as const)(
    'signs version %d, tells each token’s fate, and our reader understands it',
    async (version) => {
      const { url, posts } = await startListener()
      const { simulator, login, post } = await start()
      simulator.registerReceipts({ clientId: app.clientId, url, user: 'pushuser', key, version })
      await post(
        await login(),
        message({ token: ['a', 'UNINST1', 'MISMATCH1', 'NOTIFYOFF1', 'CAP1', 'ILLEGAL1'] }),
      )
      await simulator.receiptsPosted()
      expect(readAll(posts)).toEqual([
        { taskId: 7001, token: 'a', event: 'received' },
        { taskId: 7001, token: 'UNINST1', event: 'gone', reason: '2' },
        { taskId: 7001, token: 'MISMATCH1', event: 'gone', reason: '5' },
        { taskId: 7001, token: 'NOTIFYOFF1', event: 'dropped', reason: '6' },
        { taskId: 7001, token: 'CAP1', event: 'dropped', reason: '102' },
      ])
    },
  )

  it('signs with the key as it stands when the configuration is old', async () => {
    const { url, posts } = await startListener()
    const { simulator, login, post } = await start({
      receipts: [{ clientId: app.clientId, url, user: 'pushuser', key, rawKey: true }],
    })
    await post(await login(), message())
    await simulator.receiptsPosted()
    expect(readAll(posts)).toHaveLength(1)
  })

  it('posts at most 100 entries at a time, without a header when no key is set', async () => {
    const { url, posts } = await startListener()
    const { simulator, login, post } = await start({ receipts: [{ clientId: app.clientId, url }] })
    await post(await login(), message({ token: Array.from({ length: 250 }, (_, i) => `t${i}`) }))
    await simulator.receiptsPosted()
    const sizes = posts.map(({ body }) => JSON.parse(body.toString()).statuses.length)
    expect(sizes.sort((a, b) => a - b)).toEqual([50, 100, 100])
    expect(posts[0]!.headers).not.toHaveProperty('x-huawei-callback-id')
  })

  it('sends to the address that receipt_id names', async () => {
    const [usual, named] = [await startListener(), await startListener()]
    const { simulator, login, post } = await start({
      receipts: [
        { clientId: app.clientId, url: usual.url },
        { clientId: app.clientId, url: named.url, receiptId: 'RCP1' },
      ],
    })
    const token = await login()
    await post(token, android({ receipt_id: 'RCP1' }))
    await post(token, message())
    await simulator.receiptsPosted()
    expect([usual.posts.length, named.posts.length]).toEqual([1, 1])
  })

  it('stays silent for validate_only and when told to', async () => {
    const { url, posts } = await startListener()
    const { simulator, login, post } = await start({ receipts: [{ clientId: app.clientId, url }] })
    const token = await login()
    await post(token, { ...message(), validate_only: true })
    simulator.setFaults({ silentReceipts: true })
    await post(token, message())
    await simulator.receiptsPosted()
    expect(posts).toEqual([])
  })
})
