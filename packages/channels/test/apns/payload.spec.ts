import { createHash } from 'node:crypto'
import type { Message } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import { type ApnsPayload, bodyOf, mapPayload } from '../../src/apns/payload.ts'
import { isUnsupported, type Task } from '../../src/channel.ts'
import { sampleNow, sampleTask } from '../samples.ts'

const taskId = 4503599627370497
const task_id = String(taskId)

function payloadOf(message: Partial<Message>, over: Partial<Omit<Task, 'message'>> = {}): ApnsPayload {
  const payload = mapPayload(sampleTask(message, over))
  if (isUnsupported(payload)) throw new Error(payload.unsupported)
  return payload
}

const noTexts = { title: undefined, body: undefined }

type Golden = [name: string, message: Partial<Message>, badge: number | undefined, body: object]

// Against https://developer.apple.com/documentation/usernotifications/generating-a-remote-notification
const bodies: Golden[] = [
  [
    'text: title and body in an alert object, the badge of the device',
    { title: 'Order', body: 'Shipped' },
    6,
    { aps: { badge: 6, alert: { title: 'Order', body: 'Shipped' } }, task_id },
  ],
  [
    'text for a recipient without a badge leaves it unchanged',
    { title: 'Order', body: 'Shipped' },
    undefined,
    { aps: { alert: { title: 'Order', body: 'Shipped' } }, task_id },
  ],
  [
    'badge 0 clears',
    { title: 'Order', body: 'Shipped' },
    0,
    { aps: { badge: 0, alert: { title: 'Order', body: 'Shipped' } }, task_id },
  ],
  [
    'body alone',
    { title: undefined, body: 'Shipped' },
    undefined,
    { aps: { alert: { body: 'Shipped' } }, task_id },
  ],
  [
    'big_text is used where body is blank',
    { title: 'Order', body: undefined, bigText: 'A long story' },
    undefined,
    { aps: { alert: { title: 'Order', body: 'A long story' } }, task_id },
  ],
  [
    'big_text gives way to body',
    { title: 'Order', body: 'Shipped', bigText: 'A long story' },
    undefined,
    { aps: { alert: { title: 'Order', body: 'Shipped' } }, task_id },
  ],
  [
    'every ios field',
    {
      title: 'Order',
      body: 'Shipped',
      ios: {
        sound: 'ping.caf',
        contentAvailable: true,
        mutableContent: true,
        category: 'ORDER',
        threadId: 'orders',
        subtitle: '#1001',
      },
    },
    1,
    {
      aps: {
        badge: 1,
        alert: { title: 'Order', subtitle: '#1001', body: 'Shipped' },
        sound: 'ping.caf',
        'content-available': 1,
        'mutable-content': 1,
        category: 'ORDER',
        'thread-id': 'orders',
      },
      task_id,
    },
  ],
  [
    'false flags are left out',
    { title: 'a', body: undefined, ios: { contentAvailable: false, mutableContent: false } },
    undefined,
    { aps: { alert: { title: 'a' } }, task_id },
  ],
  [
    'image: URL beside aps, and the service extension is woken',
    { type: 'image', title: 'Sale', body: 'Now on', attachmentUrl: 'https://cdn.example.com/a.jpg' },
    2,
    {
      aps: { badge: 2, alert: { title: 'Sale', body: 'Now on' }, 'mutable-content': 1 },
      task_id,
      attachment_url: 'https://cdn.example.com/a.jpg',
    },
  ],
  [
    'image without any text shows under the application’s name',
    { type: 'image', ...noTexts, attachmentUrl: 'https://cdn.example.com/a.jpg' },
    undefined,
    {
      aps: { alert: { title: 'Parcel Post' }, 'mutable-content': 1 },
      task_id,
      attachment_url: 'https://cdn.example.com/a.jpg',
    },
  ],
  [
    'text with an attachment carries it too',
    { title: 'Song', body: 'Listen', attachmentUrl: 'https://cdn.example.com/a.mp3' },
    undefined,
    {
      aps: { alert: { title: 'Song', body: 'Listen' }, 'mutable-content': 1 },
      task_id,
      attachment_url: 'https://cdn.example.com/a.mp3',
    },
  ],
  ['badge and nothing else', noTexts, 5, { aps: { badge: 5 }, task_id }],
  ['nothing to show and no badge', noTexts, undefined, { aps: {}, task_id }],
  [
    'cmd: silent, never a badge, sound or alert',
    { type: 'cmd', ...noTexts, ext: '{"cmd":"sync"}', ios: { sound: 'ping.caf', mutableContent: true } },
    9,
    { aps: { 'content-available': 1 }, task_id, ext: { cmd: 'sync' } },
  ],
  [
    'cmd keeps its texts for the app',
    { type: 'cmd', title: 'Order', body: 'Shipped' },
    undefined,
    { aps: { 'content-available': 1 }, task_id, title: 'Order', body: 'Shipped' },
  ],
  [
    'cmd keeps big_text beside its body',
    { type: 'cmd', title: 'Order', body: 'Shipped', bigText: 'A long story' },
    undefined,
    { aps: { 'content-available': 1 }, task_id, title: 'Order', body: 'Shipped', big_text: 'A long story' },
  ],
  [
    'cmd has big_text once if its body is blank',
    { type: 'cmd', title: 'Order', body: undefined, bigText: 'A long story' },
    undefined,
    { aps: { 'content-available': 1 }, task_id, title: 'Order', body: 'A long story' },
  ],
  [
    'show_end_time travels for the client',
    { title: 'a', body: 'b', showEnd: sampleNow + 60 },
    undefined,
    { aps: { alert: { title: 'a', body: 'b' } }, task_id, show_end_time: sampleNow + 60 },
  ],
  [
    'android and vendor objects are not for APNs',
    { title: 'a', body: 'b', android: { sound: 'x', channelId: 'y' }, fcm: { sound: 'z' } },
    undefined,
    { aps: { alert: { title: 'a', body: 'b' } }, task_id },
  ],
]

describe('the body of an APNs notification', () => {
  it.each(bodies)('%s', (_name, message, badge, expected) => {
    expect(JSON.parse(bodyOf(payloadOf(message), badge))).toEqual(expected)
  })

  it('keeps the digits of ext', () => {
    const body = bodyOf(payloadOf({ ext: '{"id":9007199254740993,"price":1.10}' }), 1)
    expect(body).toContain('"ext":{"id":9007199254740993,"price":1.10}')
  })
})

describe('the headers of an APNs notification', () => {
  const rest = { beforeBadge: expect.any(String), afterBadge: expect.any(String) }
  const expiresIn = (seconds: number) => String(sampleNow + seconds)

  it.each<[string, Partial<Message>, Partial<Omit<Task, 'message'>>, Partial<ApnsPayload>]>([
    ['text is an alert at once', {}, {}, { pushType: 'alert', priority: '10' }],
    [
      'image is an alert at once',
      { type: 'image', attachmentUrl: 'https://x.example/a.png' },
      {},
      { pushType: 'alert', priority: '10' },
    ],
    [
      'cmd is a background push of priority 5',
      { type: 'cmd' },
      {},
      { pushType: 'background', priority: '5' },
    ],
    [
      'a text that also wakes the app stays an alert',
      { ios: { contentAvailable: true } },
      {},
      { pushType: 'alert', priority: '10' },
    ],
    ['the replace-key is the task', {}, {}, { collapseId: `t${taskId}` }],
    ['unless the caller names one', { ios: { apnsCollapseId: 'promo 7' } }, {}, { collapseId: 'promo 7' }],
    ['ttl counts from now', {}, { ttl: 3600 }, { expiration: expiresIn(3600) }],
    ['ttl is at most 30 days', {}, { ttl: 40 * 86_400 }, { expiration: expiresIn(30 * 86_400) }],
    ['ttl 0 is now or never', {}, { ttl: 0 }, { expiration: '0' }],
    ['the show window ends it', { showEnd: sampleNow + 90 }, { ttl: 3600 }, { expiration: expiresIn(90) }],
    [
      'ttl ends it before the window',
      { showEnd: sampleNow + 9000 },
      { ttl: 60 },
      { expiration: expiresIn(60) },
    ],
    ['a window that is over is now or never', { showEnd: sampleNow - 1 }, {}, { expiration: '0' }],
  ])('%s', (_name, message, over, expected) => {
    expect(payloadOf(message, over)).toEqual({ ...payloadOf(message, over), ...rest, ...expected })
  })
})

describe('fields of an alert', () => {
  it('are written as Apple names them', () => {
    const payload = payloadOf({
      ...noTexts,
      url: 'https://example.com/1001',
      foreground: 'hide',
      ios: {
        critical: { volume: 0.5 },
        sound: 'siren.caf',
        interruptionLevel: 'critical',
        relevanceScore: 0.25,
        targetContentId: 'orders',
        filterCriteria: 'work',
        titleLocKey: 'TITLE',
        titleLocArgs: ['1001'],
        locKey: 'BODY',
        locArgs: ['a', 'b'],
      },
    })
    expect(JSON.parse(bodyOf(payload, 3))).toEqual({
      aps: {
        badge: 3,
        alert: {
          'title-loc-key': 'TITLE',
          'title-loc-args': ['1001'],
          'loc-key': 'BODY',
          'loc-args': ['a', 'b'],
        },
        sound: { critical: 1, name: 'siren.caf', volume: 0.5 },
        'interruption-level': 'critical',
        'relevance-score': 0.25,
        'target-content-id': 'orders',
        'filter-criteria': 'work',
      },
      task_id,
      url: 'https://example.com/1001',
      foreground: 'hide',
    })
  })

  it('a key takes the place of the text', () => {
    const { alert } = JSON.parse(bodyOf(payloadOf({ ios: { locKey: 'BODY' } }), 1)).aps
    expect(alert).toEqual({ title: 'Order shipped', 'loc-key': 'BODY' })
  })
})

describe('push types', () => {
  const custom = { task_id, ext: { domain: 'documents' } }
  const texts = { title: 'Order shipped', body: 'Parcel 123 is on its way' }
  type Type = NonNullable<Message['ios']['pushType']>
  const expected: [Type, priority: string, urgentPriority: string, body: object][] = [
    ['alert', '10', '10', { aps: { alert: texts }, ...custom }],
    ['background', '5', '5', { aps: { 'content-available': 1 }, ...custom, ...texts }],
    ['voip', '10', '10', { aps: {}, ...custom, ...texts }],
    ['widgets', '5', '10', { aps: { 'content-changed': true }, ...custom, ...texts }],
    ['controls', '10', '10', { aps: { 'content-changed': true }, ...custom, ...texts }],
    ['location', '10', '10', { aps: {}, ...custom, ...texts }],
    ['pushtotalk', '10', '10', { aps: {}, ...custom, ...texts }],
    ['complication', '5', '10', { aps: {}, ...custom, ...texts }],
    [
      'fileprovider',
      '5',
      '10',
      {
        'container-identifier': 'NSFileProviderWorkingSetContainerItemIdentifier',
        domain: 'documents',
        task_id,
      },
    ],
  ]
  it.each(expected)('%s', (pushType, priority, urgentPriority, body) => {
    const message = { ext: '{"domain":"documents"}', ios: { pushType } }
    const payload = payloadOf(message)
    expect(payload).toMatchObject({ pushType, priority })
    expect(JSON.parse(bodyOf(payload, pushType === 'alert' ? undefined : 4))).toEqual(body)
    expect(payloadOf({ ...message, urgent: true }).priority).toBe(urgentPriority)
  })

  it.each(expected)('%s merges with its repetition', (pushType) => {
    const message = { ext: '{"domain":"documents"}', ios: { pushType } }
    expect(payloadOf(message).collapseId).toBe(`t${taskId}`)
    expect(payloadOf({ ...message, collapseKey: 'call 7' }).collapseId).toBe('call 7')
  })

  it('allow VoIP pushes 5120 bytes', () => {
    const body = 'b'.repeat(4500)
    const written = bodyOf(payloadOf({ body, ios: { pushType: 'voip' } }), undefined)
    expect(JSON.parse(written).body).toBe(body)
    const long = bodyOf(payloadOf({ body: 'b'.repeat(6000), ios: { pushType: 'voip' } }), undefined)
    expect(Buffer.byteLength(long)).toBeGreaterThan(5000)
    expect(Buffer.byteLength(long)).toBeLessThanOrEqual(5120)
  })

  it('that need a signing key are not sent with a push certificate', () => {
    const auth = { kind: 'certificate', cert: '', key: '', expiresAt: 0 } as const
    for (const pushType of ['location', 'liveactivity'] as const)
      expect(mapPayload(sampleTask({ ios: { pushType } }), { auth })).toEqual({
        unsupported: expect.stringContaining('signing key'),
      })
    expect(mapPayload(sampleTask({}), { auth })).not.toHaveProperty('unsupported')
  })

  it('push to talk and updates of controls are never stored', () => {
    for (const pushType of ['pushtotalk', 'controls'] as const)
      expect(payloadOf({ ios: { pushType } }).expiration).toBe('0')
  })
})

describe('a Live Activity', () => {
  const update = { event: 'update', content_state: '{"id":9007199254740993}' } as const
  const of = (liveActivity: Message['ios']['liveActivity'], over: Partial<Message> = {}) =>
    payloadOf({ ...noTexts, ...over, ios: { liveActivity } })

  it('has the timestamp of the recipient, otherwise that of the caller, otherwise the time', () => {
    expect(bodyOf(of(update), 7, 1_790_000_001)).toBe(
      `{"aps":{"timestamp":1790000001,"event":"update","content-state":{"id":9007199254740993}},"task_id":"${task_id}"}`,
    )
    expect(JSON.parse(bodyOf(of({ ...update, timestamp: 1_790_000_000 }), 7)).aps.timestamp).toBe(
      1_790_000_000,
    )
    expect(JSON.parse(bodyOf(of(update), 7)).aps.timestamp).toBe(sampleNow)
  })

  it('has priority 5, and 10 if it is urgent, alerts or starts', () => {
    expect(of(update).priority).toBe('5')
    expect(of(update, { urgent: true }).priority).toBe('10')
    expect(of({ ...update, alert: { title: 'a', body: 'b' } }).priority).toBe('10')
    expect(of({ ...update, event: 'start' }).priority).toBe('10')
  })

  it('has no collapse id unless the caller gives one or it starts', () => {
    expect(of(update)).not.toHaveProperty('collapseId')
    expect(of({ event: 'end' })).not.toHaveProperty('collapseId')
    expect(of(update, { collapseKey: 'order' }).collapseId).toBe('order')
    expect(of({ ...update, event: 'start' }).collapseId).toBe(`t${taskId}`)
  })

  it('is unsupported when it is too large: its content cannot be cut', () => {
    const content_state = JSON.stringify({ text: 'x'.repeat(4096) })
    const task = sampleTask({ ...noTexts, ios: { liveActivity: { ...update, content_state } } })
    expect(mapPayload(task)).toMatchObject({ unsupported: expect.stringContaining('4096 bytes') })
  })
})

describe('the collapse id', () => {
  it.each([
    ['letters outside ASCII', 'größe'],
    ['a line break', 'a\nb'],
    ['more than 64 bytes', 'x'.repeat(65)],
    ['a blank at its end', 'x '],
  ])('is sent as its SHA-256 if it has %s', (_name, apnsCollapseId) => {
    const { collapseId } = payloadOf({ ios: { apnsCollapseId } })
    expect(collapseId).toBe(createHash('sha256').update(apnsCollapseId).digest('hex'))
    expect(collapseId).toHaveLength(64)
  })
})

describe('what APNs cannot carry', () => {
  const size = (payload: ApnsPayload) => Buffer.byteLength(bodyOf(payload, Number.MAX_SAFE_INTEGER))

  it.each([
    ['plain', 'x'],
    ['three bytes each', '推'],
    ['surrogate pairs', '🎉'],
    ['escaped in JSON', '"'],
    ['control characters, six bytes each', '\u0001'],
  ])('cuts a body that is too long, counted in encoded bytes: %s', (_name, character) => {
    const payload = payloadOf({ body: character.repeat(5000), ext: '{"a":1}' })
    expect(size(payload)).toBeLessThanOrEqual(4096)
    expect(size(payload)).toBeGreaterThan(4096 - 16)
    const { aps, ext } = JSON.parse(bodyOf(payload, 1))
    expect(aps.alert.body).toMatch(new RegExp(`^(${character === '"' ? '"' : character})+…$`, 'u'))
    expect(aps.alert.title).toBe('Order shipped')
    expect(ext).toEqual({ a: 1 })
  })

  it('does not cut a body that just fits', () => {
    const room = 4096 - size(payloadOf({ body: 'x' }))
    const body = 'x'.repeat(1 + room)
    expect(JSON.parse(bodyOf(payloadOf({ body }), 1)).aps.alert.body).toBe(body)
    expect(JSON.parse(bodyOf(payloadOf({ body: `${body}x` }), 1)).aps.alert.body).toMatch(/x…$/)
  })

  it('cuts the title after the body', () => {
    const payload = payloadOf({ title: 't'.repeat(5000), body: 'b'.repeat(5000) })
    const { alert } = JSON.parse(bodyOf(payload, 1)).aps
    expect(alert.body).toBe('…')
    expect(alert.title).toMatch(/^t{3000,}…$/)
    expect(size(payload)).toBeLessThanOrEqual(4096)
  })

  it('leaves out the picture before it cuts a text', () => {
    const attachmentUrl = `https://cdn.example.com/${'x'.repeat(2000)}`
    const message = { type: 'image', body: 'b'.repeat(2500), attachmentUrl } as const
    const { aps, ...custom } = JSON.parse(bodyOf(payloadOf(message), 1))
    expect(aps.alert.body).toBe(message.body)
    expect(aps).not.toHaveProperty('mutable-content')
    expect(custom).not.toHaveProperty('attachment_url')
    const short = { ...message, body: 'short' }
    expect(JSON.parse(bodyOf(payloadOf(short), 1))).toMatchObject({
      aps: { 'mutable-content': 1 },
      attachment_url: attachmentUrl,
    })
  })

  it('is sent without the picture if only that makes it too large', () => {
    const attachmentUrl = `https://cdn.example.com/${'x'.repeat(1500)}`
    const payload = payloadOf({
      type: 'image',
      attachmentUrl,
      ext: JSON.stringify({ x: 'y'.repeat(2600) }),
    })
    const { aps, attachment_url } = JSON.parse(bodyOf(payload, 1))
    expect([aps.alert.title, attachment_url]).toEqual(['Order shipped', undefined])
  })

  it('is sent without ext if that alone is too large', () => {
    const ext = JSON.stringify({ x: 'y'.repeat(4096) })
    const { aps, ext: sent } = JSON.parse(bodyOf(payloadOf({ ext }), 1))
    expect([aps.alert.title, sent]).toEqual(['Order shipped', undefined])
  })

  it('is unsupported if it is a command whose big_text is too large', () => {
    expect(mapPayload(sampleTask({ type: 'cmd', bigText: 'y'.repeat(4096) }))).toMatchObject({
      unsupported: expect.stringContaining('4096 bytes'),
    })
  })

  it('is unsupported if ext is the content and too large', () => {
    const ext = JSON.stringify({ domain: 'd', x: 'y'.repeat(5120) })
    for (const message of [
      { type: 'cmd' as const },
      { ios: { pushType: 'voip' as const } },
      { ios: { pushType: 'fileprovider' as const } },
    ])
      expect(mapPayload(sampleTask({ ...message, ext }))).toMatchObject({
        unsupported: expect.stringMatching(/(4096|5120) bytes/),
      })
  })
})
