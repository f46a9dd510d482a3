import { type Receiver, startReceiver } from '@herald/testkit/receiver'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { startXiaomiSimulator, type XiaomiSimulator } from '../src/xiaomi/simulator.ts'

const R1 = 'BhLgf3MKlJap0bvC4aaK5h88zCWM3e0dYjRemcdkzWIYvzbVM6xEGK+lt1yaToNn'
const R2 = 'Xdrt4o/hxEBVqarCtWQhtKXFb33M8uPgJCrBOPeMTQ6QW/GPUoCXJqKcD5/oVACP'
const good = {
  registration_id: `${R1},${R2}`,
  restricted_package_name: 'com.example.app',
  pass_through: '0',
  title: 'Order shipped',
  description: 'Parcel 123 is on its way',
  payload: '{"orderId":"123"}',
  notify_id: '1042',
  time_to_live: '86400000',
  'extra.notify_effect': '2',
  'extra.intent_uri': 'intent:#Intent;component=com.example.app/.OrderActivity;S.orderId=123;end',
  'extra.channel_id': '100001',
}
type Fields = Record<string, string | undefined>
type Answer = { result: string; code: number; reason?: string; data?: Record<string, unknown>; info?: string }

let simulator: XiaomiSimulator
let receiver: Receiver | undefined

beforeEach(async () => {
  simulator = await startXiaomiSimulator()
})
afterEach(async () => {
  await simulator.close()
  await receiver?.close()
  receiver = undefined
})

const post = (path: string, fields: Fields, headers: Record<string, string> = {}) =>
  fetch(simulator.url + path, {
    method: 'POST',
    headers: {
      authorization: 'key=sim-secret',
      'content-type': 'application/x-www-form-urlencoded;charset=UTF-8',
      ...headers,
    },
    body: new URLSearchParams(
      Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined),
    ).toString(),
  })
const send = async (over: Fields = {}, headers?: Record<string, string>) =>
  (await (await post('/v3/message/regid', { ...good, ...over }, headers)).json()) as Answer

describe('xiaomi simulator', () => {
  it('accepts the full request of the vendor’s page', async () => {
    expect(await send()).toMatchObject({
      result: 'ok',
      code: 0,
      description: '成功',
      info: 'Received push messages for 2 REGID',
      data: { id: expect.stringMatching(/^scm\w+$/) },
    })
    expect(simulator.ledger()).toEqual({ accepted: 2, distinct: 2, duplicates: 0 })
  })

  const own = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`extra.own${i}`, 'v']))
  const refusals: [string, Fields, number][] = [
    ['no targets', { registration_id: undefined }, 10016],
    ['1001 targets', { registration_id: Array.from({ length: 1001 }, () => R1).join(',') }, 10017],
    ['no package', { restricted_package_name: undefined }, 10016],
    ['another package', { restricted_package_name: 'com.example.other' }, 22022],
    ['one foreign package of two', { restricted_package_name: 'com.example.app,com.example.other' }, 22022],
    ['no title', { title: undefined }, 10017],
    ['a blank title', { title: ' ' }, 10017],
    ['a title of 50', { title: 'x'.repeat(50) }, 10017],
    ['no description', { description: undefined }, 10017],
    ['a description of 128', { description: 'x'.repeat(128) }, 10017],
    ['a payload of 4096', { payload: 'x'.repeat(4096) }, 65009],
    ['no notify_effect', { 'extra.notify_effect': undefined }, 10017],
    ['notify_effect 4', { 'extra.notify_effect': '4' }, 10017],
    ['effect 2 without intent', { 'extra.intent_uri': undefined }, 10017],
    ['effect 3 without address', { 'extra.notify_effect': '3' }, 10017],
    ['notify_foreground 2', { 'extra.notify_foreground': '2' }, 10017],
    ['a negative notify_id', { notify_id: '-1' }, 10017],
    ['a notify_id beyond 31 bits', { notify_id: '2147483648' }, 10017],
    ['time_to_send in the past', { time_to_send: '1000' }, 10017],
    ['time_to_send in 8 days', { time_to_send: String(Date.now() + 8 * 86_400_000) }, 10017],
    ['11 own extras', own(11), 65014],
    ['an own extra of 1025', { 'extra.own': 'x'.repeat(1025) }, 65015],
    ['a callback of 129 bytes', { 'extra.callback': `https://a.example/${'x'.repeat(111)}` }, 65037],
    ['a callback that is not a URL', { 'extra.callback': 'ftp://a.example' }, 65038],
    ['a callback param of 65 bytes', { 'extra.callback.param': 'x'.repeat(65) }, 65036],
    ['an unknown channel', { 'extra.channel_id': 'none' }, 27001],
    ['a jobkey of 21', { 'extra.jobkey': 'x'.repeat(21) }, 10017],
    ['pass_through 2', { pass_through: '2' }, 10017],
    ['pass-through without payload', { pass_through: '1', payload: undefined }, 10016],
    ['template values with emoji', { 'extra.template_id': 'T', 'extra.template_param': '{"a":"😀"}' }, 10017],
    [
      'template values that are blank',
      { 'extra.template_id': 'T', 'extra.template_param': '{"a":" "}' },
      10017,
    ],
    [
      'template parameters that are not valid JSON',
      { 'extra.template_id': 'T', 'extra.template_param': 'a' },
      10017,
    ],
  ]
  it.each(refusals)('refuses %s', async (_, over, code) => {
    expect(await send(over)).toMatchObject({ result: 'error', code, reason: expect.any(String) })
    expect(simulator.ledger().accepted).toBe(0)
  })

  const borders: [string, Fields][] = [
    ['a title of 49 and a description of 127', { title: '😀'.repeat(49), description: '文'.repeat(127) }],
    ['10 own extras', own(10)],
    ['a timed send in 6 days', { time_to_send: String(Date.now() + 6 * 86_400_000) }],
    ['no channel', { 'extra.channel_id': undefined }],
    ['pass-through without title', { pass_through: '1', title: undefined, description: undefined }],
    ['a message that is hidden in front', { 'extra.notify_foreground': '0' }],
    ['a web page', { 'extra.notify_effect': '3', 'extra.web_uri': 'https://example.com' }],
  ]
  it.each(borders)('accepts %s', async (_, over) => {
    expect(await send(over)).toMatchObject({ code: 0 })
  })

  it('takes away a notification by its notify_id, from one regid per call', async () => {
    const revoke = async (over: Fields = {}) => {
      const fields = { restricted_package_name: 'com.example.app', registration_ids: R1, notify_id: '1042' }
      return (await (await post('/v1/message/regid/revoke', { ...fields, ...over })).json()) as Answer
    }
    expect(await revoke()).toMatchObject({ code: 22103 })
    await send()
    expect(await revoke()).toMatchObject({ code: 0 })
    expect(simulator.withdrawn(1042)).toEqual([R1])
    expect(await revoke({ notify_id: '7' })).toMatchObject({ code: 22103 })
    expect(await revoke({ notify_id: undefined })).toMatchObject({ code: 10016 })
    expect(await revoke({ registration_ids: undefined })).toMatchObject({ code: 10016 })
    expect(await revoke({ registration_ids: `${R1},${R2}` })).toMatchObject({ code: 10017 })
    expect(await revoke({ restricted_package_name: 'com.other' })).toMatchObject({ code: 22022 })
  })

  it.each(['key=nope', 'Key=sim-secret', 'key= sim-secret', 'sim-secret', ''])(
    'refuses the authorization %j',
    async (authorization) => {
      expect(await send({}, { authorization })).toMatchObject({
        code: 21301,
        reason: 'Invalid application secret.',
        description: '认证失败',
      })
    },
  )

  it('accepts only POST forms on send paths', async () => {
    const get = await fetch(`${simulator.url}/v3/message/regid`, {
      headers: { authorization: 'key=sim-secret' },
    })
    expect(get.status).toBe(405)
    expect(await send({}, { 'content-type': 'application/json' })).toMatchObject({ code: 10012 })
    expect((await post('/v3/message/everyone', good)).status).toBe(404)
  })

  it('lists refused regids, and replies “no valid targets” if all are refused', async () => {
    simulator.kill([R2])
    expect(await send()).toMatchObject({
      code: 0,
      data: { bad_regids: R2 },
      info: 'Received push messages for 1 REGID',
    })
    expect(await send({ registration_id: `${R2},bad` })).toMatchObject({
      code: 20301,
      reason: 'No valid targets!',
    })
  })

  it('sends a separate message to each target of multi_messages', async () => {
    const message = { title: 't', description: 'd', restricted_package_name: 'com.example.app', notify_id: 7 }
    const entry = (target: string, extra: object) => ({ target, message: { ...message, extra } })
    const call = async (entries: unknown) =>
      (await (
        await post('/v2/multi_messages/regids', { messages: JSON.stringify(entries) })
      ).json()) as Answer
    expect(
      await call([entry(R1, { notify_effect: '1' }), entry('bad', { notify_effect: '1' })]),
    ).toMatchObject({
      code: 0,
      data: { bad_regids: 'bad' },
    })
    expect(await call([entry(R1, {})])).toMatchObject({ code: 10017 })
    expect(await call({})).toMatchObject({ code: 10016 })
    expect(simulator.ledger().accepted).toBe(1)
  })

  it('has switches: forced code, rate, quota, pass-through, channel and template', async () => {
    simulator.setSwitches({ forceCode: 26006 })
    expect(await send()).toMatchObject({ code: 26006 })
    simulator.setSwitches({ requestsPerSecond: 0 })
    expect(await send()).toMatchObject({ code: 200002 })
    simulator.setSwitches({ allowPassThrough: false })
    expect(await send({ pass_through: '1' })).toMatchObject({ code: 10036 })
    simulator.setSwitches({ requireChannel: true })
    expect(await send({ 'extra.channel_id': undefined })).toMatchObject({ code: 27001 })
    simulator.setSwitches({ requireTemplate: true })
    expect(await send({ 'extra.channel_id': '100002' })).toMatchObject({ code: 10016 })
    simulator.setSwitches({ dailyQuota: 2 })
    expect(await send()).toMatchObject({ code: 0, data: { day_quota: '2', day_acked: '2' } })
    expect(await send()).toMatchObject({ code: 200001, reason: 'exceed quota, quota: 2, have acked: 2' })
  })

  it('applies open questions of the documentation when the fault switches them on', async () => {
    const emoji = { title: '😀'.repeat(25) }
    const long = { time_to_live: '86400001' }
    const callback = { 'extra.callback': 'https://push.example.com/cb' }
    for (const over of [emoji, long, callback]) expect(await send(over)).toMatchObject({ code: 0 })
    simulator.setFaults({ rules: ['utf16_limits', 'ttl_by_channel', 'receipt_address_refused'] })
    expect(await send(emoji)).toMatchObject({ code: 10017 })
    expect(await send({ title: '😀'.repeat(24) })).toMatchObject({ code: 0 })
    expect(await send(long)).toMatchObject({ code: 10017 })
    expect(await send({ ...long, 'extra.channel_id': undefined })).toMatchObject({ code: 10017 })
    expect(await send({ ...long, 'extra.channel_id': '100002' })).toMatchObject({ code: 0 })
    expect(await send({ 'extra.channel_id': '100002', time_to_live: '864000001' })).toMatchObject({
      code: 10017,
    })
    expect(await send(callback)).toMatchObject({ code: 65038 })
  })

  it('accepts only tokens of its registry and registered templates', async () => {
    await simulator.close()
    simulator = await startXiaomiSimulator({
      registry: [R1],
      apps: [{ appSecret: 'sim-secret', packageName: 'com.example.app', templates: { T: ['name'] } }],
    })
    expect(await send()).toMatchObject({ data: { bad_regids: R2 } })
    const param = (text: string) => ({ 'extra.template_id': 'T', 'extra.template_param': text })
    expect(await send(param('{"name":"Anna"}'))).toMatchObject({ code: 0 })
    expect(await send(param('{"nome":"Anna"}'))).toMatchObject({ code: 10017 })
    expect(await send({ 'extra.template_id': 'U' })).toMatchObject({ code: 10017 })
  })

  it('accepts any credentials for any package with acceptAnyCredentials', async () => {
    expect(await send({}, { authorization: 'key=other' })).toMatchObject({ code: 21301 })
    await simulator.close()
    simulator = await startXiaomiSimulator({ acceptAnyCredentials: true })
    const any = await send({ restricted_package_name: 'org.any' }, { authorization: 'key=other' })
    expect(any).toMatchObject({ code: 0 })
  })

  it('returns the status of a message', async () => {
    simulator.kill([R2])
    const { data } = await send()
    const reply = await fetch(`${simulator.url}/v1/trace/message/status?msg_id=${data?.id}`, {
      headers: { authorization: 'key=sim-secret' },
    })
    expect(await reply.json()).toMatchObject({
      code: 0,
      data: { data: { id: data?.id, resolved: 1, invalid_target: 1, time_to_live: '86400s' } },
    })
  })

  it('posts the subscribed receipts, a second event of a message in another post', async () => {
    receiver = await startReceiver()
    simulator.setReceipt([R2], 16)
    const { data } = await send({
      'extra.callback': `${receiver.url}/cb/xiaomi/9f2c`,
      'extra.callback.param': '42',
      'extra.callback.type': '243',
    })
    await receiver.until((posts) => posts.length === 2)
    for (const { path, headers } of receiver.posts) {
      expect(path).toBe('/cb/xiaomi/9f2c')
      expect(headers['content-type']).toBe('application/x-www-form-urlencoded')
    }
    const bodies = receiver.posts.map(({ body }) =>
      JSON.parse(new URLSearchParams(body.toString()).get('data')!),
    )
    expect(bodies).toContainEqual({
      [String(data?.id)]: {
        param: '42',
        type: 1,
        targets: R1,
        barStatus: 'Enable',
        timestamp: expect.any(Number),
      },
    })
    expect(bodies).toContainEqual({
      [String(data?.id)]: { param: '42', type: 16, targets: R2, timestamp: expect.any(Number) },
    })
  })

  it('posts nothing for an unknown type sum, for other types and with silentReceipts', async () => {
    receiver = await startReceiver()
    const callback = (type: string) => ({ 'extra.callback': receiver!.url, 'extra.callback.type': type })
    await send(callback('246'))
    await send(callback('16'))
    simulator.setFaults({ silentReceipts: true })
    await send(callback('3'))
    simulator.setFaults({})
    await simulator.receiptsPosted()
    expect(receiver.posts).toHaveLength(0)
    await send(callback('3'))
    await receiver.until((posts) => posts.length === 1)
  })
})
