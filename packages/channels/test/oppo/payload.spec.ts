import type { Message } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import { isUnsupported, type Task } from '../../src/channel.ts'
import { adapter as oppo } from '../../src/oppo/channel.ts'
import type { OppoNotification } from '../../src/oppo/notification.ts'
import { type AddOn, mapPayload, type OppoPayload, withoutAddOn } from '../../src/oppo/payload.ts'
import { openWriter, splitBySize } from '../../src/oppo/request.ts'
import { readSettings } from '../../src/oppo/settings.ts'
import { sampleCertificate, sampleNow, sampleTask } from '../samples.ts'

// According to https://open.oppomobile.com/new/developmentDoc/info?id=11236 (message body).

const taskId = 4503599627370497
const settingsOf = (extra: Record<string, unknown> = {}) =>
  readSettings(sampleCertificate('oppo', { appKey: 'k', appSecret: 's', extra }))

type Case = {
  name: string
  message?: Partial<Message>
  task?: Partial<Omit<Task, 'message'>>
  extra?: Record<string, unknown>
  /** Fields that differ from the plain message; undefined if the field is absent. */
  fields: Partial<OppoNotification>
}

const plain: OppoNotification = {
  style: 1,
  title: 'Order shipped',
  content: 'Parcel 123 is on its way',
  click_action_type: 0,
  action_parameters: `{"task_id":"${taskId}"}`,
  off_line: true,
  off_line_ttl: 3600,
  notify_id: 2097154,
}

const intent = 'intent:#Intent;component=com.example.app/.ChatActivity;S.chatId=123;end'
const opened: Partial<OppoNotification> = {
  click_action_type: 4,
  click_action_activity: 'com.example.app.ChatActivity',
  action_parameters: `{"chatId":"123","task_id":"${taskId}"}`,
}
const typed = 'intent:#Intent;component=com.example.app/.ChatActivity;i.page=7;end'

const cases: Case[] = [
  { name: 'a text', fields: {} },
  { name: 'a title only', message: { body: undefined }, fields: { content: 'Order shipped' } },
  { name: 'a body only', message: { title: undefined }, fields: { title: 'Parcel Post' } },
  {
    name: 'texts of 50 characters, of which an emoji is one',
    message: { title: '😀'.repeat(50), body: '😀'.repeat(50) },
    fields: { title: '😀'.repeat(50), content: '😀'.repeat(50) },
  },
  {
    name: 'a title cut at 50 with an ellipsis',
    message: { title: '😀'.repeat(51) },
    fields: { title: `${'😀'.repeat(49)}…` },
  },
  {
    name: 'a body above 50 characters as long text',
    message: { body: 'b'.repeat(60) },
    fields: { style: 2, content: 'b'.repeat(60) },
  },
  {
    name: 'a body above 128 characters, cut with an ellipsis',
    message: { body: '文'.repeat(200) },
    fields: { style: 2, content: `${'文'.repeat(127)}…` },
  },
  {
    name: 'a body of up to 200 where the operator says so',
    message: { body: 'b'.repeat(201) },
    extra: { content_limit: 200 },
    fields: { content: `${'b'.repeat(199)}…` },
  },
  {
    name: 'a body of up to 128 as long text, which phones show, whatever the contract',
    message: { body: 'b'.repeat(128) },
    extra: { content_limit: 200 },
    fields: { style: 2, content: 'b'.repeat(128) },
  },
  {
    name: 'big text as long text',
    message: { bigText: 'b'.repeat(129) },
    fields: { style: 2, content: `${'b'.repeat(127)}…` },
  },
  {
    name: 'an image: as text, its address among the parameters',
    message: { type: 'image', attachmentUrl: 'https://img.example.com/a.png' },
    fields: {
      action_parameters: `{"attachment_url":"https://img.example.com/a.png","task_id":"${taskId}"}`,
    },
  },
  {
    name: 'an image with the paid add-on',
    message: {
      type: 'image',
      attachmentUrl: 'https://img.example.com/a.png',
      body: 'b'.repeat(60),
      bigText: 'long',
    },
    extra: { picture_url: true, content_limit: 200 },
    fields: {
      style: 3,
      content: `${'b'.repeat(49)}…`,
      big_picture_url: 'https://img.example.com/a.png',
      action_parameters: `{"attachment_url":"https://img.example.com/a.png","task_id":"${taskId}"}`,
    },
  },
  {
    name: 'a picture address above 300 characters: as text',
    message: { type: 'image', attachmentUrl: `https://img.example.com/${'x'.repeat(300)}.png` },
    extra: { picture_url: true },
    fields: {
      action_parameters: `{"attachment_url":"https://img.example.com/${'x'.repeat(300)}.png","task_id":"${taskId}"}`,
    },
  },
  {
    name: 'ext with every value as a string, numbers with their digits',
    message: { ext: '{"chatId":9007199254740993,"on":true,"a":{"b":[1.50]},"s":"x","n":null,"task_id":1}' },
    fields: {
      action_parameters: `{"chatId":"9007199254740993","on":"true","a":"{\\"b\\":[1.50]}","s":"x","n":"null","task_id":"${taskId}"}`,
    },
  },
  {
    name: 'a badge to set',
    message: { badge: { kind: 'set', count: 5 }, badgeNamed: true },
    fields: { badge_operation_type: 0, badge_message_count: 5 },
  },
  {
    name: 'a badge to clear',
    message: { badge: { kind: 'set', count: 0 }, badgeNamed: true },
    fields: { badge_operation_type: 0, badge_message_count: 0 },
  },
  {
    name: 'a badge above 99, which phones show as 99+',
    message: { badge: { kind: 'set', count: 1000 }, badgeNamed: true },
    fields: { badge_operation_type: 0, badge_message_count: 1000 },
  },
  {
    name: 'a badge to add, without its number: OPPO adds one',
    message: { badge: { kind: 'add', count: 3 }, badgeNamed: true },
    fields: { badge_operation_type: 1 },
  },
  {
    name: 'a badge to add nothing',
    message: { badge: { kind: 'add', count: 0 }, badgeNamed: true },
    fields: {},
  },
  {
    name: 'the default badge only with the operator’s permission',
    extra: { badge: true },
    fields: { badge_operation_type: 1 },
  },
  {
    name: 'an intent as its class, with its extras among the parameters',
    message: { oppo: { clickAction: 'intent', intent } },
    fields: opened,
  },
  {
    name: 'an intent inherited from android',
    message: { android: { clickAction: 'intent', intent } },
    fields: opened,
  },
  {
    name: 'an intent with ext, which wins over its extras, and an attachment',
    message: {
      oppo: {
        clickAction: 'intent',
        intent:
          'intent:#Intent;launchFlags=0x04000000;component=com.example.app/com.example.app.chat.Chat$Page;S.chatId=1%3B2;S.own=x;S.task_id=9;end',
      },
      attachmentUrl: 'https://img.example.com/a.png',
      ext: '{"chatId":7}',
    },
    fields: {
      click_action_type: 4,
      click_action_activity: 'com.example.app.chat.Chat$Page',
      action_parameters: `{"attachment_url":"https://img.example.com/a.png","chatId":"7","own":"x","task_id":"${taskId}"}`,
    },
  },
  {
    name: 'an intent with extras of other types whole, with ext inside it',
    message: { oppo: { clickAction: 'intent', intent: typed }, ext: '{"a b":"1;2","n":7}' },
    fields: {
      click_action_type: 5,
      click_action_url: `intent:#Intent;component=com.example.app/.ChatActivity;i.page=7;S.a%20b=1%3B2;S.n=7;S.task_id=${taskId};end`,
      action_parameters: undefined,
    },
  },
  {
    name: 'an intent with an address or an action whole',
    message: {
      oppo: {
        clickAction: 'intent',
        intent: 'intent://a/b#Intent;scheme=shop;action=x.VIEW;component=a.b/.C;end;',
      },
    },
    fields: {
      click_action_type: 5,
      click_action_url: `intent://a/b#Intent;scheme=shop;action=x.VIEW;component=a.b/.C;S.task_id=${taskId};end`,
      action_parameters: undefined,
    },
  },
  {
    name: 'its own click over android’s',
    message: { android: { clickAction: 'intent', intent }, oppo: { clickAction: 'open_app' } },
    fields: {},
  },
  { name: 'a sound: the channel decides', message: { oppo: { sound: 'ding' } }, fields: {} },
  { name: 'android’s channel is not OPPO’s', message: { android: { channelId: 'x' } }, fields: {} },
  { name: 'the certificate’s channel', extra: { channel_id: 'chat' }, fields: { channel_id: 'chat' } },
  {
    name: 'the class over the certificate',
    extra: {
      channel_id: 'chat',
      classes: {
        service: { category: 'IM', notify_level: 2, channel_id: 'im', private_msg_template_id: 'T1' },
        marketing: { category: 'MARKETING' },
      },
    },
    fields: { category: 'IM', notify_level: 2, channel_id: 'im', private_msg_template_id: 'T1' },
  },
  {
    name: 'the class of the message',
    task: { messageClass: 'marketing' },
    extra: {
      classes: { service: { category: 'IM' }, marketing: { category: 'MARKETING', notify_level: 1 } },
    },
    fields: { category: 'MARKETING', notify_level: 1 },
  },
  {
    name: 'the message over the class',
    message: {
      oppo: {
        category: 'ORDER',
        notifyLevel: 16,
        channelId: 'own',
        privateMsgTemplateId: 'T2',
        privateTitleParameters: '{"name":"Anna"}',
        privateContentParameters: '{"count":9007199254740993}',
      },
    },
    extra: { classes: { service: { category: 'IM', notify_level: 2, private_msg_template_id: 'T1' } } },
    fields: {
      category: 'ORDER',
      notify_level: 16,
      channel_id: 'own',
      private_msg_template_id: 'T2',
      private_title_parameters: { name: 'Anna' },
      private_content_parameters: { count: '9007199254740993' },
    },
  },
  {
    name: 'a category of its own without the class’s level and template',
    message: { oppo: { category: 'ORDER', privateTitleParameters: '{"name":"Anna"}' } },
    extra: { classes: { service: { category: 'IM', notify_level: 16, private_msg_template_id: 'T1' } } },
    fields: { category: 'ORDER' },
  },
  {
    name: 'a level without any category is left out, because OPPO refuses it',
    message: { oppo: { notifyLevel: 2 } },
    fields: {},
  },
  {
    name: 'template parameters without a template are left out',
    message: { oppo: { privateTitleParameters: '{"a":"b"}' } },
    fields: {},
  },
  { name: 'a ttl above ten days', task: { ttl: 2_592_000 }, fields: { off_line_ttl: 864_000 } },
  {
    name: 'the end of the show window; its beginning is no vendor timer',
    message: { showBegin: sampleNow - 60, showEnd: sampleNow + 600 },
    fields: { off_line_ttl: 600 },
  },
  {
    name: 'ttl 0: online devices only',
    task: { ttl: 0 },
    fields: { off_line: false, off_line_ttl: undefined },
  },
  {
    name: 'a receipt address',
    task: { callbackUrl: 'https://push.example.com/callback/oppo/demo/9f2c' },
    fields: {
      call_back_url: 'https://push.example.com/callback/oppo/demo/9f2c',
      call_back_parameter: String(taskId),
    },
  },
  {
    name: 'a receipt address above 200 characters is left out',
    task: { callbackUrl: `https://push.example.com/${'x'.repeat(200)}` },
    fields: {},
  },
]

describe('oppo payload', () => {
  it.each(cases)('maps $name', ({ message, task, extra, fields }) => {
    const payload = mapPayload(sampleTask(message, task), settingsOf(extra)) as OppoPayload
    expect(JSON.parse(JSON.stringify(payload.notification))).toEqual(
      JSON.parse(JSON.stringify({ ...plain, ...fields })),
    )
  })

  const refused: [string, Partial<Message>][] = [
    ['a command', { type: 'cmd', ext: '{"n":1}' }],
    ['a message without any text', { title: undefined, body: undefined, ext: '{"n":1}' }],
    [
      'an intent above 2000 characters',
      { oppo: { clickAction: 'intent', intent: `intent:${'x'.repeat(2000)}` } },
    ],
  ]
  it.each(refused)('cannot carry %s', (_, message) => {
    expect(isUnsupported(mapPayload(sampleTask(message), settingsOf()))).toBe(true)
  })

  const clickFields = (message: Partial<Message>) => {
    const payload = mapPayload(sampleTask(message), settingsOf()) as OppoPayload
    const { click_action_type: type, click_action_url: url, action_parameters: data } = payload.notification
    return { type, url, data }
  }
  const onlyTask = `{"task_id":"${taskId}"}`

  it('leaves out ext above 4000 characters, or that does not fit into an intent of 2000', () => {
    expect(clickFields({ ext: JSON.stringify({ note: 'x'.repeat(3961) }) }).data).toBe(onlyTask)
    const ext = JSON.stringify({ note: '文'.repeat(220) })
    const { type, url } = clickFields({ oppo: { clickAction: 'intent', intent: typed }, ext })
    expect(type).toBe(5)
    expect(url).toContain(`S.task_id=${taskId};end`)
    expect(url).not.toContain('S.note')
  })

  it('opens a web page without giving the data to it', () => {
    const address = 'https://shop.example/1?a=b'
    expect(clickFields({ url: address, ext: '{"secret":"s"}' })).toEqual({ type: 2, url: address })
  })

  it('opens a deep link as an intent with the data in it', () => {
    expect(clickFields({ url: 'shop://order/1', ext: '{"n":1}' })).toEqual({
      type: 5,
      url: `intent://order/1#Intent;scheme=shop;S.n=1;S.task_id=${taskId};end`,
    })
  })

  it.each([
    ['web page', `https://shop.example/${'x'.repeat(2000)}`],
    ['deep link', `shop://order/${'x'.repeat(2000)}`],
  ])('opens the app for a %s above 2000 characters', (_name, address) => {
    const { type, data } = clickFields({ url: address })
    expect(type).toBe(0)
    expect(JSON.parse(data!)).toEqual({ url: address, task_id: String(taskId) })
  })

  it('replaces across tasks by the collapse key, and still sends each task once', () => {
    const payloads = [1, 2].map(
      (id) =>
        mapPayload(sampleTask({ collapseKey: 'order-77' }, { taskId: id }), settingsOf()) as OppoPayload,
    )
    expect(new Set(payloads.map(({ notification }) => notification.notify_id)).size).toBe(1)
    expect(payloads.map((payload) => payload.taskId)).toEqual([1, 2])
  })

  it('leaves out the URL of an attachment when only the rest fits', () => {
    const ext = JSON.stringify({ note: 'x'.repeat(3900) })
    const task = sampleTask({
      ext,
      type: 'image',
      attachmentUrl: `https://img.example.com/${'x'.repeat(50)}`,
    })
    const { notification } = mapPayload(task, settingsOf()) as OppoPayload
    expect(Object.keys(JSON.parse(notification.action_parameters!))).toEqual(['note', 'task_id'])
  })

  it('contains a form without picture, in case the picture is refused', () => {
    const message: Partial<Message> = { type: 'image', attachmentUrl: 'https://img.example.com/a.png' }
    const payload = mapPayload(sampleTask(message), settingsOf({ picture_url: true })) as OppoPayload
    expect(payload.plain).toEqual({ style: 1, content: 'Parcel 123 is on its way' })
    expect(mapPayload(sampleTask(), settingsOf({ picture_url: true }))).not.toHaveProperty('plain')
  })

  it('knows where the class comes from', () => {
    const from = (message: Partial<Message>) =>
      (mapPayload(sampleTask(message), settingsOf()) as OppoPayload).classFrom
    expect(from({})).toBe('certificate')
    expect(from({ oppo: { channelId: 'x' } })).toBe('certificate')
    expect(from({ oppo: { category: 'IM' } })).toBe('message')
    expect(from({ oppo: { privateMsgTemplateId: 'T' } })).toBe('message')
  })
})

describe('oppo fields that need a permission', () => {
  const full: OppoNotification = {
    ...plain,
    style: 3,
    big_picture_url: 'https://img.example.com/a.png',
    category: 'IM',
    notify_level: 16,
    badge_operation_type: 0,
    badge_message_count: 5,
  }
  const text = { style: 2 as const, content: 'long' }
  const leavesOut = (addOn: AddOn) => {
    const reduced = withoutAddOn(full, addOn, text)!
    return Object.keys(full).filter((name) => !(name in reduced))
  }

  it('leaves out what OPPO refused', () => {
    expect(leavesOut('picture')).toEqual(['big_picture_url'])
    expect(leavesOut('level')).toEqual(['notify_level'])
    expect(leavesOut('add-ons')).toEqual([
      'big_picture_url',
      'notify_level',
      'badge_operation_type',
      'badge_message_count',
    ])
    expect(withoutAddOn(full, 'picture', text)).toMatchObject(text)
    expect(withoutAddOn(full, 'level', text)).toMatchObject({ style: 3, content: full.content })
  })

  it('has no other form of a message without them', () => {
    for (const addOn of ['picture', 'level', 'add-ons'] as const)
      expect(withoutAddOn(plain, addOn, undefined)).toBeUndefined()
  })
})

describe('oppo request', () => {
  const nasty = { ...plain, title: 'a+b&c=ü😀', content: 'half \ud800 pair' }
  const entryOf = (token: string, deviceId: number) => ({
    target_type: 2,
    target_value: token,
    notification: { app_message_id: `42-${deviceId}`, ...nasty },
  })
  const writer = openWriter(42, nasty)

  it('writes one message as JSON inside a form field', () => {
    const form = new URLSearchParams(writer.unicast({ deviceId: 7, token: 'T"&1' }))
    expect([...form.keys()]).toEqual(['message'])
    expect(JSON.parse(form.get('message')!)).toEqual(entryOf('T"&1', 7))
  })

  it('writes a batch that reads the same as a plain JSON array', () => {
    const form = new URLSearchParams(
      writer.batch([
        { deviceId: 1, token: 'T1' },
        { deviceId: 2, token: 'T2' },
      ]),
    )
    expect([...form.keys()]).toEqual(['messages'])
    expect(JSON.parse(form.get('messages')!)).toEqual([entryOf('T1', 1), entryOf('T2', 2)])
  })

  it('knows how many bytes a device adds to a batch', () => {
    const recipients = [
      { deviceId: 1, token: 'T"1' },
      { deviceId: 22, token: '文' },
    ]
    const bytes = (count: number) => writer.batch(recipients.slice(0, count)).length
    expect(bytes(2) - bytes(1)).toBe(writer.bytesOf(recipients[1]!))
  })

  it('splits by size', () => {
    expect(splitBySize([4, 4, 4, 11, 1, 9], 10)).toEqual([[0, 1], [2], [3], [4, 5]])
    expect(splitBySize([], 10)).toEqual([])
  })
})

describe('a message for OPPO', () => {
  const categories = { classes: { service: { category: 'ORDER' }, marketing: { category: 'NEWS' } } }
  const swapped = { classes: { service: { category: 'SOCIAL' }, marketing: { category: 'IM' } } }
  const cases: [own: Message['oppo'], messageClass: Task['messageClass'], extra: object, as: string][] = [
    [{}, 'service', {}, 'service'],
    [{}, 'marketing', {}, 'marketing'],
    [{}, 'service', categories, 'service'],
    [{}, 'marketing', categories, 'marketing'],
    [{ category: 'IM' }, 'marketing', categories, 'service'],
    [{ category: 'MARKETING' }, 'service', {}, 'marketing'],
    [{}, 'service', swapped, 'marketing'],
    [{}, 'marketing', swapped, 'service'],
    [{ category: 'NEW_ONE' }, 'marketing', categories, 'marketing'],
    [{ category: 'constructor' }, 'service', categories, 'service'],
  ]
  it.each(cases)('%j of a %s task with %j counts as %s', (own, messageClass, extra, as) => {
    expect(oppo.classOf?.(sampleTask({ oppo: own }, { messageClass }), settingsOf({ ...extra }))).toBe(as)
  })
})
