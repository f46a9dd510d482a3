import type { Message } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import { isUnsupported, type Task } from '../../src/channel.ts'
import { adapter as meizu } from '../../src/meizu/channel.ts'
import { readIntent } from '../../src/meizu/intent.ts'
import { type MeizuPayload, messageJson, type OptionalPart } from '../../src/meizu/payload.ts'
import { sampleNow, sampleTask } from '../samples.ts'
import { meizuCertificate } from './fixtures.ts'

type Extra = Record<string, unknown>

const intent = 'intent:#Intent;component=com.demo/com.demo.DetailActivity;S.id=42;end'
const url = 'https://push.example.com/callback/flyme/demo/k3yk3yk3yk3yk3yk3yk3yk'

function map(message: Partial<Message>, over: Partial<Task> = {}, extra: Extra = {}) {
  return meizu.mapPayload(sampleTask(message, over), meizu.readSettings(meizuCertificate({ extra })))
}

function mapped(message: Partial<Message>, over: Partial<Task> = {}, extra: Extra = {}): MeizuPayload {
  const payload = map(message, over, extra)
  if (isUnsupported(payload)) throw new Error(payload.unsupported)
  return payload
}

/** As it is sent, without a picture. */
function text(...args: Parameters<typeof mapped>): string {
  const payload = mapped(...args)
  const parts: OptionalPart[] = []
  if (payload.timedDisplay) parts.push('timed display')
  if (payload.receipts) parts.push('receipts')
  return messageJson(payload, undefined, parts)
}
const json = (...args: Parameters<typeof mapped>) => JSON.parse(text(...args))

describe('a Meizu payload', () => {
  it('is this complete message for a plain text', () => {
    expect(mapped({}).pushType).toBe('varnished')
    expect(json({})).toEqual({
      noticeBarInfo: { noticeMsgType: 1, title: 'Order shipped', content: 'Parcel 123 is on its way' },
      clickTypeInfo: { clickType: 0, parameters: { task_id: '4503599627370497' } },
      pushTimeInfo: { offLine: 1, validTime: 1 },
      advanceInfo: {
        notificationType: { vibrate: 1, lights: 1, sound: 1 },
        notifyKey: (4503599627370497).toString(36).slice(-8),
      },
    })
  })

  const bar = (part: object) => ({ noticeBarInfo: part })
  const click = (part: object) => ({ clickTypeInfo: part })
  const sound = (value: number) => ({ advanceInfo: { notificationType: { sound: value } } })
  const id = { task_id: '4503599627370497' }
  const cases: [what: string, message: Partial<Message>, expected: object][] = [
    [
      'an intent with a component opens a page, its extras beside task_id',
      { flyme: { clickAction: 'intent', intent } },
      click({ clickType: 1, activity: 'com.demo.DetailActivity', parameters: { id: '42', ...id } }),
    ],
    [
      'an address is opened as such',
      { flyme: { clickAction: 'intent', intent: 'https://example.com/a' } },
      click({ clickType: 2, url: 'https://example.com/a', parameters: id }),
    ],
    [
      'android’s click is taken where flyme has none',
      { android: { clickAction: 'intent', intent } },
      click({ clickType: 1 }),
    ],
    [
      'flyme’s click wins over android’s as a pair',
      { flyme: { clickAction: 'open_app' }, android: { clickAction: 'intent', intent } },
      click({ clickType: 0 }),
    ],
    [
      'extras of the intent win over ext, task_id over both',
      {
        ext: '{"id":1,"other":2,"task_id":"9"}',
        flyme: { clickAction: 'intent', intent: intent.replace(';end', ';S.task_id=8;end') },
      },
      click({ parameters: { id: '42', other: 2, ...id } }),
    ],
    ['silent is silent', { flyme: { sound: 'silent' } }, sound(0)],
    ['none of android is silent too', { android: { sound: 'none' } }, sound(0)],
    ['a named sound cannot be had and rings', { flyme: { sound: 'bell' } }, sound(1)],
    ['notice_msg_type is carried', { flyme: { noticeMsgType: 0 } }, bar({ noticeMsgType: 0 })],
    ['channel_id 0 is public', { flyme: { channelId: '0' } }, bar({ noticeMsgType: 0 })],
    ['another channel_id says nothing', { flyme: { channelId: 'orders' } }, bar({ noticeMsgType: 1 })],
    [
      'notice_msg_type wins over channel_id',
      { flyme: { channelId: '0', noticeMsgType: 1 } },
      bar({ noticeMsgType: 1 }),
    ],
    [
      'large text is shown when expanded',
      { bigText: 'A long story' },
      { noticeExpandInfo: { noticeExpandType: 1, noticeExpandContent: 'A long story' } },
    ],
    [
      'large text is cut at 1000',
      { bigText: '长'.repeat(1001) },
      { noticeExpandInfo: { noticeExpandContent: `${'长'.repeat(999)}…` } },
    ],
    ['a blank body is the large text', { body: undefined, bigText: 'Long' }, bar({ content: 'Long' })],
    [
      'a picture travels as an address beside the text',
      { type: 'image', attachmentUrl: 'https://example.com/p.png' },
      click({ parameters: { attachment_url: 'https://example.com/p.png', ...id } }),
    ],
    ['a blank title is the application’s name', { title: undefined }, bar({ title: 'Parcel Post' })],
    ['with a title alone both are the title', { body: undefined }, bar({ content: 'Order shipped' })],
    ['texts are trimmed', { title: ' a ', body: '\nb ' }, bar({ title: 'a', content: 'b' })],
    ['a title of 32 is whole', { title: '题'.repeat(32) }, bar({ title: '题'.repeat(32) })],
    ['a title of 33 is cut', { title: '题'.repeat(33) }, bar({ title: `${'题'.repeat(31)}…` })],
    ['a content of 100 is whole', { body: '文'.repeat(100) }, bar({ content: '文'.repeat(100) })],
    ['a content of 101 is cut', { body: '文'.repeat(101) }, bar({ content: `${'文'.repeat(99)}…` })],
    ['an emoji counts as two', { title: '😀'.repeat(17) }, bar({ title: `${'😀'.repeat(15)}…` })],
    ['16 emoji are a whole title', { title: '😀'.repeat(16) }, bar({ title: '😀'.repeat(16) })],
    ['emoji of a content', { body: '😀'.repeat(51) }, bar({ content: `${'😀'.repeat(49)}…` })],
  ]
  it.each(cases)('%s', (_what, message, expected) => {
    expect(json(message)).toMatchObject(expected)
  })

  it('contains ext as an object whose numbers keep their digits', () => {
    expect(text({ ext: '{"id":9007199254740993,"price":1.10,"deep":{"a":[true,null]}}' })).toContain(
      '"parameters":{"id":9007199254740993,"price":1.10,"deep":{"a":[true,null]},"task_id":"4503599627370497"}',
    )
  })

  it('has no badge, and no expanded text without big_text', () => {
    expect(text({ badge: { kind: 'set', count: 5 } })).toBe(text({ badge: { kind: 'add', count: 1 } }))
    expect(json({})).not.toHaveProperty('noticeExpandInfo')
  })

  it('has a big picture only for VIP applications and images', () => {
    const attachmentUrl = 'https://example.com/p.png'
    expect(mapped({ type: 'image', attachmentUrl }).picture).toBeUndefined()
    expect(mapped({ type: 'image', attachmentUrl }, {}, { vip: true }).picture).toBe(attachmentUrl)
    expect(mapped({ type: 'text', attachmentUrl }, {}, { vip: true }).picture).toBeUndefined()
  })

  it('leaves out a picture’s URL when it does not fit with ext', () => {
    const ext = JSON.stringify({ blob: 'x'.repeat(4050) })
    const { clickTypeInfo } = json({ type: 'image', attachmentUrl: 'https://example.com/picture.png', ext })
    expect(Object.keys(clickTypeInfo.parameters)).toEqual(['blob', 'task_id'])
  })

  it('has a replace key of at most 8 characters, the same for every attempt', () => {
    expect(json({}, { taskId: 7 }).advanceInfo.notifyKey).toBe('7')
    expect(json({}, { taskId: Number.MAX_SAFE_INTEGER }).advanceInfo.notifyKey).toMatch(/^[0-9a-z]{8}$/)
  })

  it('takes an ext as large as other vendors do', () => {
    const ext = JSON.stringify({ blob: 'x'.repeat(4000) })
    expect(json({ ext }).clickTypeInfo.parameters.blob).toHaveLength(4000)
  })

  const refused: [what: string, message: Partial<Message>, sentence: RegExp][] = [
    ['a pass-through message', { type: 'cmd' }, /discontinued pass-through/],
    ['a message without any text', { title: undefined, body: undefined, ext: '{"a":1}' }, /blank/],
    ['a message of white space', { title: ' ', body: ' ' }, /blank/],
    [
      'an intent with neither component nor address',
      { flyme: { clickAction: 'intent', intent: 'intent:#Intent;action=x;end' } },
      /neither/,
    ],
    [
      'an address of more than 1000 bytes',
      { flyme: { clickAction: 'intent', intent: `https://example.com/${'文'.repeat(330)}` } },
      /at most 1000 bytes/,
    ],
  ]
  it.each(refused)('does not exist for %s', (_what, message, sentence) => {
    const payload = map(message)
    expect(isUnsupported(payload) && payload.unsupported).toMatch(sentence)
  })

  it('leaves out more than 4096 bytes of ext', () => {
    const message = json({ ext: JSON.stringify({ a: '文'.repeat(1360) }) })
    expect(message.clickTypeInfo.parameters).toEqual({ task_id: '4503599627370497' })
    expect(message.noticeBarInfo.content).toBe('Parcel 123 is on its way')
  })

  it.each(['https://shop.example/1', 'shop://order/1'])('opens %s', (address) => {
    const click = { clickType: 2, url: address, parameters: { task_id: '4503599627370497' } }
    expect(json({ url: address }).clickTypeInfo).toEqual(click)
    expect(json({ flyme: { clickAction: 'url', url: address } }).clickTypeInfo).toEqual(click)
  })

  it('opens the app, with the address in its data, for an address above 1000 bytes', () => {
    const address = `https://shop.example/${'文'.repeat(330)}`
    expect(json({ url: address }).clickTypeInfo).toEqual({
      clickType: 0,
      parameters: { url: address, task_id: '4503599627370497' },
    })
  })

  it('replaces across tasks by the collapse key', () => {
    const keyOf = (collapseKey: string, taskId: number) =>
      json({ collapseKey }, { taskId }).advanceInfo.notifyKey
    expect(keyOf('order-77', 1)).toMatch(/^[\w-]{8}$/)
    expect(keyOf('order-77', 1)).toBe(keyOf('order-77', 2))
    expect(keyOf('order-77', 1)).not.toBe(keyOf('order-78', 1))
  })
})

describe('the notes on a message for Meizu', () => {
  const image = { type: 'image', attachmentUrl: 'https://example.com/p.png' } as const
  const cases: [message: Partial<Message>, extra: Extra, note: RegExp | undefined][] = [
    [{}, {}, undefined],
    [{ url: `https://shop.example/${'文'.repeat(330)}` }, {}, /too long for Meizu/],
    [{ flyme: { sound: 'none' } }, {}, undefined],
    [image, {}, /extra\.vip/],
    [image, { vip: true }, undefined],
    [{ ...image, bigText: 'Long' }, { vip: true }, /in place of big_text/],
    [{ badgeNamed: true }, {}, /no badge/],
    [{ flyme: { sound: 'bell' } }, {}, /no named sounds/],
  ]
  it.each(cases)('%j %j', (message, extra, note) => {
    const settings = meizu.readSettings(meizuCertificate({ extra }))
    expect(meizu.notes!(sampleTask(message), settings)).toEqual(note ? [expect.stringMatching(note)] : [])
  })
})

describe('the time to live at Meizu', () => {
  const cases: [what: string, ttl: number, showEnd: number | undefined, expected: object][] = [
    ['a day', 86_400, undefined, { offLine: 1, validTime: 24 }],
    ['a second less than a day', 86_399, undefined, { offLine: 1, validTime: 23 }],
    ['more than three days', 400_000, undefined, { offLine: 1, validTime: 72 }],
    ['an hour', 3600, undefined, { offLine: 1, validTime: 1 }],
    ['less than an hour', 3599, undefined, { offLine: 0 }],
    ['only if reachable now', 0, undefined, { offLine: 0 }],
    ['what show_end_time leaves', 86_400, sampleNow + 7200, { offLine: 1, validTime: 2 }],
    ['an end in 90 minutes', 86_400, sampleNow + 5400, { offLine: 1, validTime: 1 }],
    ['an end in less than an hour', 86_400, sampleNow + 3599, { offLine: 0 }],
    ['ttl when it ends first', 3600, sampleNow + 7200, { offLine: 1, validTime: 1 }],
  ]
  it.each(cases)('%s', (_what, ttl, showEnd, expected) => {
    expect(json({ showEnd }, { ttl }).pushTimeInfo).toEqual(expected)
  })

  it('ends the display at show_end_time to the second, in China time', () => {
    // 2025-10-09 16:53:20 in China.
    const window = { showBegin: sampleNow - 10, showEnd: sampleNow + 5400 }
    expect(json(window, { ttl: 86_400 }).advanceInfo).toMatchObject({
      fixDisplay: 1,
      fixStartDisplayTime: '2025-10-09 16:53:20',
      fixEndDisplayTime: '2025-10-09 18:23:20',
      notifyKey: expect.any(String),
    })
  })

  it('sets no display time without an end, for an end beyond the longest storage, and overseas', () => {
    expect(json({}).advanceInfo).not.toHaveProperty('fixDisplay')
    expect(json({ showEnd: sampleNow + 72 * 3600 + 1 }).advanceInfo).not.toHaveProperty('fixDisplay')
    const overseas = json({ showEnd: sampleNow + 5400 }, {}, { region: 'intl' })
    expect(overseas.advanceInfo).not.toHaveProperty('fixDisplay')
  })
})

describe('the class of a Meizu message', () => {
  const classes = { classes: { service: { notice_msg_type: 0 }, marketing: { notice_msg_type: 1 } } }
  const cases: [what: string, own: Message['flyme'], over: Partial<Task>, extra: Extra, expected: number][] =
    [
      ['service is private', {}, { messageClass: 'service' }, {}, 1],
      ['marketing is public', {}, { messageClass: 'marketing' }, {}, 0],
      ['the certificate’s service', {}, { messageClass: 'service' }, classes, 0],
      ['the certificate’s marketing', {}, { messageClass: 'marketing' }, classes, 1],
      ['the message’s own wins', { noticeMsgType: 1 }, { messageClass: 'service' }, classes, 1],
    ]
  it.each(cases)('%s', (_what, flyme, over, extra, expected) => {
    expect(json({ flyme }, over, extra).noticeBarInfo.noticeMsgType).toBe(expected)
  })
})

describe('the receipt fields', () => {
  const over = { callbackUrl: url }

  it('contain URL, task and both events if the URL is registered', () => {
    expect(json({}, over, { receipt_registered: true }).extra).toEqual({
      callback: url,
      'callback.param': '4503599627370497',
      'callback.type': '3',
    })
  })

  it('are left out before that, without a URL, and if it is too long', () => {
    expect(json({}, over)).not.toHaveProperty('extra')
    expect(json({}, {}, { receipt_registered: true })).not.toHaveProperty('extra')
    const long = { callbackUrl: `https://example.com/${'x'.repeat(110)}` }
    expect(json({}, long, { receipt_registered: true })).not.toHaveProperty('extra')
  })
})

describe('a pass-through message of an entitled application', () => {
  const entitled = { pass_through: true, receipt_registered: true }

  it('is this complete message, texts and ext in its content, without receipts', () => {
    const payload = mapped({ type: 'cmd', ext: '{"n":9007199254740993}' }, { callbackUrl: url }, entitled)
    expect(payload.pushType).toBe('unvarnished')
    expect(payload.message).toEqual({
      title: 'Order shipped',
      content:
        '{"title":"Order shipped","body":"Parcel 123 is on its way","n":9007199254740993,"task_id":"4503599627370497"}',
      pushTimeInfo: { offLine: 1, validTime: 1 },
    })
  })

  it('needs no text', () => {
    const { message } = mapped(
      { type: 'cmd', title: undefined, body: undefined, ext: '{"a":1}' },
      {},
      entitled,
    )
    expect(message.title).toBe('Parcel Post')
    expect(message.content).toBe('{"a":1,"task_id":"4503599627370497"}')
  })

  it('has at most 2000 bytes', () => {
    const payload = map({ type: 'cmd', ext: JSON.stringify({ a: 'x'.repeat(2000) }) }, {}, entitled)
    expect(isUnsupported(payload) && payload.unsupported).toMatch(/2000 bytes/)
  })
})

describe('an intent', () => {
  const cases: [uri: string, expected: object | undefined][] = [
    [
      'intent:#Intent;component=com.demo/.DetailActivity;end',
      { kind: 'activity', activity: 'com.demo.DetailActivity', extras: {} },
    ],
    [
      'intent:#Intent;launchFlags=0x1;component=com.demo/org.other.Page;S.name=a%20b;B.on=true;B.off=false;i.n=-7;end',
      { kind: 'activity', activity: 'org.other.Page', extras: { name: 'a b', on: true, off: false } },
    ],
    [
      'intent://open/item?id=1#Intent;scheme=demo;S.k=v;end',
      { kind: 'url', url: 'demo://open/item?id=1', extras: { k: 'v' } },
    ],
    ['demo://open/item', { kind: 'url', url: 'demo://open/item', extras: {} }],
    ['intent:#Intent;component=com.demo;end', undefined],
    ['intent:#Intent;end', undefined],
    ['intent://no/scheme#Intent;end', undefined],
    ['nonsense', undefined],
    ['', undefined],
  ]
  it.each(cases)('%s', (uri, expected) => {
    const read = readIntent(uri)
    if (expected) expect(read).toMatchObject(expected)
    else expect(read).toBeUndefined()
  })

  it('keeps the digits of numbers, and reads invalid numbers as text', () => {
    const read = readIntent(
      'intent:#Intent;component=a/b;l.id=9007199254740993;f.x=1.50;i.bad=0x1f;S.odd=%;end',
    )
    expect(JSON.stringify(read?.extras)).toBe('{"id":9007199254740993,"x":1.50,"bad":"0x1f","odd":"%"}')
  })
})

describe('a message for Meizu', () => {
  const swapped = { classes: { service: { notice_msg_type: 0 }, marketing: { notice_msg_type: 1 } } }
  const cases: [own: Message['flyme'], messageClass: Task['messageClass'], extra: Extra, as: string][] = [
    [{}, 'service', {}, 'service'],
    [{}, 'marketing', {}, 'marketing'],
    [{ noticeMsgType: 1 }, 'marketing', {}, 'service'],
    [{ noticeMsgType: 0 }, 'service', {}, 'marketing'],
    [{ channelId: '1' }, 'marketing', {}, 'service'],
    [{}, 'service', swapped, 'marketing'],
    [{}, 'marketing', swapped, 'service'],
  ]
  it.each(cases)('%j of a %s task with %j counts as %s', (own, messageClass, extra, as) => {
    const settings = meizu.readSettings(meizuCertificate({ extra }))
    expect(meizu.classOf?.(sampleTask({ flyme: own }, { messageClass }), settings)).toBe(as)
  })
})
