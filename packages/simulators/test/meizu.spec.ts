import { createHash } from 'node:crypto'
import { startReceiver } from '@herald/testkit/receiver'
import { afterEach, describe, expect, it } from '@jest/globals'
import {
  type MeizuSimulator,
  type MeizuSimulatorOptions,
  startMeizuSimulator,
} from '../src/meizu/simulator.ts'

type Part = Record<string, unknown>

const credential = { appId: 100999, appSecret: '0d1c2b3a495867761f2e3d4c5b6a7988' }
const root = '/garcia/api/server/push'
const a = 'RA50c6348036344485d01776773577c64740465480a6b'
const b = 'J0476035d625e6c64567f71487e040e7d017f0558675b'
const form = 'application/x-www-form-urlencoded;charset=UTF-8'
const notice = { noticeBarInfo: { title: '订单已发货', content: '您的包裹已出库' } }

/** The signature of https://github.com/MEIZUPUSH/PushAPI */
function signOf(fields: Record<string, string>, secret = credential.appSecret): string {
  const names = Object.keys(fields).sort()
  const text = names.map((name) => `${name}=${fields[name]}`).join('')
  return createHash('md5')
    .update(text + secret)
    .digest('hex')
}

let simulator: MeizuSimulator
const closing: (() => Promise<unknown>)[] = []

async function start(options: MeizuSimulatorOptions = {}): Promise<void> {
  const started = await startMeizuSimulator({ credentials: [credential], ...options })
  closing.push(started.close)
  simulator = started
}

afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function post(path: string, body: string, type = form): Promise<Part> {
  const reply = await fetch(simulator.url + root + path, {
    method: 'POST',
    headers: { 'content-type': type },
    body,
  })
  expect(reply.status).toBe(200)
  return (await reply.json()) as Part
}

async function call(path: string, fields: Record<string, string>): Promise<Part> {
  const all = { appId: '100999', ...fields }
  const sign = fields.sign ?? signOf(all)
  return post(path, new URLSearchParams({ ...all, sign }).toString())
}

function push(
  message: unknown = notice,
  pushIds: readonly string[] = [a],
  kind = 'varnished',
): Promise<Part> {
  const messageJson = typeof message === 'string' ? message : JSON.stringify(message)
  return call(`/${kind}/pushByPushId`, { pushIds: pushIds.join(), messageJson })
}

describe('Meizu’s push', () => {
  it('accepts a request with a pinned signature', async () => {
    await start()
    // The MD5 was computed once by the rule at `signOf`, over the fields unencoded.
    const body =
      'appId=100999&pushIds=RA50c6348036344485d01776773577c64740465480a6b%2CJ0476035d625e6c64567f71487e040e7d017f0558675b&messageJson=%7B%22noticeBarInfo%22%3A%7B%22noticeMsgType%22%3A1%2C%22title%22%3A%22Order+shipped%22%2C%22content%22%3A%22Parcel+1024+is+on+its+way%22%7D%2C%22clickTypeInfo%22%3A%7B%22clickType%22%3A0%7D%2C%22pushTimeInfo%22%3A%7B%22offLine%22%3A1%2C%22validTime%22%3A24%7D%7D&sign=a7e6b60e90e949c1e9fa42f157a3c52c'
    expect(await post('/varnished/pushByPushId', body)).toEqual({
      code: '200',
      message: '',
      value: {},
      msgId: expect.stringMatching(/^[0-9a-f]{32}$/),
    })
  })

  it('lists the failed targets by code and accepts the others', async () => {
    await start()
    simulator.kill([b])
    expect(await push(notice, [a, b, 'not a token'])).toMatchObject({
      code: '200',
      value: { 110002: [b], 110003: ['not a token'] },
    })
    expect(simulator.ledger()).toEqual({ accepted: 1, distinct: 1, duplicates: 0 })
  })

  it.each(['110002', '110003', '110010', '520', '513', '501', '518', '519', '201', '110011'])(
    'replies to the preset pushId of %s',
    async (code) => {
      await start()
      const preset = `preset${code}000000000000`
      expect(await push(notice, [a, preset])).toMatchObject({ code: '200', value: { [code]: [preset] } })
    },
  )

  it('checks the signature over every field, unknown ones included', async () => {
    await start()
    const messageJson = JSON.stringify(notice)
    const fields = { pushIds: a, messageJson, restrictedPackageNames: 'com.demo' }
    expect(await call('/varnished/pushByPushId', fields)).toMatchObject({ code: '200' })
    const { restrictedPackageNames: _, ...signed } = { appId: '100999', ...fields }
    const sign = signOf(signed)
    expect(await call('/varnished/pushByPushId', { ...fields, sign })).toEqual({
      code: '1006',
      message: '签名认证失败',
      value: '',
      redirect: '',
    })
  })

  const fields = { pushIds: a, messageJson: JSON.stringify(notice) }
  const refused: [what: string, fields: Record<string, string>, code: string][] = [
    ['no pushIds', { ...fields, pushIds: '' }, '110004'],
    ['no message', { ...fields, messageJson: '' }, '110004'],
    ['no appId', { ...fields, appId: '' }, '110004'],
    ['no sign', { ...fields, sign: '' }, '110004'],
    ['an unknown appId', { ...fields, appId: '100998' }, '110000'],
    ['a wrong sign', { ...fields, sign: '0'.repeat(32) }, '1006'],
    ['a message that is not valid JSON', { ...fields, messageJson: '{' }, '1005'],
    ['only commas', { ...fields, pushIds: ',,' }, '1005'],
    ['101 targets', { ...fields, pushIds: Array.from({ length: 101 }, () => a).join() }, '1005'],
  ]
  it.each(refused)('refuses %s', async (_what, given, code) => {
    await start()
    expect(await call('/varnished/pushByPushId', given)).toMatchObject({ code, value: '', redirect: '' })
    expect(simulator.ledger().accepted).toBe(0)
  })

  it('requires POST and a form', async () => {
    await start()
    const url = `${simulator.url}${root}/varnished/pushByPushId`
    expect((await fetch(url)).status).toBe(405)
    const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
    expect((await fetch(url, json)).status).toBe(415)
    expect((await fetch(`${simulator.url}${root}/none`, { method: 'POST' })).status).toBe(404)
  })

  it('accepts aliases', async () => {
    await start()
    simulator.kill(['alias2'])
    const given = { alias: 'alias1,alias2', messageJson: JSON.stringify(notice) }
    expect(await call('/varnished/pushByAlias', given)).toMatchObject({ value: { 110005: ['alias2'] } })
  })
})

describe('Meizu’s messageJson', () => {
  const bar = notice.noticeBarInfo
  const taken: [what: string, message: Part][] = [
    ['32 characters of title', { noticeBarInfo: { ...bar, title: '题'.repeat(32) } }],
    ['100 characters of content', { noticeBarInfo: { ...bar, content: '文'.repeat(100) } }],
    [
      'empty parts',
      { ...notice, noticeExpandInfo: {}, clickTypeInfo: {}, pushTimeInfo: {}, advanceInfo: {} },
    ],
    ['flags as booleans', { ...notice, pushTimeInfo: { offLine: true }, advanceInfo: { suspend: false } }],
    ['a page', { ...notice, clickTypeInfo: { clickType: 1, activity: 'com.demo.A', parameters: { k: 1 } } }],
    ['an address', { ...notice, clickTypeInfo: { clickType: 2, url: 'https://example.com' } }],
    ['72 hours', { ...notice, pushTimeInfo: { offLine: 1, validTime: 72 } }],
    ['online only', { ...notice, pushTimeInfo: { offLine: 0 } }],
    ['a notifyKey', { ...notice, advanceInfo: { notifyKey: 'aB_-0129' } }],
    ['a key of an older SDK', { ...notice, advanceInfo: { isFixDisplay: 0 } }],
    [
      'timed display',
      {
        ...notice,
        advanceInfo: {
          fixDisplay: 1,
          fixStartDisplayTime: '2025-06-15 10:00:00',
          fixEndDisplayTime: '2025-06-15 11:00:00',
        },
      },
    ],
  ]
  it.each(taken)('is accepted with %s', async (_what, message) => {
    await start()
    expect(await push(message)).toMatchObject({ code: '200', value: {} })
  })

  const refused: [what: string, message: Part, code: string][] = [
    ['no title', { noticeBarInfo: { content: 'x' } }, '110004'],
    ['33 characters of title', { noticeBarInfo: { ...bar, title: '题'.repeat(33) } }, '1005'],
    ['no content', { noticeBarInfo: { title: 'x', content: '' } }, '110004'],
    ['101 characters of content', { noticeBarInfo: { ...bar, content: '文'.repeat(101) } }, '1005'],
    ['noticeMsgType 2', { noticeBarInfo: { ...bar, noticeMsgType: 2 } }, '1005'],
    ['the retired noticeBarType 1', { noticeBarInfo: { ...bar, noticeBarType: 1 } }, '1005'],
    ['noticeExpandType 3', { ...notice, noticeExpandInfo: { noticeExpandType: 3 } }, '1005'],
    ['expanded text without text', { ...notice, noticeExpandInfo: { noticeExpandType: 1 } }, '110004'],
    ['clickType 4', { ...notice, clickTypeInfo: { clickType: 4 } }, '1005'],
    ['a page without class', { ...notice, clickTypeInfo: { clickType: 1 } }, '110004'],
    ['a page as component', { ...notice, clickTypeInfo: { clickType: 1, activity: 'com.demo/.A' } }, '1005'],
    ['a long page', { ...notice, clickTypeInfo: { clickType: 1, activity: 'x'.repeat(1001) } }, '1005'],
    ['an address without address', { ...notice, clickTypeInfo: { clickType: 2 } }, '110004'],
    ['a long address', { ...notice, clickTypeInfo: { clickType: 2, url: 'x'.repeat(1001) } }, '1005'],
    [
      'an address of many bytes',
      { ...notice, clickTypeInfo: { clickType: 2, url: `https://example.com/${'文'.repeat(330)}` } },
      '1005',
    ],
    ['parameters as text', { ...notice, clickTypeInfo: { parameters: '{}' } }, '1005'],
    ['a custom click without text', { ...notice, clickTypeInfo: { clickType: 3 } }, '110004'],
    ['73 hours', { ...notice, pushTimeInfo: { offLine: 1, validTime: 73 } }, '1005'],
    ['zero hours', { ...notice, pushTimeInfo: { validTime: 0 } }, '1005'],
    ['half an hour', { ...notice, pushTimeInfo: { validTime: 0.5 } }, '1005'],
    ['offLine 2', { ...notice, pushTimeInfo: { offLine: 2 } }, '1005'],
    ['suspend 2', { ...notice, advanceInfo: { suspend: 2 } }, '1005'],
    ['a sound by name', { ...notice, advanceInfo: { notificationType: { sound: 'bell' } } }, '1005'],
    ['a notifyKey of 9', { ...notice, advanceInfo: { notifyKey: 'abcdefghi' } }, '1005'],
    ['a notifyKey with a dot', { ...notice, advanceInfo: { notifyKey: 'a.b' } }, '1005'],
    ['timed display without times', { ...notice, advanceInfo: { fixDisplay: 1 } }, '1005'],
    [
      'timed display that ends first',
      {
        ...notice,
        advanceInfo: {
          fixDisplay: 1,
          fixStartDisplayTime: '2025-06-15 11:00:00',
          fixEndDisplayTime: '2025-06-15 10:00:00',
        },
      },
      '1005',
    ],
    ['VIP fields', { ...notice, vipInfo: { subtitle: 'x' } }, '1005'],
    ['a big picture', { ...notice, noticeExpandInfo: { noticeExpandType: 2 } }, '1005'],
    ['an unregistered callback', { ...notice, extra: { callback: 'http://127.0.0.1:9/x' } }, '1005'],
    ['extra without callback', { ...notice, extra: { 'callback.param': 'x' } }, '110004'],
  ]
  it.each(refused)('is refused with %s', async (_what, message, code) => {
    await start()
    expect(await push(message)).toMatchObject({ code, value: '' })
    expect(simulator.ledger().accepted).toBe(0)
  })

  it('has limits in UTF-16 units if that rule is on', async () => {
    await start()
    const emoji = { noticeBarInfo: { ...bar, title: '😀'.repeat(17) } }
    expect(await push(emoji)).toMatchObject({ code: '200' })
    simulator.setFaults({ rules: ['utf16_limits'] })
    expect(await push(emoji)).toMatchObject({ code: '1005' })
    expect(await push({ noticeBarInfo: { ...bar, title: '😀'.repeat(16) } })).toMatchObject({ code: '200' })
  })

  it('is refused with 500 for a bad parameter if that rule is on', async () => {
    await start()
    simulator.setFaults({ rules: ['bad_parameter_is_500'] })
    expect(await push({ noticeBarInfo: { ...bar, title: '题'.repeat(33) } })).toMatchObject({ code: '500' })
  })

  it('has limits for the parts of the callback', async () => {
    await start()
    const callback = `http://127.0.0.1:9/${'x'.repeat(109)}`
    simulator.registerReceipts({ appId: 100999, url: callback })
    simulator.registerReceipts({ appId: 100999, url: `${callback}y` })
    const extra = (over: Part) => push({ ...notice, extra: { callback, ...over } })
    expect(await extra({ 'callback.param': 'p'.repeat(64), 'callback.type': '3' })).toMatchObject({
      code: '200',
    })
    expect(await extra({ callback: `${callback}y` })).toMatchObject({ code: '1005' })
    expect(await extra({ 'callback.param': 'p'.repeat(65) })).toMatchObject({ code: '1005' })
    expect(await extra({ 'callback.type': 4 })).toMatchObject({ code: '1005' })
  })

  it('is accepted with a big picture that Meizu hosts, for VIP applications', async () => {
    await start({ credentials: [{ ...credential, vip: true }] })
    const show = (url: unknown) =>
      push({ ...notice, noticeExpandInfo: { noticeExpandType: 2, noticeExpandImgUrl: url } })
    expect(await show('https://example.com/p.png')).toMatchObject({ code: '1005' })
    const image = { imgType: '1', imgUrl: 'https://example.com/p.png' }
    const uploaded = (await call('/uploadImg', image)) as { value: { imgUrl: string } }
    expect(uploaded).toMatchObject({ code: '200', value: { imgType: 1 } })
    expect(await show(uploaded.value.imgUrl)).toMatchObject({ code: '200' })
    expect(await call('/uploadImg', { ...image, imgType: '2' })).toMatchObject({ code: '1005' })
    expect(await call('/uploadImg', { ...image, imgUrl: 'p.png' })).toMatchObject({ code: '1005' })
  })
})

describe('Meizu’s limits', () => {
  it('fold the sixth message of a minute to a device', async () => {
    let now = 1_750_000_020_000
    await start({ now: () => now })
    for (let i = 0; i < 5; i++) expect(await push()).toMatchObject({ value: {} })
    expect(await push(notice, [a, b])).toMatchObject({ value: { 520: [a] } })
    now += 60_000
    expect(await push()).toMatchObject({ value: {} })
  })

  it('cap public messages per day and device with publicPerDay', async () => {
    await start({ publicPerDay: 3, foldPerMinute: Number.POSITIVE_INFINITY })
    for (let i = 0; i < 3; i++) expect(await push()).toMatchObject({ value: {} })
    expect(await push()).toMatchObject({ value: { 110011: [a] } })
    const personal = { noticeBarInfo: { ...notice.noticeBarInfo, noticeMsgType: 1 } }
    expect(await push(personal)).toMatchObject({ value: {} })
  })

  it('cap targets per second and day if set', async () => {
    let now = 1_750_000_000_000
    await start({ targetsPerSecond: 2, targetsPerDay: 3, now: () => now })
    expect(await push(notice, [a, b])).toMatchObject({ code: '200' })
    expect(await push()).toEqual({
      code: '110010',
      message: '应用请求频率超过限制',
      value: '',
      redirect: '',
    })
    now += 1000
    expect(await push(notice, [a, b])).toMatchObject({ code: '110019' })
  })

  it('allow pass-through only to entitled applications', async () => {
    await start()
    expect(await push({ content: 'x' }, [a], 'unvarnished')).toEqual({
      code: '110053',
      message: '透传超过限制',
      value: '',
      redirect: '',
    })
    await start({ credentials: [{ ...credential, passThrough: true }] })
    const content = '{"task_id":"77"}'
    expect(await push({ content }, [a], 'unvarnished')).toMatchObject({ code: '200' })
    expect(simulator.ledger(77)).toMatchObject({ accepted: 1 })
    expect(await push({ content: '' }, [a], 'unvarnished')).toMatchObject({ code: '110004' })
    expect(await push({ content: 'x'.repeat(2001) }, [a], 'unvarnished')).toMatchObject({ code: '1005' })
    expect(await push({ content, title: 'x'.repeat(33) }, [a], 'unvarnished')).toMatchObject({ code: '1005' })
  })
})

describe('Meizu’s tasks', () => {
  it('store a message once and push it by its id', async () => {
    await start()
    const messageJson = JSON.stringify({ ...notice, clickTypeInfo: { parameters: { task_id: '77' } } })
    const opened = await call('/pushTask/getTaskId', { pushType: '0', messageJson })
    expect(opened).toMatchObject({ code: '200', value: { pushType: 0, appId: 100999 } })
    const taskId = String((opened.value as Part).taskId)
    expect(await call('/task/varnished/pushByPushId', { taskId, pushIds: `${a},${b}` })).toMatchObject({
      code: '200',
      value: {},
    })
    expect(simulator.ledger(77)).toMatchObject({ accepted: 2 })
    expect(await call('/task/varnished/pushByPushId', { taskId: '1', pushIds: a })).toMatchObject({
      code: '110032',
    })
  })
})

describe('Meizu’s receipts', () => {
  async function listen() {
    const receiver = await startReceiver()
    closing.push(receiver.close)
    return { posts: receiver.posts, url: `${receiver.url}/r` }
  }
  const withCallback = (callback: string, over: Part = {}) => ({
    ...notice,
    extra: { callback, 'callback.param': '77', 'callback.type': '3', ...over },
  })

  it('go to the registered URL as a form, several messages together', async () => {
    const { posts, url } = await listen()
    // So long that both pushes come before it ends; `receiptsPosted` does not wait for it.
    await start({ receiptDelayMs: 600_000 })
    simulator.registerReceipts({ appId: 100999, url, accessToken: 's3cr3t' })
    simulator.kill([b])
    const first = await push(withCallback(url), [a, b])
    const second = await push(withCallback(url, { 'callback.param': '78' }), [a])
    await simulator.receiptsPosted()
    expect(posts).toHaveLength(1)
    expect(posts[0]!.headers['content-type']).toBe('application/x-www-form-urlencoded')
    const form = new URLSearchParams(String(posts[0]!.body))
    expect(form.get('access_token')).toBe('s3cr3t')
    expect(JSON.parse(form.get('cb')!)).toEqual({
      [`${first.msgId}-1`]: { param: '77', type: 1, targets: [a] },
      [`${second.msgId}-1`]: { param: '78', type: 1, targets: [a] },
    })
  })

  it('are not sent for clicks only, for tasks and with silentReceipts', async () => {
    const { posts, url } = await listen()
    await start()
    simulator.registerReceipts({ appId: 100999, url })
    await push(withCallback(url, { 'callback.type': 2 }))
    const messageJson = JSON.stringify(withCallback(url))
    const opened = await call('/pushTask/getTaskId', { pushType: '0', messageJson })
    const taskId = String((opened.value as Part).taskId)
    await call('/task/varnished/pushByPushId', { taskId, pushIds: a })
    simulator.setFaults({ silentReceipts: true })
    await push(withCallback(url))
    await simulator.receiptsPosted()
    expect(posts).toEqual([])
  })
})

describe('the simulator', () => {
  it('accepts any credentials with acceptAnyCredentials', async () => {
    await start({ acceptAnyCredentials: true, credentials: [] })
    const fields = { appId: '7', pushIds: a, messageJson: JSON.stringify(notice), sign: 'x' }
    expect(await call('/varnished/pushByPushId', fields)).toMatchObject({ code: '200' })
  })

  it('returns statistics for a signed request', async () => {
    await start()
    const days = { appId: '100999', startTime: '20250615', endTime: '20250615' }
    const ask = async (fields: Record<string, string>, secret?: string) => {
      const query = new URLSearchParams({ ...fields, sign: signOf(fields, secret) })
      return (await fetch(`${simulator.url}${root}/statistics/dailyPushStatics?${query}`)).json()
    }
    expect(await ask(days)).toMatchObject({ code: '200', value: [] })
    expect(await ask(days, 'wrong')).toMatchObject({ code: '1006' })
    expect(await ask({ ...days, endTime: '20250614' })).toMatchObject({ code: '500' })
  })
})
