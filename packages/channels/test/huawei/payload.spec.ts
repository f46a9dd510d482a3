import type { Message } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import { isUnsupported, type Task } from '../../src/channel.ts'
import { adapter as huawei } from '../../src/huawei/channel.ts'
import { mapPayload } from '../../src/huawei/payload.ts'
import type { V2Android, V2Body, V2Notification } from '../../src/huawei/payload-v2.ts'
import { readSettings } from '../../src/huawei/settings.ts'
import { notes } from '../../src/huawei/warnings.ts'
import { sampleCertificate, sampleNow, sampleTask } from '../samples.ts'
import { makeServiceAccount } from './service-account.ts'

type Extra = Record<string, unknown>
type MessageOver = Parameters<typeof sampleTask>[0]
type TaskOver = Parameters<typeof sampleTask>[1]

const settingsOf = (extra: Extra = {}) =>
  readSettings(sampleCertificate('huawei', { appId: '100200300', appSecret: 's3cr3t', extra }))

function v2(message: MessageOver = {}, over: TaskOver = {}, extra: Extra = {}): V2Body {
  const payload = mapPayload(sampleTask(message, over), settingsOf(extra))
  if (isUnsupported(payload) || !payload.v2 || isUnsupported(payload.v2))
    throw new Error(`unsupported: ${JSON.stringify(payload)}`)
  return JSON.parse(JSON.stringify(payload.v2)) as V2Body
}

const bytesOf = (body: object) => Buffer.byteLength(JSON.stringify(body))

const intent = 'intent:#Intent;component=com.a/.Main;S.order=77;end'
/** With FLAG_ACTIVITY_CLEAR_TOP. */
const sentIntent = 'intent:#Intent;launchFlags=0x04000000;component=com.a/.Main;S.order=77;end'
const flagged = 'intent:#Intent;component=com.a/.Main;launchFlags=0x10000000;S.launchFlags=no;end'
const badgeClass = { badge_class: 'com.a.Main' }

describe('huawei payload, v1 and v2', () => {
  it('writes a complete text message', () => {
    const body = v2(
      {
        bigText: 'Long text',
        ext: '{"order":"77"}',
        android: { sound: 'shake.mp3', channelId: 'orders', clickAction: 'intent', intent },
      },
      {},
      {
        ...badgeClass,
        receipt_id: 'RCP1',
        target_user_type: 1,
        classes: { service: { category: 'EXPRESS', importance: 'NORMAL' } },
      },
    )
    expect(body).toEqual({
      validate_only: false,
      message: {
        data: '{"order":"77","task_id":"4503599627370497"}',
        android: {
          category: 'EXPRESS',
          ttl: '3600s',
          bi_tag: '4503599627370497',
          receipt_id: 'RCP1',
          target_user_type: 1,
          notification: {
            title: 'Order shipped',
            body: 'Parcel 123 is on its way',
            click_action: { type: 1, intent: sentIntent },
            style: 1,
            big_title: 'Order shipped',
            big_body: 'Long text',
            channel_id: 'orders',
            sound: '/raw/shake',
            default_sound: false,
            importance: 'NORMAL',
            badge: { class: 'com.a.Main', add_num: 1 },
            notify_id: 2097154,
          },
        },
      },
    })
  })

  it('writes a minimal text message', () => {
    expect(v2()).toEqual({
      validate_only: false,
      message: {
        data: '{"task_id":"4503599627370497"}',
        android: {
          ttl: '3600s',
          bi_tag: '4503599627370497',
          notification: {
            title: 'Order shipped',
            body: 'Parcel 123 is on its way',
            click_action: { type: 3 },
            notify_id: 2097154,
          },
        },
      },
    })
  })

  it('writes cmd as pass-through: only data, with all texts, and no badge', () => {
    const body = v2(
      { type: 'cmd', ext: '{"cmd":"sync"}', huawei: { urgency: 'HIGH', category: 'PLAY_VOICE' } },
      { ttl: 600 },
      { ...badgeClass, classes: { service: { category: 'IM' } } },
    )
    expect(body).toEqual({
      validate_only: false,
      message: {
        data: '{"title":"Order shipped","body":"Parcel 123 is on its way","cmd":"sync","task_id":"4503599627370497"}',
        android: { category: 'PLAY_VOICE', urgency: 'HIGH', ttl: '600s', bi_tag: '4503599627370497' },
      },
    })
  })

  it('takes the category of the class for cmd, and asks for HIGH only if the message does', () => {
    const { android } = v2({ type: 'cmd' }, {}, { classes: { service: { category: 'IM' } } }).message
    expect(android.category).toBe('IM')
    expect(android).not.toHaveProperty('urgency')
    expect(v2().message.android.notification).not.toHaveProperty('importance')
  })

  it('sends the text without a picture whose address leaves no room for it', () => {
    const attachmentUrl = `https://img.example/${'x'.repeat(1500)}.png`
    const ext = JSON.stringify({ blob: 'y'.repeat(2600) })
    for (const type of ['image', 'text'] as const) {
      const { message } = v2({ type, attachmentUrl, ext })
      expect(message.android.notification!.body).toBe('Parcel 123 is on its way')
      expect(JSON.stringify(message)).not.toContain('img.example')
      expect(JSON.stringify(v2({ type, attachmentUrl }))).toContain('img.example')
    }
  })

  const pictures = [
    ['shows an https picture', 'image', 'https://img.example/a.png', 'https://img.example/a.png', undefined],
    [
      'carries an http picture in the data',
      'image',
      'http://img.example/a.png',
      undefined,
      'http://img.example/a.png',
    ],
    [
      'carries what is attached to a text in the data',
      'text',
      'https://v.example/a.mp4',
      undefined,
      'https://v.example/a.mp4',
    ],
  ] as const
  it.each(pictures)('%s', (_name, type, attachmentUrl, image, inData) => {
    const { message } = v2({ type, attachmentUrl }, {}, { classes: { service: { category: 'IM' } } })
    expect(message.android.notification?.image).toBe(image)
    expect(JSON.parse(message.data).attachment_url).toBe(inData)
  })

  it.each([[undefined], ['MARKETING']])(
    'carries the picture of a message of the category %s in the data too, because Huawei shows its text only',
    (category) => {
      const attachmentUrl = 'https://img.example/a.png'
      const { message } = v2({ type: 'image', attachmentUrl, huawei: { category } })
      expect(message.android.notification?.image).toBe(attachmentUrl)
      expect(JSON.parse(message.data).attachment_url).toBe(attachmentUrl)
    },
  )

  const badges = [
    ['sets', { kind: 'set', count: 5 }, badgeClass, { class: 'com.a.Main', set_num: 5 }],
    ['sets to zero', { kind: 'set', count: 0 }, badgeClass, { class: 'com.a.Main', set_num: 0 }],
    ['sets at most 99', { kind: 'set', count: 500 }, badgeClass, { class: 'com.a.Main', set_num: 99 }],
    ['adds', { kind: 'add', count: 2 }, badgeClass, { class: 'com.a.Main', add_num: 2 }],
    ['adds at most 99', { kind: 'add', count: 100 }, badgeClass, { class: 'com.a.Main', add_num: 99 }],
    ['adds nothing for +0', { kind: 'add', count: 0 }, badgeClass, undefined],
    ['has no badge without a class', { kind: 'set', count: 5 }, {}, undefined],
  ] as const
  it.each(badges)('%s the badge', (_name, badge, extra, expected) => {
    expect(v2({ badge }, {}, extra).message.android.notification?.badge).toEqual(expected)
  })

  it('prefers the badge class of the message', () => {
    const badge = v2({ huawei: { badgeClass: 'com.b.Main' } }, {}, badgeClass).message.android.notification
      ?.badge
    expect(badge).toEqual({ class: 'com.b.Main', add_num: 1 })
  })

  const ttls = [
    ['keeps a ttl in range', 7200, undefined, '7200s'],
    ['caps ttl at 15 days', 30 * 86_400, undefined, '1296000s'],
    ['sends "only now" as one second', 0, undefined, '1s'],
    ['ends with the show window', 86_400, sampleNow + 60, '60s'],
    ['lets ttl end before the show window', 30, sampleNow + 60, '30s'],
    ['asks for one second when the window has just closed', 30, sampleNow - 5, '1s'],
  ] as const
  it.each(ttls)('%s', (_name, ttl, showEnd, expected) => {
    expect(v2({ showEnd }, { ttl }).message.android.ttl).toBe(expected)
  })

  const notifications: [string, MessageOver, Extra, Partial<V2Notification>][] = [
    [
      'takes the vendor object before android',
      { android: { sound: 'a', channelId: 'a' }, huawei: { sound: 'b', channelId: 'b' } },
      {},
      { sound: '/raw/b', channel_id: 'b' },
    ],
    [
      'inherits channel and sound from android',
      { android: { sound: '/raw/a', channelId: 'a' } },
      {},
      { sound: '/raw/a', channel_id: 'a', default_sound: false },
    ],
    [
      'leaves the default sound to the phone',
      { android: { sound: 'default' } },
      {},
      { sound: undefined, default_sound: undefined },
    ],
    [
      'keeps click and intent a pair',
      { android: { clickAction: 'intent', intent }, huawei: { clickAction: 'open_app' } },
      {},
      { click_action: { type: 3 } },
    ],
    [
      'opens the vendor’s own page',
      { huawei: { clickAction: 'intent', intent } },
      {},
      { click_action: { type: 1, intent: sentIntent } },
    ],
    [
      'keeps the launch flags of an intent',
      { huawei: { clickAction: 'intent', intent: flagged } },
      {},
      { click_action: { type: 1, intent: flagged } },
    ],
    ['takes the application’s name for a missing title', { title: undefined }, {}, { title: 'Parcel Post' }],
    [
      'takes big_text for a missing body',
      { body: undefined, bigText: 'B' },
      {},
      { body: 'B', style: 1, big_body: 'B' },
    ],
    ['takes the title for a missing body', { body: undefined }, {}, { body: 'Order shipped' }],
    [
      'takes importance from the class',
      {},
      { classes: { service: { importance: 'LOW' } } },
      { importance: 'LOW' },
    ],
    [
      'lets the message win over the class',
      { huawei: { importance: 'NORMAL' } },
      { classes: { service: { importance: 'LOW' } } },
      { importance: 'NORMAL' },
    ],
    [
      'sends the importance HIGH as NORMAL',
      { huawei: { importance: 'HIGH' } },
      { classes: { service: { importance: 'LOW' } } },
      { importance: 'NORMAL' },
    ],
    [
      'sends the importance HIGH of the class as NORMAL',
      {},
      { classes: { service: { importance: 'HIGH' } } },
      { importance: 'NORMAL' },
    ],
    [
      'leaves the other class’s fields alone',
      {},
      { classes: { marketing: { importance: 'LOW' } } },
      { importance: undefined },
    ],
  ]
  it.each(notifications)('%s', (_name, message, extra, expected) => {
    expect({ ...v2(message, {}, extra).message.android.notification }).toMatchObject(
      Object.fromEntries(Object.entries(expected).filter(([, value]) => value !== undefined)),
    )
    for (const [field, value] of Object.entries(expected))
      if (value === undefined)
        expect(v2(message, {}, extra).message.android.notification).not.toHaveProperty(field)
  })

  const androids: [string, MessageOver, TaskOver, Extra, Partial<V2Android>][] = [
    [
      'takes the category of the class',
      {},
      { messageClass: 'marketing' },
      { classes: { marketing: { category: 'MARKETING' } } },
      { category: 'MARKETING' },
    ],
    [
      'lets the message’s category win',
      { huawei: { category: 'IM' } },
      {},
      { classes: { service: { category: 'WORK' } } },
      { category: 'IM' },
    ],
    ['tags receipts with the task', {}, { taskId: 12 }, {}, { bi_tag: '12' }],
  ]
  it.each(androids)('%s', (_name, message, over, extra, expected) => {
    expect(v2(message, over, extra).message.android).toMatchObject(expected)
  })

  it('uses urgency for pass-through only', () => {
    expect(v2({ huawei: { urgency: 'HIGH' } }).message.android).not.toHaveProperty('urgency')
  })

  it('keeps the digits of numbers in ext and its own task_id', () => {
    const { data } = v2({ ext: '{"id":9007199254740993,"price":1.10,"task_id":"spoof"}' }).message
    expect(data).toBe('{"id":9007199254740993,"price":1.10,"task_id":"4503599627370497"}')
  })

  it('gives every attempt of a task the same replace key, within 31 bits', () => {
    const key = v2({}, { taskId: Number.MAX_SAFE_INTEGER }).message.android.notification!.notify_id
    expect(key).toBe((Number.MAX_SAFE_INTEGER % 2147483647) + 1)
    expect(key).toBeLessThanOrEqual(2147483647)
  })

  it('cuts big text first, to the maximum size', () => {
    const body = v2({ bigText: '包裹"'.repeat(1000) })
    const shown = body.message.android.notification!
    expect(shown.body).toBe('Parcel 123 is on its way')
    expect(shown.big_body).toMatch(/^(包裹")*包?裹?…$/)
    const size = bytesOf({ ...body, message: { ...body.message, token: [] } })
    expect(size).toBeLessThanOrEqual(4096)
    expect(size).toBeGreaterThan(4096 - 6)
  })

  it('drops big text and cuts the body when ext is large', () => {
    const ext = JSON.stringify({ blob: 'x'.repeat(3400) })
    const body = v2({ ext, bigText: 'B'.repeat(2000), body: '😀'.repeat(500) })
    const shown = body.message.android.notification!
    expect(shown).not.toHaveProperty('style')
    expect(shown.body).toMatch(/^(😀)+…$/u)
    expect(shown.title).toBe('Order shipped')
  })

  it.each([
    [
      'a pass-through that is too large',
      { type: 'cmd', ext: JSON.stringify({ blob: 'x'.repeat(4096) }) },
      /4096 bytes/,
    ],
    ['a message without any text', { title: undefined, body: undefined }, /title or a body/],
  ] as const)('cannot carry %s', (_name, message, sentence) => {
    const payload = mapPayload(sampleTask(message), settingsOf())
    expect(payload).toMatchObject({ unsupported: expect.stringMatching(sentence) })
  })

  it('leaves out ext that leaves no room, and keeps the texts whole', () => {
    const { message } = v2({ ext: JSON.stringify({ blob: 'x'.repeat(4096) }) })
    expect(message.data).toBe('{"task_id":"4503599627370497"}')
    expect(message.android.notification?.body).toBe('Parcel 123 is on its way')
  })

  it.each([
    ['https://shop.example/1?a=b#c', { type: 2, url: 'https://shop.example/1?a=b#c' }],
    ['shop://order/1', { type: 1, intent: 'intent://order/1#Intent;launchFlags=0x04000000;scheme=shop;end' }],
  ])('opens %s', (url, click) => {
    const clickOf = (message: MessageOver) => v2(message).message.android.notification?.click_action
    expect(clickOf({ huawei: { clickAction: 'url', url } })).toEqual(click)
    expect(clickOf({ url })).toEqual(click)
  })

  it('replaces across tasks by the collapse key', () => {
    const idOf = (collapseKey: string | undefined, taskId: number) =>
      v2({ collapseKey }, { taskId }).message.android.notification?.notify_id
    expect(idOf('order-77', 1)).toBe(idOf('order-77', 2))
    expect(idOf('order-77', 1)).not.toBe(idOf('order-78', 1))
    expect(idOf(undefined, 1)).not.toBe(idOf(undefined, 2))
  })

  it('hides a notification while the app is in front; the own field wins', () => {
    const shownIn = (message: MessageOver) => v2(message).message.android.notification?.foreground_show
    expect(shownIn({})).toBeUndefined()
    expect(shownIn({ foreground: 'hide' })).toBe(false)
    expect(shownIn({ foreground: 'hide', huawei: { foregroundShow: true } })).toBe(true)
    expect(shownIn({ huawei: { foregroundShow: false } })).toBe(false)
  })

  it('sends an urgent command with urgency HIGH; the own field wins', () => {
    const urgencyOf = (message: MessageOver) => v2({ type: 'cmd', ...message }).message.android.urgency
    expect(urgencyOf({})).toBeUndefined()
    expect(urgencyOf({ urgent: true })).toBe('HIGH')
    expect(urgencyOf({ urgent: true, huawei: { urgency: 'NORMAL' } })).toBe('NORMAL')
    expect(v2({ urgent: true }).message.android).not.toHaveProperty('urgency')
  })
})

describe('huawei notes', () => {
  const account = makeServiceAccount('388421841222000001')
  const notesOf = (message: MessageOver, over: TaskOver = {}, extra: Extra = {}, certificate = '') =>
    notes(
      sampleTask(message, over),
      readSettings(sampleCertificate('huawei', { appId: '1', appSecret: 's3cr3t', extra, certificate })),
    )
  const complete = { classes: { service: { category: 'EXPRESS' } } }

  it('says that a service message without category becomes marketing', () => {
    const note = expect.stringMatching(/no category.*as marketing/)
    expect(notesOf({})).toEqual([note])
    expect(notesOf({}, {}, complete)).toEqual([])
    expect(notesOf({ huawei: { category: 'IM' } })).toEqual([])
    expect(notesOf({}, { messageClass: 'marketing' })).toEqual([])
    expect(notesOf({ type: 'cmd' })).toEqual([])
  })

  const others: [string, MessageOver, RegExp][] = [
    ['HIGH importance', { huawei: { importance: 'HIGH' } }, /refuses the importance HIGH/],
    ['HIGH urgency', { type: 'cmd', huawei: { urgency: 'HIGH' } }, /urgency HIGH needs a permission/],
    ['the size of pictures', { type: 'image', attachmentUrl: 'https://a/b.png' }, /512 KB.*49,152 pixels/],
    ['an http picture', { type: 'image', attachmentUrl: 'http://a/b.png' }, /https address only/],
    ['an intent on HarmonyOS 5', { huawei: { clickAction: 'intent', intent } }, /opens the home page/],
    ['a web page on HarmonyOS 5', { url: 'https://shop.example' }, /opens no web pages/],
    ['an urgent cmd', { type: 'cmd', huawei: { urgency: 'NORMAL' }, urgent: true }, /has no urgency/],
    ['a voice broadcast', { huawei: { harmonyPushType: 2 } }, /need a permission/],
    ['a call', { huawei: { harmonyPushType: 10 } }, /need a permission/],
    ['a sound without ending', { android: { sound: '/raw/ring' } }, /name with the ending/],
  ]
  it.each(others)('tells of %s', (_name, message, words) => {
    expect(notesOf(message, {}, complete, account.json)).toEqual([expect.stringMatching(words)])
  })

  it.each([{ clickPage: { uri: 'shop://order/1' } }, { harmonyPushType: 6 } as const])(
    'tells that %j needs a service account',
    (fields) => {
      expect(notesOf({ huawei: fields }, {}, complete)).toEqual([
        expect.stringMatching(/needs a service account/),
      ])
      expect(notesOf({ huawei: fields }, {}, complete, account.json)).toEqual([])
    },
  )

  it('tells nothing of HarmonyOS 5 without a service account, nor of a sound with ending', () => {
    expect(notesOf({ huawei: { clickAction: 'intent', intent, sound: 'ring' } }, {}, complete)).toEqual([])
    expect(notesOf({ android: { sound: 'ring.mp3' } }, {}, complete, account.json)).toEqual([])
    expect(notesOf({ url: 'shop://order/1' }, {}, complete, account.json)).toEqual([])
  })
})

describe('a message for Huawei', () => {
  const categories = { classes: { service: { category: 'EXPRESS' }, marketing: { category: 'MARKETING' } } }
  const cases: [own: Message['huawei'], messageClass: Task['messageClass'], extra: Extra, as: string][] = [
    [{}, 'service', categories, 'service'],
    [{}, 'marketing', categories, 'marketing'],
    [{ category: 'IM' }, 'marketing', categories, 'service'],
    [{ category: 'MARKETING' }, 'service', categories, 'marketing'],
    [{ category: 'NEW_ONE' }, 'marketing', {}, 'service'],
    [{}, 'service', {}, 'service'],
    [{}, 'marketing', {}, 'marketing'],
    [{ importance: 'NORMAL' }, 'marketing', {}, 'marketing'],
    [{ harmonyPushType: 2 }, 'service', {}, 'service'],
    [{ harmonyPushType: 10 }, 'marketing', {}, 'service'],
  ]
  it.each(cases)('%j of a %s task with %j counts as %s', (own, messageClass, extra, as) => {
    expect(huawei.classOf?.(sampleTask({ huawei: own }, { messageClass }), settingsOf(extra))).toBe(as)
  })
})
