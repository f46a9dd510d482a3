import type { Message } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import { isUnsupported, type Task } from '../../src/channel.ts'
import { adapter as xiaomi } from '../../src/xiaomi/channel.ts'
import { mapPayload, withdrawal, withoutReceipts, type XiaomiPayload } from '../../src/xiaomi/payload.ts'
import { readSettings } from '../../src/xiaomi/settings.ts'
import { sampleCertificate, sampleNow, sampleTask } from '../samples.ts'

// According to https://dev.mi.com/xiaomihyperos/documentation/detail?pId=1559 (parameters).

const taskId = 4503599627370497
const settingsOf = (extra: Record<string, unknown> = {}) =>
  readSettings(
    sampleCertificate('xiaomi', { appSecret: 's', extra: { package_name: 'com.example.app', ...extra } }),
  )

type Case = {
  name: string
  message?: Partial<Message>
  task?: Partial<Omit<Task, 'message'>>
  extra?: Record<string, unknown>
  /** Fields that differ from the plain message; undefined if the field is absent. */
  fields: Record<string, string | undefined>
}

const plain: Record<string, string> = {
  restricted_package_name: 'com.example.app',
  pass_through: '0',
  title: 'Order shipped',
  description: 'Parcel 123 is on its way',
  'extra.notify_effect': '1',
  payload: `{"task_id":"${taskId}"}`,
  notify_id: '2097154',
  'extra.jobkey': '18ce53un18h',
  time_to_live: '3600000',
}

const intent = 'intent:#Intent;component=com.example.app/.OrderActivity;S.orderId=123;end'

const cases: Case[] = [
  { name: 'a text', fields: {} },
  {
    name: 'a title only: it is the description too',
    message: { body: undefined },
    fields: { description: 'Order shipped' },
  },
  {
    name: 'a body only: the application’s name is the title',
    message: { title: undefined },
    fields: { title: 'Parcel Post' },
  },
  {
    name: 'the longest texts',
    message: { title: '标'.repeat(49), body: '文'.repeat(127) },
    fields: { title: '标'.repeat(49), description: '文'.repeat(127) },
  },
  {
    name: 'texts one too long, which end in an ellipsis',
    message: { title: 't'.repeat(50), body: '文'.repeat(128) },
    fields: { title: `${'t'.repeat(48)}…`, description: `${'文'.repeat(126)}…` },
  },
  {
    name: 'texts with emoji: within the limits in UTF-16 units too, never through one',
    message: { title: '😀'.repeat(25), body: `${'a'.repeat(125)}😀b` },
    fields: { title: `${'😀'.repeat(24)}…`, description: `${'a'.repeat(125)}…` },
  },
  {
    name: 'big text without the switch: the body',
    message: { bigText: 'A long story' },
    fields: {},
  },
  {
    name: 'big text alone without the switch: it is the body',
    message: { body: undefined, bigText: 'A long story' },
    fields: { description: 'A long story' },
  },
  {
    name: 'big text with the switch',
    message: { bigText: 'b'.repeat(200) },
    extra: { big_text: true },
    fields: { 'extra.notification_style_type': '1', description: `${'b'.repeat(126)}…` },
  },
  {
    name: 'an image: as text, its address in the payload',
    message: { type: 'image', attachmentUrl: 'https://img.example.com/a.png' },
    fields: { payload: `{"attachment_url":"https://img.example.com/a.png","task_id":"${taskId}"}` },
  },
  {
    name: 'an image uploaded to Xiaomi with the discontinued picture switch: as text',
    message: { type: 'image', attachmentUrl: 'https://f6.market.xiaomi.com/a.png' },
    extra: { big_picture: true },
    fields: { payload: `{"attachment_url":"https://f6.market.xiaomi.com/a.png","task_id":"${taskId}"}` },
  },
  {
    name: 'ext beside the task id, numbers with their digits',
    message: { ext: '{"orderId":9007199254740993,"price":1.10,"nested":{"a":[1]},"task_id":"mine"}' },
    fields: { payload: `{"orderId":9007199254740993,"price":1.10,"nested":{"a":[1]},"task_id":"${taskId}"}` },
  },
  { name: 'a badge to set: Xiaomi has none', message: { badge: { kind: 'set', count: 5 } }, fields: {} },
  {
    name: 'an intent',
    message: { xiaomi: { clickAction: 'intent', intent } },
    fields: { 'extra.notify_effect': '2', 'extra.intent_uri': intent },
  },
  {
    name: 'an intent inherited from android',
    message: { android: { clickAction: 'intent', intent } },
    fields: { 'extra.notify_effect': '2', 'extra.intent_uri': intent },
  },
  {
    name: 'its own click over android’s',
    message: { android: { clickAction: 'intent', intent }, xiaomi: { clickAction: 'open_app' } },
    fields: {},
  },
  {
    name: 'a sound by name, without its suffix, over android’s',
    message: { android: { sound: 'gong' }, xiaomi: { sound: 'ding.mp3' } },
    fields: { 'extra.sound_uri': 'android.resource://com.example.app/raw/ding' },
  },
  {
    name: 'a sound with its folder',
    message: { android: { sound: '/raw/ding.mp3' } },
    fields: { 'extra.sound_uri': 'android.resource://com.example.app/raw/ding' },
  },
  {
    name: 'silence',
    message: { android: { sound: 'none' } },
    fields: { notify_type: '6' },
  },
  {
    name: 'silence by its other word, over android’s sound',
    message: { android: { sound: 'gong' }, xiaomi: { sound: ' Silent ' } },
    fields: { notify_type: '6' },
  },
  {
    name: 'a sound that has a scheme',
    message: { xiaomi: { sound: 'android.resource://com.example.app/raw/gong' } },
    fields: { 'extra.sound_uri': 'android.resource://com.example.app/raw/gong' },
  },
  {
    name: 'the certificate’s channel',
    extra: { channel_id: 100001 },
    fields: { 'extra.channel_id': '100001' },
  },
  {
    name: 'the class’s channel and template over the certificate’s',
    extra: { channel_id: '1', classes: { service: { channel_id: '100002', template_id: 'T7' } } },
    fields: { 'extra.channel_id': '100002', 'extra.template_id': 'T7' },
  },
  {
    name: 'another class’s channel is not used',
    task: { messageClass: 'marketing' },
    extra: { classes: { service: { channel_id: '100002' } } },
    fields: {},
  },
  {
    name: 'the message’s channel and template over the class’s',
    message: { xiaomi: { channelId: '9', templateId: 'T9', templateParam: '{"name":"Anna"}' } },
    extra: { classes: { service: { channel_id: '100002', template_id: 'T7' } } },
    fields: {
      'extra.channel_id': '9',
      'extra.template_id': 'T9',
      'extra.template_param': '{"name":"Anna"}',
    },
  },
  {
    name: 'no template of the class with another channel of the message',
    message: { xiaomi: { channelId: '9', templateParam: '{"name":"Anna"}' } },
    extra: { classes: { service: { channel_id: '100002', template_id: 'T7' } } },
    fields: { 'extra.channel_id': '9' },
  },
  {
    name: 'the template of the class with its channel, named by the message',
    message: { xiaomi: { channelId: '100002' } },
    extra: { classes: { service: { channel_id: '100002', template_id: 'T7' } } },
    fields: { 'extra.channel_id': '100002', 'extra.template_id': 'T7' },
  },
  {
    name: 'template values as strings, numbers with their digits',
    message: { xiaomi: { templateId: 'T9', templateParam: '{"n":9007199254740993,"on":true,"s":"x"}' } },
    extra: { channel_id: '9' },
    fields: {
      'extra.channel_id': '9',
      'extra.template_id': 'T9',
      'extra.template_param': '{"n":"9007199254740993","on":"true","s":"x"}',
    },
  },
  { name: 'android’s channel is not Xiaomi’s', message: { android: { channelId: 'chat' } }, fields: {} },
  {
    name: 'a public message is kept a day at most',
    task: { ttl: 2_592_000, messageClass: 'marketing' },
    fields: { time_to_live: '86400000' },
  },
  {
    name: 'a service message without a private channel is kept a day at most',
    task: { ttl: 2_592_000, messageClass: 'service' },
    extra: { channel_id: '100001' },
    fields: { 'extra.channel_id': '100001', time_to_live: '86400000' },
  },
  {
    name: 'a message of the service channel is kept ten days at most',
    task: { ttl: 2_592_000, messageClass: 'service' },
    extra: { classes: { service: { channel_id: '100002' } } },
    fields: { 'extra.channel_id': '100002', time_to_live: '864000000' },
  },
  {
    name: 'the channel decides, not the class',
    message: { xiaomi: { channelId: '100002' } },
    task: { ttl: 2_592_000, messageClass: 'marketing' },
    extra: { classes: { service: { channel_id: '100002' } } },
    fields: { 'extra.channel_id': '100002', time_to_live: '864000000' },
  },
  {
    name: 'a channel with a template is private',
    message: { xiaomi: { channelId: '9', templateId: 'T9' } },
    task: { ttl: 2_592_000, messageClass: 'marketing' },
    fields: { 'extra.channel_id': '9', 'extra.template_id': 'T9', time_to_live: '864000000' },
  },
  {
    name: 'the end of the show window bounds the keeping, its beginning is no vendor timer',
    message: { showBegin: sampleNow - 60, showEnd: sampleNow + 600 },
    fields: { time_to_live: '600000' },
  },
  {
    name: 'ttl 0: online devices only',
    task: { ttl: 0 },
    fields: { time_to_live: undefined, 'extra.only_send_once': '1' },
  },
  {
    name: 'a receipt address',
    task: { callbackUrl: 'https://push.example.com/callback/xiaomi/demo/9f2c' },
    fields: {
      'extra.callback': 'https://push.example.com/callback/xiaomi/demo/9f2c',
      'extra.callback.param': String(taskId),
      'extra.callback.type': '243',
    },
  },
  {
    name: 'a receipt address above 128 bytes is left out',
    task: { callbackUrl: `https://push.example.com/${'x'.repeat(128)}` },
    fields: {},
  },
]

describe('xiaomi payload', () => {
  it.each(cases)('maps $name', ({ message, task, extra, fields }) => {
    const payload = mapPayload(sampleTask(message, task), settingsOf(extra)) as XiaomiPayload
    expect(payload.fields).toEqual(withoutUndefined({ ...plain, ...fields }))
  })

  it.each([
    ['a blank value', { t: ' ' }],
    ['a symbol', { t: '25 ℃' }],
    ['an emoji', { t: '😀' }],
    ['129 characters', { t: 'x'.repeat(129) }],
    ['ten values', Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`v${n}`, 'x']))],
  ])('does not send a template with %s, which Xiaomi refuses', (_name, values) => {
    const xiaomi = { templateId: 'T9', templateParam: JSON.stringify(values) }
    const payload = mapPayload(sampleTask({ xiaomi }), settingsOf({ channel_id: '9' }))
    expect(payload).toEqual({ unsupported: expect.stringContaining('at most 9 template values') })
  })

  it('maps a command when pass-through is enabled', () => {
    const task = sampleTask({ type: 'cmd', title: undefined, body: 'sync', ext: '{"n":1}' })
    const payload = mapPayload(task, settingsOf({ pass_through: true })) as XiaomiPayload
    expect(payload.fields).toEqual({
      restricted_package_name: 'com.example.app',
      pass_through: '1',
      payload: `{"body":"sync","n":1,"task_id":"${taskId}"}`,
      notify_id: '2097154',
      'extra.jobkey': '18ce53un18h',
      time_to_live: '3600000',
    })
  })

  const refused: [string, Task, Record<string, unknown>][] = [
    ['a command without the switch', sampleTask({ type: 'cmd', ext: '{"n":1}' }), {}],
    ['a message without any text', sampleTask({ title: undefined, body: undefined, ext: '{"n":1}' }), {}],
    ['a command of 4 KB', sampleTask({ type: 'cmd', body: 'x'.repeat(4060) }), { pass_through: true }],
  ]
  it.each(refused)('cannot carry %s', (_, task, extra) => {
    expect(isUnsupported(mapPayload(task, settingsOf(extra)))).toBe(true)
  })

  it.each([
    ['4 KB', 'x'.repeat(4060)],
    ['4 KB in bytes', '文'.repeat(1360)],
  ])('leaves out ext of %s', (_name, note) => {
    const payload = mapPayload(sampleTask({ ext: JSON.stringify({ note }) }), settingsOf()) as XiaomiPayload
    expect(payload.fields).toEqual(plain)
  })

  it.each([
    ['https://shop.example/1', { 'extra.notify_effect': '3', 'extra.web_uri': 'https://shop.example/1' }],
    [
      'shop://order/1',
      {
        'extra.notify_effect': '2',
        'extra.intent_uri': 'intent://order/1#Intent;scheme=shop;package=com.example.app;end',
      },
    ],
  ])('opens %s', (url, fields) => {
    for (const message of [{ url }, { xiaomi: { clickAction: 'url' as const, url } }])
      expect((mapPayload(sampleTask(message), settingsOf()) as XiaomiPayload).fields).toEqual({
        ...plain,
        ...fields,
      })
  })

  it('hides a notification while the app is in front', () => {
    const fieldsOf = (foreground: 'show' | 'hide') =>
      (mapPayload(sampleTask({ foreground }), settingsOf()) as XiaomiPayload).fields
    expect(fieldsOf('hide')).toEqual({ ...plain, 'extra.notify_foreground': '0' })
    expect(fieldsOf('show')).toEqual(plain)
  })

  it('replaces across tasks by the collapse key, with the job key of each task', () => {
    const [first, second] = [1, 2].map(
      (id) =>
        (mapPayload(sampleTask({ collapseKey: 'k' }, { taskId: id }), settingsOf()) as XiaomiPayload).fields,
    )
    expect(first!.notify_id).toBe(second!.notify_id)
    expect(first!['extra.jobkey']).not.toBe(second!['extra.jobkey'])
  })

  it('withdraws a notification by the id that it was sent with, and no command', () => {
    const task = sampleTask({ collapseKey: 'k' })
    const { notify_id } = (mapPayload(task, settingsOf()) as XiaomiPayload).fields
    expect(withdrawal(task, settingsOf())).toEqual({
      withdraws: true,
      channelFrom: 'message',
      fields: { restricted_package_name: 'com.example.app', notify_id },
    })
    expect(isUnsupported(withdrawal(sampleTask({ type: 'cmd' }), settingsOf()))).toBe(true)
  })

  it('accepts ext up to 4095 bytes', () => {
    const frame = `{"note":"","task_id":"${taskId}"}`.length
    const ext = JSON.stringify({ note: 'x'.repeat(4095 - frame) })
    const payload = mapPayload(sampleTask({ ext }), settingsOf()) as XiaomiPayload
    expect(payload.fields.payload).toHaveLength(4095)
  })

  it('leaves out the URL of an attachment when only the rest fits', () => {
    const ext = JSON.stringify({ note: 'x'.repeat(4000) })
    const task = sampleTask({
      ext,
      type: 'image',
      attachmentUrl: `https://img.example.com/${'x'.repeat(50)}`,
    })
    const { fields } = mapPayload(task, settingsOf()) as XiaomiPayload
    expect(Object.keys(JSON.parse(fields.payload!))).toEqual(['note', 'task_id'])
  })

  it('knows where the channel comes from', () => {
    const from = (message: Partial<Message>) =>
      (mapPayload(sampleTask(message), settingsOf({ channel_id: '1' })) as XiaomiPayload).channelFrom
    expect(from({})).toBe('certificate')
    expect(from({ xiaomi: { channelId: '2' } })).toBe('message')
    expect(from({ xiaomi: { templateId: 'T' } })).toBe('message')
  })

  it('has a form without receipts', () => {
    const task = sampleTask({}, { callbackUrl: 'https://push.example.com/cb' })
    const payload = mapPayload(task, settingsOf()) as XiaomiPayload
    expect(withoutReceipts(payload)!.fields).toEqual(plain)
    expect(withoutReceipts(withoutReceipts(payload)!)).toBeUndefined()
  })

  it('gives every task its own replace key and every attempt the same', () => {
    const key = (id: number) =>
      (mapPayload(sampleTask({}, { taskId: id }), settingsOf()) as XiaomiPayload).fields
    expect(key(41)).toMatchObject({ notify_id: '42', 'extra.jobkey': '15' })
    expect(key(2147483647)).toMatchObject({ notify_id: '1' })
    expect(key(Number.MAX_SAFE_INTEGER)['extra.jobkey']!.length).toBeLessThanOrEqual(12)
  })
})

function withoutUndefined(fields: Record<string, string | undefined>) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

describe('a message for Xiaomi', () => {
  const channels = { classes: { service: { channel_id: 'p1' }, marketing: { channel_id: 'm1' } } }
  const templated = { classes: { marketing: { channel_id: 'm1', template_id: 'T1' } } }
  const privateService = {
    classes: { service: { channel_id: 'p1', template_id: 'T1' }, marketing: { channel_id: 'm1' } },
  }
  const cases: [own: Message['xiaomi'], messageClass: Task['messageClass'], extra: object, as: string][] = [
    [{ channelId: 'm1' }, 'service', privateService, 'marketing'],
    [{}, 'service', {}, 'service'],
    [{}, 'marketing', {}, 'marketing'],
    [{}, 'service', channels, 'service'],
    [{}, 'marketing', channels, 'marketing'],
    [{ channelId: 'p1' }, 'marketing', channels, 'service'],
    [{ channelId: 'm1' }, 'service', channels, 'marketing'],
    [{ channelId: 'p2', templateId: 'T2' }, 'marketing', channels, 'service'],
    [{}, 'marketing', templated, 'service'],
    [{ channelId: 'x' }, 'service', channels, 'service'],
    [{ channelId: 'x' }, 'marketing', channels, 'marketing'],
    [{}, 'marketing', { channel_id: 'any' }, 'marketing'],
  ]
  it.each(cases)('%j of a %s task with %j counts as %s', (own, messageClass, extra, as) => {
    expect(xiaomi.classOf?.(sampleTask({ xiaomi: own }, { messageClass }), settingsOf({ ...extra }))).toBe(as)
  })
})
