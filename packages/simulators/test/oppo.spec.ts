import { createHash } from 'node:crypto'
import { type Receiver, startReceiver } from '@herald/testkit/receiver'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { type OppoSimulator, type OppoSimulatorOptions, startOppoSimulator } from '../src/oppo/simulator.ts'

const T1 = 'OPPO_CN_96924265693b2f49e843db3e1f68f88a'
const T2 = 'OPPO_CN_077176b4607b04e43695bd914a2a41fb'
const T3 = 'OPPO_CN_zz'
const notificationPath = '/server/v1/message/notification'

type Answer = { code: number; message: string; data?: unknown }
type Fields = Record<string, unknown>

const good = {
  app_message_id: 'job-42-t1',
  style: 1,
  title: 'Anna',
  content: 'Are you there?',
  click_action_type: 4,
  click_action_activity: 'com.example.app.ChatActivity',
  action_parameters: '{"chatId":"123"}',
  off_line: true,
  off_line_ttl: 86400,
  channel_id: 'chat',
  category: 'IM',
  notify_level: 2,
  badge_operation_type: 1,
  badge_message_count: 1,
}

let simulator: OppoSimulator
let token: string
let receiver: Receiver | undefined

beforeEach(async () => {
  await begin()
})
afterEach(async () => {
  jest.restoreAllMocks()
  await simulator.close()
  await receiver?.close()
  receiver = undefined
})

async function begin(options?: OppoSimulatorOptions) {
  simulator = await startOppoSimulator(options)
  token = ((await auth()).data as { auth_token: string }).auth_token
}
async function restart(options: OppoSimulatorOptions) {
  await simulator.close()
  await begin(options)
}
const app = { appId: '3000001', appKey: 'sim-app-key', masterSecret: 'sim-master-secret' }

async function call(path: string, form: Record<string, string>, init: RequestInit = {}): Promise<Answer> {
  const reply = await fetch(simulator.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(form).toString(),
    ...init,
  })
  expect(reply.status).toBe(200)
  return (await reply.json()) as Answer
}
/** The signature of https://open.oppomobile.com/new/developmentDoc/info?id=11234 */
function auth(over: Record<string, string> = {}): Promise<Answer> {
  const timestamp = over.timestamp ?? String(Date.now())
  const sign = createHash('sha256').update(`sim-app-key${timestamp}sim-master-secret`).digest('hex')
  return call('/server/v1/auth', { app_key: 'sim-app-key', timestamp, sign, ...over })
}
const messageTo = (target: unknown, notification: unknown = good, over: Fields = {}) => ({
  target_type: 2,
  target_value: target,
  notification,
  ...over,
})
const unicast = (message: unknown) =>
  call(`${notificationPath}/unicast`, { auth_token: token, message: JSON.stringify(message) })
const batch = (messages: unknown) =>
  call(`${notificationPath}/unicast_batch`, { auth_token: token, messages: JSON.stringify(messages) })
const sendOne = (over: Fields) => unicast(messageTo(T1, { ...good, ...over }))

describe('oppo simulator: auth', () => {
  it('issues a token of 24 hexadecimal digits', async () => {
    expect(await auth()).toEqual({
      code: 0,
      message: 'success',
      data: { auth_token: expect.stringMatching(/^[0-9a-f]{24}$/), create_time: expect.any(Number) },
    })
  })

  it('accepts a pinned signature', async () => {
    jest.spyOn(Date, 'now').mockReturnValue(1_760_000_000_000)
    // SHA-256 of key, time and secret, computed once by the rule at `auth`.
    const sign = '557f20ccd8a0e2b128465780ba7548f4bdc8497bb9ba0858f3d684e3176d17d9'
    const form = { app_key: 'sim-app-key', timestamp: '1760000000000', sign }
    expect(await call('/server/v1/auth', form)).toMatchObject({ code: 0 })
  })

  const refusals: [string, Record<string, string>, number][] = [
    ['no key', { app_key: '' }, 15],
    ['an unknown key', { app_key: 'nobody' }, 14],
    ['no signature', { sign: '' }, 17],
    ['a wrong signature', { sign: 'ff' }, 16],
    ['no time', { timestamp: '' }, 18],
    ['a time 11 minutes ago', { timestamp: String(Date.now() - 700_000) }, 19],
    ['a time in seconds', { timestamp: '1760000000' }, 19],
  ]
  it.each(refusals)('refuses %s', async (_, over, code) => {
    expect(await auth(over)).toMatchObject({ code })
  })

  it('requires POST and a form', async () => {
    const get = await fetch(`${simulator.url}/server/v1/auth`)
    expect(await get.json()).toMatchObject({ code: 12 })
    const json = { headers: { 'content-type': 'application/json' }, body: '{}' }
    expect(await call('/server/v1/auth', {}, json)).toMatchObject({ code: 12 })
    expect(await call(`${notificationPath}/unicast`, {}, json)).toMatchObject({ code: 12 })
  })

  it('accepts the token as form field or header, and refuses a missing, unknown and expired one', async () => {
    const path = `${notificationPath}/unicast`
    const message = JSON.stringify(messageTo(T1))
    expect(await call(path, { message })).toMatchObject({ code: 29 })
    expect(await call(path, { message, auth_token: 'nope' })).toMatchObject({
      code: 11,
      message: 'Invalid AuthToken',
    })
    const headers = { 'content-type': 'application/x-www-form-urlencoded', auth_token: token }
    expect(await call(path, { message }, { headers })).toMatchObject({ code: 0 })
    await restart({ tokenLifeMs: 0 })
    expect(await unicast(messageTo(T1))).toMatchObject({ code: 11 })
  })

  it('invalidates the old token with a new one only with newTokenVoidsOld', async () => {
    await auth()
    expect(await unicast(messageTo(T1))).toMatchObject({ code: 0 })
    await restart({ newTokenVoidsOld: true })
    await auth()
    expect(await unicast(messageTo(T1))).toMatchObject({ code: 11 })
  })

  it('accepts any credentials with acceptAnyCredentials', async () => {
    await restart({ acceptAnyCredentials: true })
    expect(await auth({ app_key: 'nobody', sign: 'x' })).toMatchObject({ code: 0 })
  })
})

describe('oppo simulator: sends', () => {
  it('accepts the full request of the vendor’s page', async () => {
    expect(await unicast(messageTo(T1))).toEqual({
      code: 0,
      message: 'Success',
      data: { messageId: expect.stringMatching(/^3000001-1-1-[0-9a-f]{24}$/) },
    })
    expect(simulator.ledger()).toEqual({ accepted: 1, distinct: 1, duplicates: 0 })
  })

  it('replies per entry of a batch: one bad id does not fail the others', async () => {
    const { code, data } = await batch([messageTo(T1), messageTo(T3), messageTo(T2, { title: 'a' })])
    expect(code).toBe(0)
    expect(data).toEqual([
      { messageId: expect.any(String), registrationId: T1 },
      {
        messageId: expect.any(String),
        registrationId: T3,
        errorCode: 10000,
        errorMessage: 'Invalid Registration_id',
      },
      {
        messageId: expect.any(String),
        registrationId: T2,
        errorCode: 40,
        errorMessage: 'Missing Required Arguments: content',
      },
    ])
  })

  const fieldRefusals: [string, Fields, number][] = [
    ['no title', { title: undefined }, 40],
    ['a title of 51', { title: 'x'.repeat(51) }, 41],
    ['a blank title', { title: '  ' }, 41],
    ['no content', { content: '' }, 40],
    ['a content of 51', { content: 'x'.repeat(51) }, 41],
    ['a long text of 129', { style: 2, content: 'x'.repeat(129) }, 41],
    ['style 6', { style: 6 }, 41],
    ['style 3 without a picture', { style: 3 }, 41],
    ['style 3 with an uploaded picture, which only broadcasts take', { style: 3, big_picture_id: 'p1' }, 41],
    ['a picture address without the add-on', { style: 3, big_picture_url: 'https://a.example/p.png' }, 51],
    ['a sub title of 11', { sub_title: 'x'.repeat(11) }, 41],
    ['click type 3', { click_action_type: 3 }, 41],
    ['type 1 without activity', { click_action_type: 1, click_action_activity: undefined }, 40],
    ['type 4 without activity', { click_action_activity: undefined }, 40],
    ['an activity of 501', { click_action_activity: 'x'.repeat(501) }, 41],
    ['type 2 without address', { click_action_type: 2 }, 40],
    ['type 5 without address', { click_action_type: 5 }, 40],
    ['an address of 2001', { click_action_type: 5, click_action_url: 'x'.repeat(2001) }, 41],
    ['parameters as an object', { action_parameters: { chatId: '123' } }, 41],
    ['parameters that are not valid JSON', { action_parameters: 'chatId' }, 41],
    ['parameters of 4001', { action_parameters: JSON.stringify({ a: 'x'.repeat(3993) }) }, 41],
    ['timed showing without times', { show_time_type: 1 }, 40],
    [
      'timed showing in seconds',
      { show_time_type: 1, show_start_time: 1760000000, show_end_time: 1760000060 },
      41,
    ],
    [
      'timed showing that ends before it starts',
      { show_time_type: 1, show_start_time: 1760000060000, show_end_time: 1760000000000 },
      41,
    ],
    ['an offline time of 11 days', { off_line_ttl: 950400 }, 41],
    ['a show time of 25 hours', { show_ttl: 90_000 }, 41],
    ['a show time of 13 hours for marketing', { category: 'NEWS', show_ttl: 46_800 }, 41],
    ['a callback of 201', { call_back_url: `https://a.example/${'x'.repeat(183)}` }, 41],
    ['a callback parameter of 101', { call_back_parameter: 'x'.repeat(101) }, 41],
    ['an unknown category', { category: 'SPAM' }, 67],
    ['level 3', { notify_level: 3 }, 67],
    ['a level without category', { category: undefined }, 67],
    ['badge operation 2', { badge_operation_type: 2 }, 41],
    ['a badge to set without number', { badge_operation_type: 0, badge_message_count: undefined }, 40],
    ['template parameters that are not strings', { private_title_parameters: { n: 1 } }, 41],
  ]
  it.each(fieldRefusals)('refuses %s', async (_, over, code) => {
    expect(await sendOne(over)).toMatchObject({ code })
    expect(simulator.ledger().accepted).toBe(0)
  })

  const accepted: [string, Fields][] = [
    [
      'the shortest message',
      { ...Object.fromEntries(Object.keys(good).map((key) => [key, undefined])), title: 'a', content: 'b' },
    ],
    ['texts of 50 emoji', { title: '😀'.repeat(50), content: '😀'.repeat(50) }],
    ['a long text of 128', { style: 2, content: 'x'.repeat(128) }],
    ['camelCase fields, which it ignores', { clickActionType: 9, notifyLevel: 7 }],
    [
      'timed showing in ms',
      { show_time_type: 1, show_start_time: 1760000000000, show_end_time: 1760000060000 },
    ],
    [
      'a web page without parameters',
      { click_action_type: 2, click_action_url: 'https://shop.example', action_parameters: undefined },
    ],
    ['a cleared badge', { badge_operation_type: 0, badge_message_count: 0 }],
  ]
  it.each(accepted)('accepts %s', async (_, over) => {
    expect(await sendOne(over)).toMatchObject({ code: 0 })
  })

  it('applies the rules of some accounts when the fault switches them on', async () => {
    const level16 = { notify_level: 16 }
    const withoutCategory = { category: undefined, notify_level: undefined }
    expect(await sendOne(withoutCategory)).toMatchObject({ code: 0 })
    expect(await sendOne(level16)).toMatchObject({ code: 0 })
    expect(await sendOne({ show_ttl: 3600 })).toMatchObject({ code: 0 })
    simulator.setFaults({ rules: ['category_required'] })
    expect(await sendOne(withoutCategory)).toMatchObject({ code: 67 })
    simulator.setFaults({ rules: ['no_strong_reminder'] })
    expect(await sendOne(level16)).toMatchObject({ code: 67 })
    expect(await sendOne({})).toMatchObject({ code: 0 })
    simulator.setFaults({ rules: ['no_add_ons'] })
    expect(await sendOne({})).toMatchObject({ code: 27 })
    expect(await sendOne({ badge_operation_type: undefined, badge_message_count: undefined })).toMatchObject({
      code: 0,
    })
    simulator.setFaults({ rules: ['sdk_show_ttl'] })
    expect(await sendOne({ show_ttl: 3600 })).toMatchObject({ code: 41 })
    simulator.setFaults({ rules: ['app_disabled'] })
    expect(await sendOne({})).toMatchObject({ code: 28 })
    expect(await auth()).toMatchObject({ code: 0 })
  })

  it('refuses ids of the other region as the host of one region', async () => {
    const overseas = `realme_IN_${T1.slice(-32)}`
    expect(await unicast(messageTo(overseas))).toMatchObject({ code: 0 })
    await restart({ region: 'cn' })
    expect(await unicast(messageTo(overseas))).toMatchObject({ code: 10000 })
    for (const id of [T1, `CN_${T1.slice(-32)}`, T1.slice(-32)])
      expect(await unicast(messageTo(id))).toMatchObject({ code: 0 })
    await restart({ region: 'intl' })
    expect(await unicast(messageTo(overseas))).toMatchObject({ code: 0 })
    expect(await unicast(messageTo(T1))).toMatchObject({ code: 10000 })
  })

  it('loses parameters behind an intent, whose own extras arrive', async () => {
    const parameters = { action_parameters: '{"task_id":"42"}' }
    const intent = (extras: string) => ({
      click_action_type: 5,
      click_action_url: `intent:#Intent;component=a.b/.C;${extras}end`,
    })
    await sendOne({ ...parameters, ...intent('') })
    expect(simulator.ledger(42).accepted).toBe(0)
    await sendOne({ ...parameters, ...intent('S.task_id=41;S.task_id=43;') })
    expect(simulator.ledger(43).accepted).toBe(1)
    await sendOne(parameters)
    expect(simulator.ledger(42).accepted).toBe(1)
  })

  const messageRefusals: [string, () => Promise<Answer>, number][] = [
    ['no message', () => call(`${notificationPath}/unicast`, { auth_token: token }), 40],
    [
      'a message that is not valid JSON',
      () => call(`${notificationPath}/unicast`, { auth_token: token, message: '{' }),
      41,
    ],
    ['target type 3', () => unicast(messageTo(T1, good, { target_type: 3 })), 41],
    ['no target', () => unicast(messageTo('')), 40],
    ['an id of another shape', () => unicast(messageTo(T3)), 10000],
    ['no notification', () => unicast(messageTo(T1, null)), 40],
    ['no messages', () => call(`${notificationPath}/unicast_batch`, { auth_token: token }), 40],
    ['an empty batch', () => batch([]), 41],
    ['a batch of 1001', () => batch(Array.from({ length: 1001 }, () => messageTo(T1))), 41],
    ['a batch that is an object', () => batch({}), 41],
  ]
  it.each(messageRefusals)('refuses %s', async (_, send, code) => {
    expect(await send()).toMatchObject({ code })
  })

  it('applies the settings of the console: limit, template, pictures', async () => {
    await restart({ apps: [{ ...app, contentLimit: 200, templateCategories: ['IM'], pictureUrls: true }] })
    expect(await sendOne({ category: 'ORDER', content: 'x'.repeat(200) })).toMatchObject({ code: 0 })
    expect(
      await sendOne({ category: 'ORDER', style: 3, big_picture_url: 'https://a.example/p.png' }),
    ).toMatchObject({
      code: 0,
    })
    expect(await sendOne({})).toEqual({ code: 54, message: 'private_msg_template_id is null' })
    expect(await sendOne({ private_msg_template_id: 'T' })).toMatchObject({ code: 0 })
  })

  it('has switches: forced code, rate, flow control, daily limit', async () => {
    simulator.setSwitches({ forceCode: 27 })
    expect(await sendOne({})).toMatchObject({ code: 27 })
    simulator.setSwitches({ messagesPerSecond: 1 })
    expect(await batch([messageTo(T1), messageTo(T2)])).toEqual({ code: 13, message: 'App Call Limited' })
    simulator.setSwitches({ flowControl: true })
    expect(await sendOne({})).toMatchObject({ code: -2 })
    simulator.setSwitches({ dailyLimit: 1 })
    expect(await sendOne({})).toMatchObject({ code: 0 })
    expect(await sendOne({})).toMatchObject({ code: 33 })
  })

  it('saves a message and broadcasts it, and lists the refused ids by code', async () => {
    const form = {
      auth_token: token,
      title: 'Hello',
      content: 'World',
      style: '1',
      off_line: 'true',
      off_line_ttl: '3600',
    }
    const saved = await call(`${notificationPath}/save_message_content`, { ...form, app_message_id: 'm1' })
    expect(saved).toEqual({
      code: 0,
      message: 'success',
      data: { message_id: expect.stringMatching(/^[0-9a-f]{24}$/) },
    })
    const again = await call(`${notificationPath}/save_message_content`, { ...form, app_message_id: 'm1' })
    expect(again).toMatchObject({ code: 32 })
    const { message_id } = saved.data as { message_id: string }
    const broadcast = (over: Record<string, string>) =>
      call(`${notificationPath}/broadcast`, { auth_token: token, message_id, target_type: '2', ...over })
    expect(await broadcast({ target_value: `${T1};${T3}` })).toEqual({
      code: 0,
      message: 'success',
      data: { message_id, task_id: expect.any(String), 10000: [T3] },
    })
    expect(await broadcast({ target_value: T1, message_id: 'unknown' })).toMatchObject({ code: 31 })
    expect(await broadcast({})).toMatchObject({ code: 40 })
    const blank = await call(`${notificationPath}/save_message_content`, { ...form, title: '' })
    expect(blank).toMatchObject({ code: 40 })
    expect(simulator.ledger().accepted).toBe(1)
  })

  it('accepts style 3 in a broadcast only with an uploaded picture', async () => {
    await restart({ apps: [{ ...app, pictures: ['p1'] }] })
    const save = (over: Record<string, string>) =>
      call(`${notificationPath}/save_message_content`, {
        auth_token: token,
        title: 'a',
        content: 'b',
        style: '3',
        ...over,
      })
    expect(await save({})).toMatchObject({ code: 41 })
    expect(await save({ big_picture_id: 'p2' })).toMatchObject({ code: 51 })
    expect(await save({ big_picture_id: 'p1' })).toMatchObject({ code: 0 })
  })
})

describe('oppo simulator: receipts', () => {
  const events = (posts: Receiver['posts']) =>
    posts.flatMap(({ body }) => JSON.parse(body.toString()) as Fields[])

  it('posts them as one JSON array per address', async () => {
    receiver = await startReceiver()
    simulator.setReceipt([T2], 'regid_invalid')
    const withCallback = {
      ...good,
      call_back_url: `${receiver.url}/cb/oppo/9f2c`,
      call_back_parameter: 'job-42',
    }
    await batch([messageTo(T1, withCallback), messageTo(T2, withCallback)])
    await receiver.until((posts) => posts.length > 0)
    expect(receiver.posts).toHaveLength(1)
    expect(receiver.posts[0]).toMatchObject({
      path: '/cb/oppo/9f2c',
      headers: { 'content-type': 'application/json' },
    })
    const [first, second] = events(receiver.posts)
    expect(first).toEqual({
      messageId: expect.stringMatching(/^3000001-1-1-/),
      appId: '3000001',
      taskId: first!.messageId,
      registrationIds: T1,
      eventTime: expect.stringMatching(/^\d{13}$/),
      param: 'job-42',
      eventType: 'push_arrive',
    })
    expect(second).toMatchObject({ registrationIds: T2, eventType: 'regid_invalid' })
  })

  it('delivers an app_message_id once, and nothing to unregistered channels', async () => {
    await restart({ apps: [{ ...app, channels: ['chat'] }] })
    receiver = await startReceiver()
    const withCallback = { ...good, call_back_url: receiver.url }
    expect(await unicast(messageTo(T1, withCallback))).toMatchObject({ code: 0 })
    expect(await unicast(messageTo(T1, withCallback))).toMatchObject({ code: 0 })
    expect(
      await unicast(messageTo(T1, { ...withCallback, app_message_id: 'b', channel_id: 'x' })),
    ).toMatchObject({
      code: 0,
    })
    expect(await unicast(messageTo(T2, { ...withCallback, app_message_id: 'c' }))).toMatchObject({ code: 0 })
    await receiver.until((posts) => events(posts).length >= 2)
    await simulator.receiptsPosted()
    expect(events(receiver.posts).map((event) => event.registrationIds)).toEqual([T1, T2])
  })
})
