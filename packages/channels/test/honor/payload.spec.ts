import type { Message } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import { isUnsupported, type Task } from '../../src/channel.ts'
import { adapter as honor } from '../../src/honor/channel.ts'
import { notes } from '../../src/honor/notes.ts'
import { type HonorNotification, type HonorPayload, mapPayload } from '../../src/honor/payload.ts'
import { readSettings } from '../../src/honor/settings.ts'
import { sampleCertificate, sampleNow, sampleTask } from '../samples.ts'

type Extra = Record<string, unknown>
type MessageOver = Parameters<typeof sampleTask>[0]
type TaskOver = Parameters<typeof sampleTask>[1]

const settingsOf = (extra: Extra = {}) =>
  readSettings(sampleCertificate('honor', { appId: '104436234', appKey: 'c-1', appSecret: 's-1', extra }))

function map(message: MessageOver = {}, over: TaskOver = {}, extra: Extra = {}): HonorPayload {
  const payload = mapPayload(sampleTask(message, over), settingsOf(extra))
  if (isUnsupported(payload)) throw new Error(payload.unsupported)
  return JSON.parse(JSON.stringify(payload)) as HonorPayload
}

const intent = 'intent:#Intent;component=com.a/.Main;S.order=77;end'
const badgeClass = { badge_class: 'com.a.Main' }

describe('honor payload', () => {
  it('writes a complete text message', () => {
    const payload = map(
      { bigText: 'Long text', ext: '{"order":"77"}', android: { clickAction: 'intent', intent } },
      {},
      { ...badgeClass, target_user_type: 0 },
    )
    expect(payload).toEqual({
      data: '{"order":"77","task_id":"4503599627370497"}',
      android: {
        ttl: '3600s',
        biTag: '4503599627370497',
        targetUserType: 0,
        notification: {
          title: 'Order shipped',
          body: 'Long text',
          clickAction: { type: 1, intent },
          style: 1,
          bigTitle: 'Order shipped',
          bigBody: 'Long text',
          importance: 'NORMAL',
          badge: { badgeClass: 'com.a.Main', addNum: 1 },
          notifyId: 2097154,
        },
      },
    })
  })

  it('writes a minimal marketing message', () => {
    expect(map({}, { messageClass: 'marketing' })).toEqual({
      data: '{"task_id":"4503599627370497"}',
      android: {
        ttl: '3600s',
        biTag: '4503599627370497',
        notification: {
          title: 'Order shipped',
          body: 'Parcel 123 is on its way',
          clickAction: { type: 3 },
          importance: 'LOW',
          notifyId: 2097154,
        },
      },
    })
  })

  it('writes cmd as pass-through: only data, with all texts, and no badge', () => {
    expect(map({ type: 'cmd', ext: '{"cmd":"sync"}' }, { ttl: 600 }, badgeClass)).toEqual({
      data: '{"title":"Order shipped","body":"Parcel 123 is on its way","cmd":"sync","task_id":"4503599627370497"}',
      android: { ttl: '600s', biTag: '4503599627370497' },
    })
  })

  it('sends neither channel nor sound, which Honor does not have', () => {
    const options = { sound: 'shake', channelId: 'orders' }
    expect(map({ android: options, honor: options })).toEqual(map())
  })

  it.each([
    ['shows an https picture', 'image', 'https://img.example/a.png', 'https://img.example/a.png', undefined],
    [
      'carries an http picture in the data',
      'image',
      'http://i.example/a.png',
      undefined,
      'http://i.example/a.png',
    ],
    [
      'carries what is attached to a text in the data',
      'text',
      'https://v.example/a.mp4',
      undefined,
      'https://v.example/a.mp4',
    ],
  ] as const)('%s', (_name, type, attachmentUrl, image, inData) => {
    const payload = map({ type, attachmentUrl })
    expect(payload.android.notification?.image).toBe(image)
    expect(JSON.parse(payload.data).attachment_url).toBe(inData)
  })

  it('shows no picture in a marketing message', () => {
    const attachmentUrl = 'https://img.example/a.png'
    const payload = map({ type: 'image', attachmentUrl }, { messageClass: 'marketing' })
    expect(payload.android.notification).not.toHaveProperty('image')
    expect(JSON.parse(payload.data).attachment_url).toBe(attachmentUrl)
    const asService = map(
      { type: 'image', attachmentUrl, honor: { importance: 'NORMAL' } },
      { messageClass: 'marketing' },
    )
    expect(asService.android.notification?.image).toBe(attachmentUrl)
  })

  it('sends the text without a picture whose address leaves no room for it', () => {
    const attachmentUrl = `https://img.example/${'x'.repeat(1500)}.png`
    const ext = JSON.stringify({ blob: 'y'.repeat(2600) })
    for (const type of ['image', 'text'] as const) {
      const payload = map({ type, attachmentUrl, ext })
      expect(payload.android.notification!.body).toBe('Parcel 123 is on its way')
      expect(JSON.stringify(payload)).not.toContain('img.example')
      expect(JSON.stringify(map({ type, attachmentUrl }))).toContain('img.example')
    }
  })

  it.each([
    ['sets', { kind: 'set', count: 5 }, badgeClass, { badgeClass: 'com.a.Main', setNum: 5 }],
    ['sets to zero', { kind: 'set', count: 0 }, badgeClass, { badgeClass: 'com.a.Main', setNum: 0 }],
    ['sets at most 99', { kind: 'set', count: 500 }, badgeClass, { badgeClass: 'com.a.Main', setNum: 99 }],
    ['adds', { kind: 'add', count: 2 }, badgeClass, { badgeClass: 'com.a.Main', addNum: 2 }],
    ['adds at most 99', { kind: 'add', count: 100 }, badgeClass, { badgeClass: 'com.a.Main', addNum: 99 }],
    ['adds nothing for +0', { kind: 'add', count: 0 }, badgeClass, undefined],
    ['has no badge without a class', { kind: 'set', count: 5 }, {}, undefined],
  ] as const)('%s the badge', (_name, badge, extra, expected) => {
    expect(map({ badge }, {}, extra).android.notification?.badge).toEqual(expected)
  })

  it.each([
    ['keeps a ttl in range', 7200, undefined, '7200s'],
    ['caps ttl at 15 days', 30 * 86_400, undefined, '1296000s'],
    ['sends "only now" as one second', 0, undefined, '1s'],
    ['ends with the show window', 86_400, sampleNow + 60, '60s'],
  ] as const)('%s', (_name, ttl, showEnd, expected) => {
    expect(map({ showEnd }, { ttl }).android.ttl).toBe(expected)
  })

  const notifications: [string, MessageOver, Extra, Partial<HonorNotification>][] = [
    [
      'opens the vendor’s own page',
      { honor: { clickAction: 'intent', intent } },
      {},
      { clickAction: { type: 1, intent } },
    ],
    [
      'keeps click and intent a pair',
      { android: { clickAction: 'intent', intent }, honor: { clickAction: 'open_app' } },
      {},
      { clickAction: { type: 3 } },
    ],
    [
      'prefers the badge class of the message',
      { honor: { badgeClass: 'com.b.Main' } },
      badgeClass,
      { badge: { badgeClass: 'com.b.Main', addNum: 1 } },
    ],
    ['takes the application’s name for a missing title', { title: undefined }, {}, { title: 'Parcel Post' }],
    [
      'takes big_text for a missing body',
      { body: undefined, bigText: 'B' },
      {},
      { body: 'B', style: 1, bigBody: 'B' },
    ],
    [
      'takes importance from the class',
      {},
      { classes: { service: { importance: 'LOW' } } },
      { importance: 'LOW' },
    ],
    [
      'lets the message win over the class',
      { honor: { importance: 'NORMAL' } },
      { classes: { service: { importance: 'LOW' } } },
      { importance: 'NORMAL' },
    ],
    [
      'leaves the other class’s fields alone',
      {},
      { classes: { marketing: { importance: 'LOW' } } },
      { importance: 'NORMAL' },
    ],
  ]
  it.each(notifications)('%s', (_name, message, extra, expected) => {
    expect(map(message, {}, extra).android.notification).toMatchObject(expected)
  })

  it('keeps the digits of numbers in ext and its own task_id', () => {
    const { data } = map({ ext: '{"id":9007199254740993,"task_id":1}' })
    expect(data).toBe('{"id":9007199254740993,"task_id":"4503599627370497"}')
  })

  it('sends big text as body and bigBody, and title as bigTitle', () => {
    const { notification } = map({ bigText: 'Long text' }).android
    expect(notification).toMatchObject({ style: 1, body: 'Long text', bigBody: 'Long text' })
    expect(notification?.bigTitle).toBe(notification?.title)
  })

  it('cuts big text, or sends the body alone if less than that would be left of it, to 4096 bytes', () => {
    const size = (payload: HonorPayload) => Buffer.byteLength(JSON.stringify({ ...payload, token: [] }))
    const long = map({ bigText: '包裹'.repeat(1500) })
    expect(long.android.notification?.bigBody).toMatch(/^[包裹]+…$/)
    expect(long.android.notification?.body).toBe(long.android.notification?.bigBody)
    expect(size(long)).toBeLessThanOrEqual(4096)
    expect(size(long)).toBeGreaterThan(4090)
    const tight = map({
      ext: JSON.stringify({ blob: 'x'.repeat(3500) }),
      body: '😀'.repeat(500),
      bigText: 'B'.repeat(900),
    })
    expect(tight.android.notification).not.toHaveProperty('style')
    expect(tight.android.notification?.body).toMatch(/^(😀)+…$/u)
    expect(size(tight)).toBeLessThanOrEqual(4096)
  })

  it.each([
    [
      'a pass-through that is too large',
      { type: 'cmd', ext: JSON.stringify({ blob: 'x'.repeat(4096) }) },
      /4096 bytes/,
    ],
    ['a message without any text', { title: undefined, body: undefined }, /title or a body/],
  ] as const)('cannot carry %s', (_name, message, sentence) => {
    expect(mapPayload(sampleTask(message), settingsOf())).toMatchObject({
      unsupported: expect.stringMatching(sentence),
    })
  })

  it('leaves out ext that leaves no room, and keeps the texts whole', () => {
    const payload = map({ ext: JSON.stringify({ blob: 'x'.repeat(4096) }) })
    expect(payload.data).toBe('{"task_id":"4503599627370497"}')
    expect(payload.android.notification?.body).toBe('Parcel 123 is on its way')
  })

  it.each([
    ['https://shop.example/1?a=b#c', { type: 2, url: 'https://shop.example/1?a=b#c' }],
    ['shop://order/1', { type: 1, intent: 'intent://order/1#Intent;scheme=shop;end' }],
  ])('opens %s', (url, clickAction) => {
    expect(map({ android: { clickAction: 'url', url } }).android.notification?.clickAction).toEqual(
      clickAction,
    )
    expect(map({ url }).android.notification?.clickAction).toEqual(clickAction)
  })

  it('replaces across tasks by the collapse key', () => {
    const [first, second] = [1, 2].map((taskId) => map({ collapseKey: 'order-77' }, { taskId }))
    expect(first!.android.notification!.notifyId).toBe(second!.android.notification!.notifyId)
    expect(first!.android.notification!.notifyId).not.toBe(
      map({}, { taskId: 1 }).android.notification!.notifyId,
    )
  })
})

describe('honor notes', () => {
  const notesOf = (message: MessageOver, over: TaskOver = {}) =>
    notes(sampleTask(message, over), settingsOf())
  const picture = { type: 'image', attachmentUrl: 'https://img.example/a.png' } as const

  const restrictions: [string, MessageOver, TaskOver, RegExp][] = [
    ['a picture in a marketing message', picture, { messageClass: 'marketing' }, /no pictures in marketing/],
    ['an http picture', { type: 'image', attachmentUrl: 'http://a/b.png' }, {}, /https address only/],
    ['a sound', { android: { sound: 'ring' } }, {}, /no custom sounds/],
    ['a channel', { honor: { channelId: 'orders' } }, {}, /no notification channels/],
  ]
  it.each(restrictions)('tells of %s', (_name, message, over, words) => {
    expect(notesOf(message, over)).toEqual([expect.stringMatching(words)])
  })

  it('tells nothing of a message that is shown as it is', () => {
    expect(notesOf(picture)).toEqual([])
    expect(notesOf({ android: { sound: 'default' } })).toEqual([])
    expect(notesOf({ type: 'cmd', android: { sound: 'ring' } })).toEqual([])
  })
})

describe('a message for Honor', () => {
  const swapped = { classes: { service: { importance: 'LOW' }, marketing: { importance: 'NORMAL' } } }
  const cases: [own: Message['honor'], messageClass: Task['messageClass'], extra: Extra, as: string][] = [
    [{}, 'service', {}, 'service'],
    [{}, 'marketing', {}, 'marketing'],
    [{ importance: 'NORMAL' }, 'marketing', {}, 'service'],
    [{ importance: 'LOW' }, 'service', {}, 'marketing'],
    [{}, 'service', swapped, 'marketing'],
    [{}, 'marketing', swapped, 'service'],
  ]
  it.each(cases)('%j of a %s task with %j counts as %s', (own, messageClass, extra, as) => {
    expect(honor.classOf?.(sampleTask({ honor: own }, { messageClass }), settingsOf(extra))).toBe(as)
  })
})
