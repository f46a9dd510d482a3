import { startReceiver } from '@herald/testkit/receiver'
import { afterEach, describe, expect, it } from '@jest/globals'
import { startVivoSimulator, type VivoSimulator, type VivoSimulatorOptions } from '../src/vivo/simulator.ts'

type Body = Record<string, unknown>

const credential = {
  appId: 105550001,
  appKey: 'a1b2c3d4e5f60718293a4b5c6d7e8f90',
  appSecret: '3f0c2a9e-6b1d-4c7a-8e55-91d0c4b7a2f6',
}
/** The older form of regIds, 23 digits. */
const vivoToken = (index: number) => `15638535410301${String(index).padStart(9, '0')}`

/** 2025-06-15 23:06:40 in China. */
const exampleNow = 1_750_000_000_000
/** MD5 of appId, appKey, timestamp and appSecret, computed once: https://dev.vivo.com.cn/documentCenter/doc/362 */
const sign = '35b014daeb91d24f95fb73203b3b0f42'
const auth = { appId: credential.appId, appKey: credential.appKey, timestamp: exampleNow, sign }

let simulator: VivoSimulator
const closing: (() => Promise<unknown>)[] = []

async function start(options: VivoSimulatorOptions = {}): Promise<void> {
  const started = await startVivoSimulator({
    credentials: [credential],
    now: () => exampleNow,
    ...options,
  })
  closing.push(started.close)
  simulator = started
}

afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function call(path: string, body: unknown, headers: Record<string, string> = {}) {
  const reply = await fetch(simulator.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return { status: reply.status, body: (await reply.json()) as Body }
}

async function login(body: Body = auth): Promise<string> {
  const { body: answer } = await call('/message/auth', body)
  expect(answer).toMatchObject({ result: 0, desc: '请求成功' })
  return answer.authToken as string
}

/** The vendor's sample, in the system class, which has no quiet hours. */
const sample: Body = {
  appId: 105550001,
  regId: '15638535410301000000001',
  notifyType: 4,
  title: '订单已发货',
  content: '您的包裹已出库',
  timeToLive: 86400,
  skipType: 4,
  skipContent: 'intent:#Intent;component=com.demo/com.demo.Main;S.id=42;end',
  networkType: -1,
  classification: 1,
  category: 'ORDER',
  pushMode: 0,
  clientCustomMap: { order: '42' },
  requestId: 'job-77-0',
}
const listSample: Body = { ...sample, regId: undefined, requestId: 'job-78-p' }

async function send(over: Body = {}, path = '/message/send'): Promise<Body> {
  const { status, body } = await call(path, { ...sample, ...over }, { authToken: await login() })
  expect(status).toBe(200)
  return body
}

async function save(over: Body = {}): Promise<Body> {
  return send({ ...listSample, ...over }, '/message/saveListPayload')
}

async function push(over: Body): Promise<Body> {
  const body = { appId: 105550001, requestId: 'job-78-0', pushMode: 0, ...over }
  return (await call('/message/pushToList', body, { authToken: await login() })).body
}

describe('vivo’s auth', () => {
  it('issues a token for the pinned signature, for an appId as number and as string', async () => {
    await start()
    expect(await login()).toMatch(/^[0-9a-f-]{36}$/)
    expect(await login({ ...auth, appId: '105550001' })).toMatch(/^[0-9a-f-]{36}$/)
  })

  const refusals: [what: string, body: Body, result: number][] = [
    ['no appId', { ...auth, appId: undefined }, 10200],
    ['no appKey', { ...auth, appKey: '' }, 10201],
    ['no timestamp', { ...auth, timestamp: undefined }, 10203],
    ['no sign', { ...auth, sign: undefined }, 10204],
    ['another appKey', { ...auth, appKey: 'b'.repeat(32) }, 10202],
    ['an unknown appId', { ...auth, appId: 105550002 }, 10205],
    ['a wrong sign', { ...auth, sign: sign.toUpperCase() }, 10206],
    ['a timestamp in seconds', { ...auth, timestamp: 1_750_000_000 }, 10207],
    ['a timestamp eleven minutes old', { ...auth, timestamp: exampleNow - 660_000 }, 10207],
  ]
  it.each(refusals)('refuses %s', async (_what, body, result) => {
    await start()
    expect((await call('/message/auth', body)).body).toMatchObject({ result })
  })

  it('allows ten calls per second and application', async () => {
    await start()
    for (let i = 0; i < 10; i++) await login()
    expect((await call('/message/auth', auth)).body).toEqual({ result: 10093, desc: '鉴权速度过快' })
  })

  it('accepts any credentials with acceptAnyCredentials', async () => {
    await start({ acceptAnyCredentials: true, credentials: [] })
    expect(await login({ ...auth, appId: 9, sign: 'x' })).toBeTruthy()
  })
})

describe('vivo’s token', () => {
  it('is required, must be valid, and expires after a day', async () => {
    let now = exampleNow
    await start({ now: () => now })
    const authToken = await login()
    const denied = { result: 10000, desc: '权限认证失败' }
    expect((await call('/message/send', sample)).body).toEqual(denied)
    expect((await call('/message/send', sample, { authToken: 'x' })).body).toEqual(denied)
    expect((await call('/message/send', sample, { authToken })).body).toMatchObject({ result: 0 })
    now += 86_400_000
    expect((await call('/message/send', sample, { authToken })).body).toEqual(denied)
  })

  it('belongs to one app, whose id a body may omit', async () => {
    await start()
    expect(await send({ appId: 105550002 })).toMatchObject({ result: 10094 })
    expect(await send({ appId: undefined })).toMatchObject({ result: 0 })
  })

  it('does not invalidate earlier ones of the app', async () => {
    await start()
    const authToken = await login()
    await login()
    expect((await call('/message/send', sample, { authToken })).body).toMatchObject({ result: 0 })
  })
})

describe('vivo’s single send', () => {
  it('accepts the vendor’s sample and returns a task id', async () => {
    await start()
    expect(await send()).toEqual({ result: 0, desc: '请求成功', taskId: expect.stringMatching(/^\d+$/) })
  })

  const accepted: [what: string, over: Body][] = [
    ['40 characters of any script', { title: '题'.repeat(40) }],
    ['100 characters of content', { content: '文'.repeat(100) }],
    ['the minimum time', { timeToLive: 60 }],
    ['no time', { timeToLive: undefined }],
    ['a category alone', { classification: undefined, category: 'IM' }],
    [
      'null for fields that are not set',
      { timeToLive: null, networkType: null, notifyId: null, extra: null },
    ],
    ['wifi only', { networkType: 1 }],
    ['1024 characters of custom fields', { clientCustomMap: { k: 'x'.repeat(1023) } }],
    [
      'eleven custom fields',
      { clientCustomMap: Object.fromEntries([...'abcdefghijk'].map((k) => [k, '1'])) },
    ],
    ['an alias of 70', { regId: undefined, alias: 'a'.repeat(70) }],
    ['a full skipContent', { skipContent: 'x'.repeat(1024) }],
    ['the largest notifyId', { notifyId: 2147483647 }],
    ['every callback key', { extra: { 'callback.param': 'x'.repeat(192), 'callback.id': '7' } }],
    ['sendOnline and addBadge', { sendOnline: true, addBadge: true, foregroundShow: false }],
    ['a requestId of 64', { requestId: 'r'.repeat(64) }],
  ]
  it.each(accepted)('accepts %s', async (_what, over) => {
    await start()
    expect(await send(over)).toMatchObject({ result: 0 })
  })

  const refused: [what: string, over: Body, result: number][] = [
    ['no target', { regId: undefined }, 10050],
    ['an alias of 71', { regId: undefined, alias: 'a'.repeat(71) }, 10301],
    ['no title', { title: ' ' }, 10055],
    ['41 characters of title', { title: '题'.repeat(41) }, 10056],
    ['no content', { content: undefined }, 10057],
    ['101 characters of content', { content: '文'.repeat(101) }, 10058],
    ['notifyType 5', { notifyType: 5 }, 10054],
    ['no notifyType', { notifyType: undefined }, 10054],
    ['59 seconds', { timeToLive: 59 }, 10059],
    ['more than a day', { timeToLive: 86_401 }, 10059],
    ['skipType 0', { skipType: 0 }, 10060],
    ['a URL click without URL', { skipType: 2, skipContent: undefined }, 10061],
    ['a URL click without scheme', { skipType: 2, skipContent: 'shop.example' }, 10061],
    ['foregroundShow as text', { foregroundShow: 'false' }, 10999],
    ['a long URL', { skipType: 2, skipContent: 'x'.repeat(1025) }, 10062],
    ['a custom click without content', { skipType: 3, skipContent: '' }, 10063],
    ['a long custom click', { skipType: 3, skipContent: 'x'.repeat(1025) }, 10064],
    ['a page click without page', { skipType: 4, skipContent: '' }, 10068],
    ['a long page', { skipType: 4, skipContent: 'x'.repeat(1025) }, 10069],
    ['networkType 0', { networkType: 0 }, 10065],
    ['1025 characters of custom fields', { clientCustomMap: { k: 'x'.repeat(1024) } }, 10067],
    ['a custom field that is a number', { clientCustomMap: { k: 1 } }, 10067],
    ['an unknown key in extra', { extra: { callbackId: 'x' } }, 10304],
    ['a callback of 129', { extra: { callback: 'x'.repeat(129) } }, 10305],
    ['a callback.param of 193', { extra: { 'callback.param': 'x'.repeat(193) } }, 10306],
    ['no requestId', { requestId: '' }, 10352],
    ['a requestId of 65', { requestId: 'r'.repeat(65) }, 10353],
    ['classification 2', { classification: 2 }, 11000],
    ['a category in lower case', { category: 'order' }, 10096],
    ['a category of the other class', { classification: 0 }, 10097],
    ['notifyId 0', { notifyId: 0 }, 10095],
    ['notifyId beyond 31 bits', { notifyId: 2147483648 }, 10095],
  ]
  it.each(refused)('refuses %s', async (_what, over, result) => {
    await start()
    expect(await send(over)).toMatchObject({ result, desc: expect.any(String) })
    expect(simulator.ledger().accepted).toBe(0)
  })

  const invalid: [regId: string, status: number][] = [
    ['1563853541030100000bad1', 1],
    ['1563853541030100000bad2', 2],
    ['short', 1],
    [vivoToken(9), 2],
  ]
  it.each(invalid)('reports %s as invalid', async (regId, status) => {
    await start()
    simulator.kill([vivoToken(9)])
    expect(await send({ regId })).toEqual({
      result: 10302,
      desc: 'regId不合法',
      invalidUser: { status, userid: regId },
    })
  })

  it('accepts only test devices for test sends', async () => {
    await start({ testDevices: [vivoToken(1)] })
    expect(await send({ pushMode: 1, regId: vivoToken(1) })).toMatchObject({ result: 0 })
    expect(await send({ pushMode: 1, regId: vivoToken(2) })).toMatchObject({ invalidUser: { status: 4 } })
  })

  it('requires POST and JSON', async () => {
    await start()
    expect((await fetch(`${simulator.url}/message/send`)).status).toBe(405)
    const form = await fetch(`${simulator.url}/message/send`, { method: 'POST', body: 'a=b' })
    expect(form.status).toBe(415)
    expect((await fetch(`${simulator.url}/message/none`, { method: 'POST' })).status).toBe(404)
  })
})

describe('vivo’s list send', () => {
  const regIds = [vivoToken(1), vivoToken(2), vivoToken(3)]

  it('lists dead tokens and accepts the others', async () => {
    await start()
    simulator.kill([vivoToken(3)])
    const { taskId } = await save()
    expect(await push({ regIds, taskId })).toEqual({
      requestId: 'job-78-0',
      result: 0,
      desc: '请求成功',
      invalidUsers: [{ status: 2, userid: vivoToken(3) }],
    })
    expect(await push({ regIds: regIds.slice(0, 2), taskId })).not.toHaveProperty('invalidUsers')
    expect(simulator.ledger()).toEqual({ accepted: 4, distinct: 2, duplicates: 2 })
  })

  it('refuses a payload for less than 900 seconds', async () => {
    await start()
    expect(await save({ timeToLive: 899 })).toMatchObject({ result: 10059 })
    expect(await save({ timeToLive: 900 })).toMatchObject({ result: 0 })
  })

  const refused: [what: string, over: Body, result: number][] = [
    ['no targets', { regIds: [] }, 10150],
    ['one target', { regIds: regIds.slice(0, 1) }, 10153],
    ['one target twice', { regIds: [vivoToken(1), vivoToken(1)] }, 10153],
    ['1001 targets', { regIds: Array.from({ length: 1001 }, (_, i) => vivoToken(i)) }, 10153],
    ['one alias', { regIds: undefined, aliases: ['a'] }, 10154],
    ['1001 aliases', { regIds: undefined, aliases: Array.from({ length: 1001 }, (_, i) => `a${i}`) }, 10154],
    ['no taskId', { taskId: undefined }, 10151],
    ['a taskId of letters', { taskId: 'abc' }, 10152],
    ['an unknown taskId', { taskId: '1' }, 10155],
    ['no requestId', { requestId: undefined }, 10352],
  ]
  it.each(refused)('refuses %s', async (_what, over, result) => {
    await start()
    const { taskId } = await save()
    expect(await push({ regIds, taskId, ...over })).toMatchObject({ result })
  })

  it('accepts aliases instead of regIds', async () => {
    await start()
    const { taskId } = await save()
    const aliases = ['alias-number-0001', 'alias-number-0002']
    expect(await push({ aliases, taskId })).toMatchObject({ result: 0 })
  })

  it('reads the test mode from the saved payload too', async () => {
    await start({ testDevices: [vivoToken(1)] })
    const { taskId } = await save({ pushMode: 1 })
    expect(await push({ regIds: regIds.slice(0, 2), taskId, pushMode: undefined })).toMatchObject({
      result: 0,
      invalidUsers: [{ status: 4, userid: vivoToken(2) }],
    })
  })

  it('caps saved payloads per day', async () => {
    await start({ listPayloadsPerDay: 1 })
    await save()
    expect(await save()).toMatchObject({ result: 10252 })
  })
})

describe('vivo’s limits', () => {
  const operational = { classification: 0, category: undefined }

  it('refuse operational formal sends from 23:00 to 07:00 in China', async () => {
    let now = Date.parse('2025-06-15T22:59:59+08:00')
    await start({ now: () => now, acceptAnyCredentials: true, credentials: [] })
    const at = async (time: string, over: Body = {}) => {
      now = Date.parse(time)
      const authToken = await login({ ...auth, timestamp: now })
      return (await call('/message/send', { ...sample, ...operational, ...over }, { authToken })).body
    }
    expect(await at('2025-06-15T22:59:59+08:00')).toMatchObject({ result: 0 })
    expect(await at('2025-06-15T23:00:00+08:00')).toMatchObject({ result: 10071 })
    expect(await at('2025-06-16T06:59:59+08:00')).toMatchObject({ result: 10071 })
    expect(await at('2025-06-16T06:59:59+08:00', { classification: 1 })).toMatchObject({ result: 0 })
    expect(await at('2025-06-16T07:00:00+08:00')).toMatchObject({ result: 0 })
  })

  it('cap the daily volume by classification', async () => {
    await start({ dailyVolume: { operational: 1, system: 2 }, alwaysOpen: true })
    expect(await send(operational)).toMatchObject({ result: 0 })
    expect(await send(operational)).toEqual({ result: 10070, desc: '发送总量超出限制' })
    expect(await send()).toMatchObject({ result: 0 })
    expect(await send()).toMatchObject({ result: 0 })
    expect(await send()).toMatchObject({ result: 10073 })
  })

  it('are lowered by calls after the quota of the day is used up', async () => {
    let now = Date.parse('2025-06-15T12:00:00+08:00')
    await start({ now: () => now, acceptAnyCredentials: true, credentials: [], dailyVolume: { system: 10 } })
    const sendAll = async (count: number) => {
      const authToken = await login({ ...auth, timestamp: now })
      const results: unknown[] = []
      for (let i = 0; i < count; i++)
        results.push((await call('/message/send', sample, { authToken })).body.result)
      return results.filter((result) => result === 0).length
    }
    expect(await sendAll(11)).toBe(10)
    now += 86_400_000
    // The one refusal of the day before cost nothing.
    expect(await sendAll(12)).toBe(10)
    now += 86_400_000
    expect(await sendAll(10)).toBe(9)
  })

  it('of an application in review accept test sends only', async () => {
    await start({ testDevices: [vivoToken(1)] })
    simulator.setFaults({ rules: ['in_review'] })
    expect(await send()).toMatchObject({ result: 10045 })
    expect(await save()).toMatchObject({ result: 10045 })
    expect(await send({ pushMode: 1, regId: vivoToken(1) })).toMatchObject({ result: 0 })
  })

  it('of an application without the permission refuse system messages, or the badge', async () => {
    await start({ alwaysOpen: true })
    simulator.setFaults({ rules: ['no_system_messages'] })
    expect(await send()).toMatchObject({ result: 10082 })
    expect(await send(operational)).toMatchObject({ result: 0 })
    simulator.setFaults({ rules: ['no_badge'] })
    expect(await send({ addBadge: true })).toMatchObject({ result: 10999 })
    expect(await send()).toMatchObject({ result: 0 })
  })

  it('cap messages per second', async () => {
    let now = exampleNow
    await start({ messagesPerSecond: 2, now: () => now })
    const { taskId } = await save()
    expect(await push({ taskId, regIds: [vivoToken(1), vivoToken(2)] })).toMatchObject({ result: 0 })
    expect(await send()).toEqual({ result: 10072, desc: '推送速度过快' })
    now += 1000
    expect(await send()).toMatchObject({ result: 0 })
  })

  const informal = ['12345', 'Hello there', '!!!', '2025-10-10', '这是测试', '订单{1}']
  it.each(informal)('refuse the text %s only with formalTexts', async (title) => {
    await start()
    expect(await send({ title })).toMatchObject({ result: 0 })
    await start({ formalTexts: true })
    expect(await send({ title })).toMatchObject({ result: 10085 })
    expect(await send({ title: '订单 42 has shipped' })).toMatchObject({ result: 0 })
  })

  it('are those of the older SDK only with oldLimits', async () => {
    await start({ oldLimits: true })
    const fields = Object.fromEntries([...'abcdefghijk'].map((k) => [k, '1']))
    expect(await send({ clientCustomMap: fields })).toMatchObject({ result: 10066 })
    expect(await send({ title: '题'.repeat(21) })).toMatchObject({ result: 10056 })
    expect(await send({ title: 'x'.repeat(40), timeToLive: 604_800 })).toMatchObject({ result: 0 })
  })
})

describe('vivo’s receipts', () => {
  async function listen() {
    const receiver = await startReceiver()
    closing.push(receiver.close)
    const read = () =>
      receiver.posts.map(({ headers, body }) => ({
        type: headers['content-type'],
        body: JSON.parse(String(body)) as Record<string, Body>,
      }))
    return { read, url: `${receiver.url}/r` }
  }

  it('go to the URL of a formal single send, in the vendor’s form', async () => {
    const { read, url } = await listen()
    await start()
    const { taskId } = await send({ extra: { callback: url, 'callback.param': '77' } })
    await simulator.receiptsPosted()
    expect(read()).toEqual([
      {
        type: 'application/json',
        body: {
          [taskId as string]: { targets: sample.regId, param: '77', ackTime: exampleNow, ackType: '0' },
        },
      },
    ])
  })

  it('are not sent for test sends, for refused sends and with silentReceipts', async () => {
    const { read, url } = await listen()
    await start({ testDevices: [vivoToken(1)] })
    const extra = { callback: url, 'callback.param': '77' }
    await send({ pushMode: 1, regId: vivoToken(1), extra })
    await send({ regId: '1563853541030100000bad1', extra })
    simulator.setFaults({ silentReceipts: true })
    await send({ extra })
    await simulator.receiptsPosted()
    expect(read()).toEqual([])
  })

  it('of a list go only to the registered URL', async () => {
    const { read, url } = await listen()
    await start()
    simulator.registerReceipts({ callbackId: 'r7', url })
    const regIds = [vivoToken(1), vivoToken(2)]
    const old = await save({ extra: { callback: url, 'callback.param': '77' } })
    await push({ regIds, taskId: old.taskId })
    const { taskId } = await save({ extra: { 'callback.id': 'r7', 'callback.param': '78' } })
    await push({ regIds, taskId })
    await simulator.receiptsPosted()
    expect(read().map((post) => post.body)).toEqual([
      { [taskId as string]: { targets: regIds.join(), param: '78', ackTime: exampleNow, ackType: '0' } },
    ])
  })
})

describe('the simulator', () => {
  it('reports statistics of tasks', async () => {
    await start()
    const { taskId } = await send()
    const reply = await fetch(`${simulator.url}/report/getStatistics?taskIds=${taskId},9`, {
      headers: { authToken: await login() },
    })
    expect(await reply.json()).toEqual({
      result: 0,
      desc: '请求成功',
      statistics: [{ taskId, send: 1, receive: 0, display: 0, click: 0 }],
    })
  })
})
