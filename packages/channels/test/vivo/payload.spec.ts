import type { Message } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import { isUnsupported, type Task } from '../../src/channel.ts'
import { messageNotes } from '../../src/message-notes.ts'
import { adapter as vivo } from '../../src/vivo/channel.ts'
import { quotaClass, refusedScope, scopesOf, type VivoPayload } from '../../src/vivo/payload.ts'
import { listBody, listKey, pushBody, singleBody } from '../../src/vivo/requests.ts'
import { sampleNow, sampleTask } from '../samples.ts'
import { vivoCertificate } from './fixtures.ts'

type Extra = Record<string, unknown>

const regId = '15638535410301000000001'
const intent = 'intent:#Intent;component=com.demo/com.demo.Main;S.id=42;end'
const url = 'https://push.example.com/callback/vivo/demo/k3yk3yk3yk3yk3yk3yk3yk'

function map(message: Partial<Message>, over: Partial<Task> = {}, extra: Extra = {}) {
  return vivo.mapPayload(sampleTask(message, over), vivo.readSettings(vivoCertificate({ extra })))
}

function mapped(message: Partial<Message>, over: Partial<Task> = {}, extra: Extra = {}): VivoPayload {
  const payload = map(message, over, extra)
  if (isUnsupported(payload)) throw new Error(payload.unsupported)
  return payload
}

const single = (...args: Parameters<typeof mapped>) => singleBody(mapped(...args), regId)
const list = (...args: Parameters<typeof mapped>) => listBody(mapped(...args), 'list')

describe('a vivo payload', () => {
  it('is this complete body for a plain text to one device', () => {
    expect(single({})).toEqual({
      appId: 105550001,
      regId,
      title: 'Order shipped',
      content: 'Parcel 123 is on its way',
      notifyType: 4,
      timeToLive: 3600,
      skipType: 1,
      networkType: -1,
      classification: 1,
      pushMode: 0,
      notifyId: (4503599627370497 % 2147483647) + 1,
      clientCustomMap: { task_id: '4503599627370497' },
      requestId: expect.stringMatching(/^4503599627370497-[0-9a-f]{16}$/),
    })
  })

  const cases: [what: string, message: Partial<Message>, expected: object][] = [
    [
      'an intent opens a page',
      { vivo: { clickAction: 'intent', intent } },
      { skipType: 4, skipContent: intent },
    ],
    [
      'an address opens the browser',
      { vivo: { clickAction: 'intent', intent: 'https://example.com/a' } },
      { skipType: 2, skipContent: 'https://example.com/a' },
    ],
    [
      'android’s click is taken where vivo has none',
      { android: { clickAction: 'intent', intent } },
      { skipType: 4, skipContent: intent },
    ],
    [
      'vivo’s click wins over android’s as a pair',
      { vivo: { clickAction: 'open_app' }, android: { clickAction: 'intent', intent } },
      { skipType: 1 },
    ],
    ['a blank sound rings and vibrates', {}, { notifyType: 4 }],
    ['a named sound cannot be had and rings', { vivo: { sound: 'bell.mp3' } }, { notifyType: 4 }],
    ['silent is silent', { vivo: { sound: 'silent' } }, { notifyType: 1 }],
    ['none of android is silent too', { android: { sound: 'None' } }, { notifyType: 1 }],
    ['vivo’s sound wins', { android: { sound: 'none' }, vivo: { sound: 'default' } }, { notifyType: 4 }],
    ['push_mode is carried', { vivo: { pushMode: 1 } }, { pushMode: 1 }],
    ['a named +7 adds one', { badge: { kind: 'add', count: 7 }, badgeNamed: true }, { addBadge: true }],
    [
      'ext becomes strings, digits kept',
      {
        ext: '{"id":9007199254740993,"name":"a","deep":{"n":1.10},"yes":true,"nothing":null,"list":[1,"b"]}',
      },
      {
        clientCustomMap: {
          id: '9007199254740993',
          name: 'a',
          deep: '{"n":1.10}',
          yes: 'true',
          nothing: 'null',
          list: '[1,"b"]',
          task_id: '4503599627370497',
        },
      },
    ],
    [
      'ext cannot take the place of our task_id',
      { ext: '{"task_id":"1"}' },
      { clientCustomMap: { task_id: '4503599627370497' } },
    ],
    [
      'a picture travels as an address beside the text',
      { type: 'image', attachmentUrl: 'https://example.com/p.png' },
      {
        title: 'Order shipped',
        clientCustomMap: { attachment_url: 'https://example.com/p.png', task_id: '4503599627370497' },
      },
    ],
    ['a blank title is the application’s name', { title: undefined }, { title: 'Parcel Post' }],
    ['a blank body is the large text', { body: undefined, bigText: 'Long' }, { content: 'Long' }],
    ['a body wins over the large text', { bigText: 'Long' }, { content: 'Parcel 123 is on its way' }],
    ['with a title alone both are the title', { body: undefined }, { content: 'Order shipped' }],
    ['texts are trimmed', { title: ' a ', body: '\nb ' }, { title: 'a', content: 'b' }],
    ['a title of 40 is whole', { title: '题'.repeat(40) }, { title: '题'.repeat(40) }],
    ['a title of 41 is cut', { title: '题'.repeat(41) }, { title: `${'题'.repeat(39)}…` }],
    ['a content of 100 is whole', { body: '文'.repeat(100) }, { content: '文'.repeat(100) }],
    ['a content of 101 is cut', { body: '文'.repeat(101) }, { content: `${'文'.repeat(99)}…` }],
    ['no character is cut in half', { title: '😀'.repeat(41) }, { title: `${'😀'.repeat(39)}…` }],
  ]
  it.each(cases)('%s', (_what, message, expected) => {
    expect(single(message)).toMatchObject(expected)
  })

  it('leaves out missing fields', () => {
    expect(single({ vivo: { channelId: 'orders' } })).not.toHaveProperty('channelId')
    for (const extra of [{}, { badge: true }]) {
      const named = { badgeNamed: true } as const
      expect(single({ badge: { kind: 'set', count: 5 }, ...named }, {}, extra)).not.toHaveProperty('addBadge')
      expect(single({ badge: { kind: 'add', count: 0 }, ...named }, {}, extra)).not.toHaveProperty('addBadge')
    }
    expect(single({})).not.toHaveProperty('skipContent')
    expect(single({})).not.toHaveProperty('extra')
    expect(single({})).not.toHaveProperty('category')
  })

  it('adds to the badge by default only if the certificate has the permission', () => {
    expect(single({})).not.toHaveProperty('addBadge')
    expect(single({}, {}, { badge: true })).toMatchObject({ addBadge: true })
  })

  it('has at most ten custom fields; more of ext are one field as JSON, digits kept', () => {
    const ext = (count: number) =>
      JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i])))
    expect(Object.keys(mapped({ ext: ext(9) }).notice.clientCustomMap)).toHaveLength(10)
    const many = ext(9).replace('"k0":0', '"k0":9007199254740993,"last":1.10')
    expect(mapped({ ext: many }).notice.clientCustomMap).toEqual({
      ext: many,
      task_id: '4503599627370497',
    })
  })

  it('leaves out a picture’s URL when it does not fit with ext', () => {
    const ext = JSON.stringify({ blob: 'x'.repeat(980) })
    const payload = mapped({ type: 'image', attachmentUrl: 'https://example.com/picture.png', ext })
    expect(Object.keys(payload.notice.clientCustomMap)).toEqual(['blob', 'task_id'])
  })

  const refused: [what: string, message: Partial<Message>, sentence: RegExp][] = [
    ['a pass-through message', { type: 'cmd' }, /pass-through/],
    ['a message without any text', { title: undefined, body: undefined, ext: '{"a":1}' }, /blank/],
    ['a message of white space', { title: ' ', body: ' ' }, /blank/],
    [
      'an intent of more than 1024 characters',
      { vivo: { clickAction: 'intent', intent: `intent:#Intent;S.k=${'x'.repeat(1024)};end` } },
      /intent of at most 1024/,
    ],
  ]
  it.each(refused)('does not exist for %s', (_what, message, sentence) => {
    const payload = map(message)
    expect(isUnsupported(payload) && payload.unsupported).toMatch(sentence)
  })

  it('leaves out more than 1024 characters of ext', () => {
    const { notice } = mapped({ ext: JSON.stringify({ a: 'x'.repeat(1024) }) })
    expect(notice.clientCustomMap).toEqual({ task_id: '4503599627370497' })
    expect(notice.content).toBe('Parcel 123 is on its way')
  })

  it.each(['https://shop.example/1', 'shop://order/1'])('opens %s', (address) => {
    expect(single({ url: address })).toMatchObject({ skipType: 2, skipContent: address })
    expect(single({ vivo: { clickAction: 'url', url: address } })).toMatchObject({ skipContent: address })
  })

  it('opens the app for an address above 1024 characters, with the address in the data if that fits', () => {
    const address = `https://shop.example/${'x'.repeat(1010)}`
    expect(single({ url: address })).toMatchObject({
      skipType: 1,
      clientCustomMap: { task_id: expect.anything() },
    })
    const longest = `https://shop.example/${'x'.repeat(1024 - 21)}`
    expect(single({ url: longest })).toMatchObject({ skipType: 2, skipContent: longest })
  })

  it('hides a notification while the app is in front', () => {
    expect(single({ foreground: 'hide' })).toMatchObject({ foregroundShow: false })
    expect(single({ foreground: 'show' })).not.toHaveProperty('foregroundShow')
    expect(list({ foreground: 'hide' })).toMatchObject({ foregroundShow: false })
  })

  it('replaces across tasks by the collapse key', () => {
    const idOf = (collapseKey: string, taskId: number) => mapped({ collapseKey }, { taskId }).notice.notifyId
    expect(idOf('order-77', 1)).toBe(idOf('order-77', 2))
    expect(idOf('order-77', 1)).not.toBe(idOf('order-78', 1))
  })
})

describe('the notes on a message for vivo', () => {
  const cases: [message: Partial<Message>, note: RegExp | undefined][] = [
    [{}, undefined],
    [{ url: 'https://shop.example/1' }, undefined],
    [{ url: `https://shop.example/${'x'.repeat(1010)}` }, /too long for vivo/],
    [{ vivo: { sound: 'silent' } }, undefined],
    [{ badge: { kind: 'add', count: 1 }, badgeNamed: true }, undefined],
    [{ badge: { kind: 'set', count: 5 } }, undefined],
    [{ badge: { kind: 'set', count: 5 }, badgeNamed: true }, /cannot set a badge/],
    [{ badge: { kind: 'add', count: 2 }, badgeNamed: true }, /only 1 to a badge/],
    [{ type: 'image', attachmentUrl: 'https://example.com/p.png' }, /no pictures/],
    [{ bigText: 'Long' }, /big_text is not sent/],
    [{ android: { sound: 'bell' } }, /no named sounds/],
    [{ vivo: { category: 'IM' } }, /must have permitted/],
    [{ vivo: { classification: 0 } }, undefined],
  ]
  it.each(cases)('%j', (message, note) => {
    const settings = vivo.readSettings(vivoCertificate())
    expect(messageNotes(vivo, sampleTask(message), settings)).toEqual(
      note ? [expect.stringMatching(note)] : [],
    )
  })
})

describe('the scopes of a vivo payload', () => {
  const cases: [own: Message['vivo'], messageClass: Task['messageClass'], quota: string, scopes: string[]][] =
    [
      [{}, 'service', 'system messages', ['mode formal', 'class system']],
      [{}, 'marketing', 'operational messages', ['mode formal']],
      [{ classification: 1 }, 'marketing', 'system messages', ['mode formal']],
      [{ category: 'IM' }, 'marketing', 'system messages', ['mode formal']],
      [{ category: 'NEW_ONE' }, 'marketing', 'NEW_ONE messages', ['mode formal']],
      [{ pushMode: 0 }, 'service', 'system messages', ['class system']],
      [{ pushMode: 1 }, 'service', 'system test messages', ['class system']],
      [{ pushMode: 1, classification: 0 }, 'service', 'operational test messages', []],
    ]
  it.each(cases)('%j of class %s', (own, messageClass, quota, scopes) => {
    const payload = mapped({ vivo: own }, { messageClass })
    expect(quotaClass(payload)).toBe(quota)
    expect(scopesOf(payload)).toEqual(scopes)
  })

  it('are refused by the codes of the application, unless the message named what is refused', () => {
    const refusedBy = (code: number, own: Message['vivo']) =>
      refusedScope({ kind: 'rejected', reason: { code: `vivo.${code}`, text: '' } }, mapped({ vivo: own }))
    expect(refusedBy(10045, {})).toBe('mode formal')
    expect(refusedBy(10045, { pushMode: 0 })).toBeUndefined()
    expect(refusedBy(10082, {})).toBe('class system')
    expect(refusedBy(10082, { classification: 1 })).toBeUndefined()
    expect(refusedBy(10051, {})).toBeUndefined()
    expect(refusedBy(10103, {})).toBeUndefined()
  })
})

describe('the time to live at vivo', () => {
  const cases: [what: string, ttl: number, showEnd: number | undefined, single: object, list: object][] = [
    ['an hour', 3600, undefined, { timeToLive: 3600 }, { timeToLive: 3600 }],
    ['a day and more', 200_000, undefined, { timeToLive: 86_400 }, { timeToLive: 86_400 }],
    ['what show_end_time leaves', 3600, sampleNow + 1800, { timeToLive: 1800 }, { timeToLive: 1800 }],
    ['ttl when it ends first', 3600, sampleNow + 7200, { timeToLive: 3600 }, { timeToLive: 3600 }],
    ['less than a list’s least', 899, undefined, { timeToLive: 899 }, { timeToLive: 900, sendOnline: true }],
    ['exactly a list’s least', 900, undefined, { timeToLive: 900 }, { timeToLive: 900 }],
    [
      'less than any minimum',
      59,
      undefined,
      { timeToLive: 60, sendOnline: true },
      { timeToLive: 900, sendOnline: true },
    ],
    [
      'only if reachable now',
      0,
      undefined,
      { timeToLive: 60, sendOnline: true },
      { timeToLive: 900, sendOnline: true },
    ],
  ]
  it.each(cases)('%s', (_what, ttl, showEnd, one, many) => {
    const pick = (body: object) => {
      const { timeToLive, sendOnline } = body as { timeToLive: number; sendOnline?: boolean }
      return sendOnline === undefined ? { timeToLive } : { timeToLive, sendOnline }
    }
    expect(pick(single({ showEnd }, { ttl }))).toEqual(one)
    expect(pick(list({ showEnd }, { ttl }))).toEqual(many)
  })
})

describe('the class of a vivo message', () => {
  const order = {
    classes: { service: { classification: 1, category: 'ORDER' }, marketing: { category: 'NEWS' } },
  }
  const cases: [what: string, vivo: Message['vivo'], over: Partial<Task>, extra: Extra, expected: object][] =
    [
      ['service is a system message', {}, { messageClass: 'service' }, {}, { classification: 1 }],
      ['marketing is operational', {}, { messageClass: 'marketing' }, {}, { classification: 0 }],
      [
        'the certificate’s class',
        {},
        { messageClass: 'service' },
        order,
        { classification: 1, category: 'ORDER' },
      ],
      [
        'a category of the certificate alone',
        {},
        { messageClass: 'marketing' },
        order,
        { classification: 0, category: 'NEWS' },
      ],
      [
        'a certificate without system messages',
        {},
        { messageClass: 'service' },
        { classes: { service: { classification: 0 } } },
        { classification: 0 },
      ],
      ['the message’s classification wins', { classification: 0 }, {}, order, { classification: 0 }],
      ['the message’s category wins', { category: 'IM' }, {}, order, { classification: 1, category: 'IM' }],
      ['a category that is not in the list', { category: 'NEW_ONE' }, {}, order, { category: 'NEW_ONE' }],
      [
        'both of the message',
        { classification: 1, category: 'IM' },
        { messageClass: 'marketing' },
        order,
        { classification: 1, category: 'IM' },
      ],
    ]
  it.each(cases)('%s', (_what, own, over, extra, expected) => {
    const { classification, category } = mapped({ vivo: own }, over, extra).notice
    expect(JSON.parse(JSON.stringify({ classification, category }))).toEqual(expected)
  })

  const counted: [vivo: Message['vivo'], messageClass: Task['messageClass'], as: Task['messageClass']][] = [
    [{}, 'service', 'service'],
    [{}, 'marketing', 'marketing'],
    [{ classification: 1 }, 'marketing', 'service'],
    [{ classification: 0 }, 'service', 'marketing'],
    [{ category: 'IM' }, 'marketing', 'service'],
    [{ category: 'NEWS' }, 'service', 'marketing'],
    [{ category: 'NEW_ONE' }, 'service', 'service'],
    [{ pushMode: 1 }, 'marketing', 'service'],
    [{ pushMode: 1, classification: 0 }, 'marketing', 'service'],
  ]
  it.each(counted)('%j of a %s task counts as %s for vivo’s limits', (own, messageClass, as) => {
    const settings = vivo.readSettings(vivoCertificate())
    expect(vivo.classOf?.(sampleTask({ vivo: own }, { messageClass }), settings)).toBe(as)
  })

  const isLimited = (
    classes: object,
    own: Message['vivo'],
    messageClass: Task['messageClass'] = 'service',
  ) => {
    const settings = vivo.readSettings(vivoCertificate({ extra: { classes } }))
    const as = vivo.classOf!(sampleTask({ vivo: own }, { messageClass }), settings)
    const { hours, perDevicePerDay } = vivo.limits(settings, as)
    expect(hours === undefined).toBe(perDevicePerDay === undefined)
    return hours !== undefined
  }

  it.each([
    [{}, true],
    [{ classification: 0 }, true],
    [{ category: 'NEWS' }, true],
    [{ category: 'SOMETHING_NEW' }, true],
    [{ classification: 1 }, false],
    [{ category: 'IM' }, false],
    [{ pushMode: 1 }, false],
  ] satisfies [Message['vivo'], boolean][])(
    '%j has the limits of its own classification where the certificate sends service messages as operational',
    (own, limited) => {
      expect(isLimited({ service: { classification: 0 } }, own)).toBe(limited)
    },
  )

  it('has no limits of operational messages where the certificate sends marketing as system messages', () => {
    const classes = { marketing: { classification: 1 } }
    expect(isLimited(classes, {}, 'marketing')).toBe(false)
    expect(isLimited(classes, { classification: 0 }, 'marketing')).toBe(true)
  })
})

describe('the receipt fields', () => {
  const over = { callbackUrl: url }
  const param = { 'callback.param': '4503599627370497' }

  it('contain a URL in single sends only', () => {
    expect(single({}, over)).toMatchObject({ extra: { callback: url, ...param } })
    expect(list({}, over)).not.toHaveProperty('extra')
  })

  it('contain the receipt id in both if the certificate has one', () => {
    const extra = { 'callback.id': 'r7', ...param }
    expect(single({}, over, { callback_id: 'r7' })).toMatchObject({ extra })
    expect(list({}, over, { callback_id: 'r7' })).toMatchObject({ extra })
  })

  it('are left out without a public URL, for test messages, and if the URL is too long', () => {
    expect(single({}, {}, { callback_id: 'r7' })).not.toHaveProperty('extra')
    expect(single({ vivo: { pushMode: 1 } }, over)).not.toHaveProperty('extra')
    expect(single({}, { callbackUrl: `https://example.com/${'x'.repeat(110)}` })).not.toHaveProperty('extra')
  })
})

describe('a list send', () => {
  it('stores the message without a target and repeats the push mode with the targets', () => {
    const payload = mapped({ vivo: { pushMode: 1 } })
    expect(listBody(payload, 'list')).not.toHaveProperty('regId')
    expect(pushBody(payload, '342982', ['a', 'b'])).toEqual({
      appId: 105550001,
      regIds: ['a', 'b'],
      taskId: '342982',
      requestId: expect.stringMatching(/^4503599627370497-[0-9a-f]{16}$/),
      pushMode: 1,
    })
  })

  it('has the same requestId in each attempt, and another for other devices', () => {
    const payload = mapped({})
    const id = (tokens: string[]) => (pushBody(payload, '1', tokens) as { requestId: string }).requestId
    expect(id(['a', 'b'])).toBe(id(['a', 'b']))
    expect(id(['a', 'b'])).not.toBe(id(['a', 'c']))
    expect(id(['a']).length).toBeLessThanOrEqual(64)
  })

  it('shares one stored payload for five minutes, but not with another text or class', () => {
    const key = (over: Partial<Task>, message: Partial<Message> = {}) => listKey(mapped(message, over))
    expect(key({ ttl: 3600 })).toBe(key({ ttl: 3301 }))
    expect(key({ ttl: 3600 })).not.toBe(key({ ttl: 3300 }))
    expect(key({ ttl: 90_000 })).toBe(key({ ttl: 200_000 }))
    expect(key({})).not.toBe(key({}, { title: 'Other' }))
    expect(key({})).not.toBe(key({ messageClass: 'marketing' }))
  })
})
