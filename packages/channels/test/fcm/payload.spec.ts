import { createHash } from 'node:crypto'
import type { Message } from '@herald/domain'
import { readMessage } from '@herald/simulators/fcm-message'
import { describe, expect, it } from '@jest/globals'
import { isUnsupported, type Task } from '../../src/channel.ts'
import { card } from '../../src/fcm/card.ts'
import { adapter as fcm } from '../../src/fcm/channel.ts'
import { bodyOf, type FcmMessage, type FcmPayload, notes } from '../../src/fcm/payload.ts'
import type { FcmSettings } from '../../src/fcm/settings.ts'
import { sampleNow, sampleTask } from '../samples.ts'
import { accountCertificate, newAccountKey } from './credentials.ts'

const taskId = 4503599627370497
const task_id = String(taskId)
const tag = `t${taskId}`
const token = 'd1:APA91bOK'
const settings = fcm.readSettings(accountCertificate(newAccountKey()))
const map = (
  message: Partial<Message>,
  over: Partial<Omit<Task, 'message'>> = {},
  own: FcmSettings = settings,
) => fcm.mapPayload(sampleTask(message, over), own)

function messageOf(...given: Parameters<typeof map>): FcmMessage & { token: string } {
  const payload = map(...given)
  if (isUnsupported(payload)) throw new Error(payload.unsupported)
  return JSON.parse(bodyOf(forAndroid(payload), token)).message
}

function forAndroid({ beforeToken, afterToken }: FcmPayload) {
  if (isUnsupported(afterToken)) throw new Error(afterToken.unsupported)
  return { beforeToken, afterToken }
}

const noTexts = { title: undefined, body: undefined }
const plain = { title: 'Order', body: 'Shipped' }
const high = { priority: 'HIGH', ttl: '3600s' }
const intent = 'intent:#Intent;action=com.example.OPEN;component=com.example/.Order;S.id=1001;S.from=mail;end'

// Against https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages
const golden: [name: string, message: Partial<Message>, expected: object][] = [
  [
    'text: a notification of high priority with the task in tag and data',
    plain,
    { notification: plain, data: { task_id }, android: { ...high, notification: { tag } } },
  ],
  [
    'title alone',
    { title: 'Order', body: undefined },
    { notification: { title: 'Order' }, data: { task_id }, android: { ...high, notification: { tag } } },
  ],
  [
    'big_text is used where body is blank',
    { title: 'Order', body: undefined, bigText: 'A long story' },
    {
      notification: { title: 'Order', body: 'A long story' },
      data: { task_id },
      android: { ...high, notification: { tag } },
    },
  ],
  [
    'big_text gives way to body',
    { ...plain, bigText: 'A long story' },
    { notification: plain, data: { task_id }, android: { ...high, notification: { tag } } },
  ],
  [
    'image: shown by the system, its URL written once',
    { ...plain, type: 'image', attachmentUrl: 'https://cdn.example.com/a.jpg' },
    {
      notification: plain,
      data: { task_id },
      android: { ...high, notification: { image: 'https://cdn.example.com/a.jpg', tag } },
    },
  ],
  [
    'image with an address that is not https: the app gets it in its data',
    { ...plain, type: 'image', attachmentUrl: 'http://cdn.example.com/a.jpg' },
    {
      notification: plain,
      data: { task_id, attachment_url: 'http://cdn.example.com/a.jpg' },
      android: { ...high, notification: { tag } },
    },
  ],
  [
    'image without any text shows under the application’s name',
    { ...noTexts, type: 'image', attachmentUrl: 'https://cdn.example.com/a.jpg' },
    {
      notification: { title: 'Parcel Post' },
      data: { task_id },
      android: { ...high, notification: { image: 'https://cdn.example.com/a.jpg', tag } },
    },
  ],
  [
    'text with an attachment carries the URL for the app alone',
    { ...plain, attachmentUrl: 'https://cdn.example.com/a.mp3' },
    {
      notification: plain,
      data: { task_id, attachment_url: 'https://cdn.example.com/a.mp3' },
      android: { ...high, notification: { tag } },
    },
  ],
  [
    'cmd: data alone, normal priority, no badge',
    { ...noTexts, type: 'cmd', ext: '{"cmd":"sync"}', badge: { kind: 'set', count: 0 } },
    { data: { task_id, type: 'cmd', ext: '{"cmd":"sync"}' }, android: { priority: 'NORMAL', ttl: '3600s' } },
  ],
  [
    'cmd keeps its texts for the app',
    { ...plain, type: 'cmd' },
    { data: { task_id, type: 'cmd', ...plain }, android: { priority: 'NORMAL', ttl: '3600s' } },
  ],
  [
    'cmd keeps big_text beside its body',
    { ...plain, type: 'cmd', bigText: 'A long story' },
    {
      data: { task_id, type: 'cmd', ...plain, big_text: 'A long story' },
      android: { priority: 'NORMAL', ttl: '3600s' },
    },
  ],
  [
    'cmd has big_text once if its body is blank',
    { title: 'Order', body: undefined, type: 'cmd', bigText: 'A long story' },
    {
      data: { task_id, type: 'cmd', title: 'Order', body: 'A long story' },
      android: { priority: 'NORMAL', ttl: '3600s' },
    },
  ],
  [
    'a set badge is an absolute count',
    { ...plain, badge: { kind: 'set', count: 5 } },
    {
      notification: plain,
      data: { task_id },
      android: { ...high, notification: { tag, notification_count: 5 } },
    },
  ],
  [
    'badge 0 is sent in the data',
    { ...plain, badge: { kind: 'set', count: 0 } },
    { notification: plain, data: { task_id, badge: '0' }, android: { ...high, notification: { tag } } },
  ],
  [
    'an added badge is the launcher’s own doing',
    { ...plain, badge: { kind: 'add', count: 3 } },
    { notification: plain, data: { task_id }, android: { ...high, notification: { tag } } },
  ],
  [
    'ext is one string with its digits kept',
    { ...plain, ext: '{"id":9007199254740993}' },
    {
      notification: plain,
      data: { task_id, ext: '{"id":9007199254740993}' },
      android: { ...high, notification: { tag } },
    },
  ],
  [
    'sound and channel come from android',
    { ...plain, android: { sound: 'ping', channelId: 'orders' } },
    {
      notification: plain,
      data: { task_id },
      android: { ...high, notification: { sound: 'ping', channel_id: 'orders', tag } },
    },
  ],
  [
    'a sound of other vendors: without folder and extension',
    { ...plain, android: { sound: '/raw/ping.mp3' } },
    {
      notification: plain,
      data: { task_id },
      android: { ...high, notification: { sound: 'ping', tag } },
    },
  ],
  [
    'the fcm object wins over android',
    { ...plain, android: { sound: 'ping', channelId: 'orders' }, fcm: { sound: 'pong', channelId: 'mail' } },
    {
      notification: plain,
      data: { task_id },
      android: { ...high, notification: { sound: 'pong', channel_id: 'mail', tag } },
    },
  ],
  [
    'open_app needs nothing',
    { ...plain, android: { clickAction: 'open_app' } },
    { notification: plain, data: { task_id }, android: { ...high, notification: { tag } } },
  ],
  [
    'an intent: its action, its extras as data (reserved names prefixed), and the whole for the app',
    { ...plain, android: { clickAction: 'intent', intent } },
    {
      notification: plain,
      data: { id: '1001', x_from: 'mail', intent, task_id },
      android: { ...high, notification: { click_action: 'com.example.OPEN', tag } },
    },
  ],
  [
    'an intent’s extras never take the place of ours',
    {
      ...plain,
      fcm: { clickAction: 'intent', intent: 'intent:#Intent;component=a/b;S.task_id=7;S.k=v;end' },
    },
    {
      notification: plain,
      data: { task_id, k: 'v', intent: 'intent:#Intent;component=a/b;S.task_id=7;S.k=v;end' },
      android: { ...high, notification: { tag } },
    },
  ],
  [
    'show_end_time bounds the ttl and travels for the client',
    { ...plain, showEnd: sampleNow + 90 },
    {
      notification: plain,
      data: { task_id, show_end_time: String(sampleNow + 90) },
      android: { priority: 'HIGH', ttl: '90s', notification: { tag } },
    },
  ],
  [
    'the ios object is not for FCM',
    { ...plain, ios: { sound: 'x', category: 'y', apnsCollapseId: 'z' } },
    { notification: plain, data: { task_id }, android: { ...high, notification: { tag } } },
  ],
]

describe('an FCM message', () => {
  it.each(golden)('%s', (_name, message, expected) => {
    expect(messageOf(message)).toEqual({ token, ...expected })
  })

  it.each(golden)('is taken by the send API: %s', (_name, message) => {
    const body = JSON.stringify({ message: messageOf(message) })
    expect(readMessage(body)).toMatchObject({ message: { token } })
  })

  it.each([
    ['in full', 3600, '3600s'],
    ['at most four weeks', 40 * 86_400, '2419200s'],
    ['now or never', 0, '0s'],
  ])('lives as long as its ttl: %s', (_name, ttl, expected) => {
    expect(messageOf(plain, { ttl }).android.ttl).toBe(expected)
  })

  it('is restricted to the package of the certificate', () => {
    const own = fcm.readSettings(
      accountCertificate(newAccountKey(), { extra: { package_name: 'com.example' } }),
    )
    expect(messageOf(plain, {}, own).android.restricted_package_name).toBe('com.example')
  })

  it('writes a token safely into JSON', () => {
    const payload = map(plain)
    if (isUnsupported(payload)) throw new Error(payload.unsupported)
    expect(JSON.parse(bodyOf(forAndroid(payload), '","topic":"all')).message).toMatchObject({
      token: '","topic":"all',
    })
  })
})

describe('fields of FCM', () => {
  it('are written as Google names them', () => {
    const message = messageOf({
      ...plain,
      url: 'https://example.com/1',
      foreground: 'hide',
      collapseKey: 'order-1',
      fcm: {
        priority: 'normal',
        collapseKey: 'orders',
        analyticsLabel: 'spring',
        icon: 'parcel',
        color: '#12ab34',
      },
    })
    expect(message).toMatchObject({
      data: { task_id, url: 'https://example.com/1', foreground: 'hide' },
      fcm_options: { analytics_label: 'spring' },
      android: {
        priority: 'NORMAL',
        collapse_key: 'orders',
        notification: { icon: 'parcel', color: '#12ab34', tag: 'order-1' },
      },
    })
  })

  it.each<[string, Partial<Message>, string]>([
    ['a command', { type: 'cmd' }, 'NORMAL'],
    ['an urgent command', { type: 'cmd', urgent: true }, 'HIGH'],
    ['a command of high priority', { type: 'cmd', fcm: { priority: 'HIGH' } }, 'HIGH'],
    ['a text', {}, 'HIGH'],
  ])('%s has its priority', (_name, message, priority) => {
    expect(messageOf(message).android.priority).toBe(priority)
  })

  it.each<[object, object, string, string]>([
    [{ icon: 'x' }, { type: 'cmd' }, 'icon', 'type is cmd'],
    [{ color: '#000000' }, { type: 'cmd' }, 'color', 'type is cmd'],
    [{ priority: 'normal' }, { urgent: true }, 'priority', 'urgent'],
  ])('%j with %j is refused', (fields, message, field, named) => {
    expect(card.message.check(fields as never, message as never)).toEqual({
      field,
      problem: expect.stringContaining(named),
    })
  })
})

describe('an iPhone with a token of FCM', () => {
  function iosOf(...given: Parameters<typeof map>) {
    const payload = map(...given)
    if (isUnsupported(payload)) throw new Error(payload.unsupported)
    const afterToken = payload.ios()
    if (typeof afterToken !== 'string') return afterToken
    const body = bodyOf({ ...payload, afterToken }, token)
    expect(readMessage(body)).toHaveProperty('message')
    return JSON.parse(body).message
  }
  const headers = {
    'apns-push-type': 'alert',
    'apns-priority': '10',
    'apns-expiration': String(sampleNow + 3600),
    'apns-collapse-id': tag,
  }

  it('gets Apple’s payload, made from the ios fields', () => {
    expect(
      iosOf({
        ...plain,
        badge: { kind: 'set', count: 5 },
        ext: '{"id":1}',
        url: 'https://example.com/1',
        ios: {
          sound: 'ping.caf',
          threadId: 'orders',
          category: 'ORDER',
          subtitle: '#1001',
          contentAvailable: true,
          interruptionLevel: 'time-sensitive',
          apnsCollapseId: 'größe',
        },
        fcm: { analyticsLabel: 'spring' },
      }),
    ).toEqual({
      token,
      data: { task_id, ext: '{"id":1}', url: 'https://example.com/1' },
      fcm_options: { analytics_label: 'spring' },
      apns: {
        headers: { ...headers, 'apns-collapse-id': createHash('sha256').update('größe').digest('hex') },
        payload: {
          aps: {
            alert: { title: 'Order', subtitle: '#1001', body: 'Shipped' },
            sound: 'ping.caf',
            badge: 5,
            'content-available': 1,
            category: 'ORDER',
            'thread-id': 'orders',
            'interruption-level': 'time-sensitive',
          },
        },
      },
    })
  })

  it('gets a command as a background push', () => {
    expect(iosOf({ type: 'cmd', title: 'a', body: undefined, badge: { kind: 'set', count: 1 } })).toEqual({
      token,
      data: { task_id, type: 'cmd', title: 'a' },
      apns: {
        headers: { ...headers, 'apns-push-type': 'background', 'apns-priority': '5' },
        payload: { aps: { 'content-available': 1 } },
      },
    })
  })

  it('gets all texts of a command', () => {
    const data = { task_id, type: 'cmd', ...plain, big_text: 'A long story' }
    expect(iosOf({ ...plain, type: 'cmd', bigText: 'A long story' }).data).toEqual(data)
  })

  it('shows a picture through the extension of the app', () => {
    const attachmentUrl = 'https://cdn.example.com/a.jpg'
    expect(iosOf({ ...plain, type: 'image', attachmentUrl }).apns).toMatchObject({
      payload: { aps: { 'mutable-content': 1 } },
      fcm_options: { image: attachmentUrl },
    })
  })

  it('gets the address of a picture in its data if it is not https', () => {
    const attachmentUrl = 'http://cdn.example.com/a.jpg'
    const { apns, data } = iosOf({ ...plain, type: 'image', attachmentUrl })
    expect(apns).not.toHaveProperty('fcm_options')
    expect(data).toEqual({ task_id, attachment_url: attachmentUrl })
  })

  it.each<[string, Partial<Message>, object]>([
    [
      'texts that only iPhones have',
      { ...noTexts, ios: { titleLocKey: 'T', locKey: 'B' } },
      { apns: { payload: { aps: { alert: { 'title-loc-key': 'T', 'loc-key': 'B' } } } } },
    ],
    [
      'a background push',
      { ...noTexts, ios: { pushType: 'background' } },
      { apns: { headers: { 'apns-push-type': 'background' } } },
    ],
  ])('gets %s, which Android cannot show', (_name, message, expected) => {
    expect(iosOf(message)).toMatchObject(expected)
    expect(() => messageOf(message)).toThrow('FCM needs a title or a body')
  })

  it('keeps ext that only Android has no room for', () => {
    const ext = JSON.stringify({ x: 'y'.repeat(2500) })
    const long = `intent:#Intent;component=com.example/.${'i'.repeat(2000)};end`
    const wide = { ...plain, ext, android: { clickAction: 'intent', intent: long } } as const
    expect(messageOf(wide).data).not.toHaveProperty('ext')
    expect(iosOf(wide).data).toHaveProperty('ext', ext)
  })

  it('has its texts cut to the size that Apple allows, the picture first', () => {
    const attachmentUrl = `https://cdn.example.com/${'x'.repeat(1500)}`
    const { apns, data } = iosOf({ ...plain, type: 'image', attachmentUrl, body: 'b'.repeat(5000) })
    expect(apns).not.toHaveProperty('fcm_options')
    expect(apns.payload.aps.alert.body).toMatch(/^b{3000,}…$/)
    expect(Buffer.byteLength(JSON.stringify({ ...data, ...apns.payload }))).toBeLessThanOrEqual(4096)
  })

  it.each<[string, Partial<Message>]>([
    ['voip', { ios: { pushType: 'voip' } }],
    ['liveactivity', { ios: { liveActivity: { event: 'update', content_state: '{}' } } }],
  ])('gets no push of the type %s', (type, message) => {
    expect(iosOf(message)).toEqual({ unsupported: expect.stringContaining(type) })
  })
})

describe('what FCM cannot carry', () => {
  it('is a text or badge without texts', () => {
    expect(map({ ...noTexts, badge: { kind: 'set', count: 3 } })).toEqual({
      unsupported: expect.stringContaining('needs a title or a body'),
    })
  })

  it.each([
    ['plain', 'x'],
    ['three bytes each', '推'],
    ['surrogate pairs', '🎉'],
  ])('cuts a body that is too long, counted in bytes: %s', (_name, character) => {
    const { notification } = messageOf({ title: 'Order', body: character.repeat(5000) })
    expect(notification?.body).toMatch(new RegExp(`^(${character})+…$`, 'u'))
    const bytes = Buffer.byteLength(notification!.body!)
    expect(bytes).toBeGreaterThan(3900)
    expect(bytes).toBeLessThanOrEqual(4000)
    expect(notification?.title).toBe('Order')
  })

  it('cuts the title after the body', () => {
    const { notification } = messageOf({ title: 't'.repeat(5000), body: 'b'.repeat(5000) })
    expect(notification?.body).toBe('…')
    expect(notification?.title).toMatch(/^t{3800,}…$/)
  })

  it('leaves out the picture before it cuts a text', () => {
    const attachmentUrl = `https://cdn.example.com/${'x'.repeat(2000)}`
    const image = { ...plain, type: 'image', attachmentUrl } as const
    expect(messageOf(image).android.notification?.image).toBe(attachmentUrl)
    const long = { ...image, body: 'b'.repeat(2500) }
    const { notification, data, android } = messageOf(long)
    expect(notification?.body).toBe(long.body)
    expect([android.notification?.image, data.attachment_url]).toEqual([undefined, undefined])
  })

  it.each([[plain], [noTexts]])(
    'is a picture that Google refuses: the address is in the data then, %j',
    (texts) => {
      const attachmentUrl = 'https://cdn.example.com/a.jpg'
      const payload = map({ ...texts, type: 'image', attachmentUrl })
      const reduced = isUnsupported(payload) ? payload : payload.withoutPicture?.()
      if (!reduced || isUnsupported(reduced)) throw new Error('there is nothing left to send')
      const message = JSON.parse(bodyOf(forAndroid(reduced), token)).message
      expect(message.notification).toEqual(texts === plain ? plain : { title: 'Parcel Post' })
      expect(message.android.notification).not.toHaveProperty('image')
      expect(message.data.attachment_url).toBe(attachmentUrl)
      const ios = JSON.parse(bodyOf({ ...reduced, afterToken: reduced.ios() as string }, token)).message
      expect(ios.apns).not.toHaveProperty('fcm_options')
      expect(ios.data.attachment_url).toBe(attachmentUrl)
      expect(reduced).not.toHaveProperty('withoutPicture')
      expect(map(plain)).not.toHaveProperty('withoutPicture')
    },
  )

  it.each([
    ['opens by its action only', intent, 'component='],
    ['never opens without an action', 'intent:#Intent;component=a/b;end', 'start page'],
  ])('is an intent that %s', (_name, uri, said) => {
    const message = { ...plain, android: { clickAction: 'intent', intent: uri } } as const
    expect(notes(sampleTask(message))).toEqual([expect.stringContaining(said)])
  })

  it('is the badge 0', () => {
    const message = { ...plain, badge: { kind: 'set', count: 0 } } as const
    expect(notes(sampleTask(message))).toEqual([expect.stringContaining('badge')])
    expect(notes(sampleTask(plain))).toEqual([])
    const picture = { ...plain, type: 'image', attachmentUrl: 'https://cdn.example.com/a.jpg' } as const
    expect(notes(sampleTask(picture))).toEqual([])
    expect(notes(sampleTask({ ...picture, attachmentUrl: 'http://cdn.example.com/a.jpg' }))).toEqual([
      'FCM shows pictures with an https address only; this one is sent in the data.',
    ])
    expect(notes(sampleTask({ ...plain, ios: { pushType: 'voip' } }))).toEqual([
      'FCM sends no pushes of the type voip to iPhones.',
    ])
  })

  it('is sent without ext if that alone is too large, unless ext is all that it has', () => {
    const ext = JSON.stringify({ x: 'y'.repeat(4000) })
    expect(messageOf({ ...plain, ext })).toMatchObject({ notification: plain, data: { task_id } })
    expect(messageOf({ ...plain, ext }).data).not.toHaveProperty('ext')
    expect(map({ ...plain, type: 'cmd', ext })).toMatchObject({
      unsupported: expect.stringContaining('4000 bytes'),
    })
  })
})
