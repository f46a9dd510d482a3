import { type Message, parseVerbatim } from '@herald/domain'
import { type ApnsSimulator, startApnsSimulator } from '@herald/simulators/apns'
import { sampleMessage } from '@herald/testkit/sample-message'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { adapter as apns } from '../../src/apns/channel.ts'
import { isUnsupported, type Recipient } from '../../src/channel.ts'
import { sampleDeps, sampleTask, sampleUrls } from '../samples.ts'
import { keyId, newSigningKey, teamId, tokenCertificate } from './credentials.ts'

const token = 'c0ffee'.padEnd(64, '1')
const compared = [
  ':method',
  ':path',
  ':scheme',
  ':authority',
  'apns-topic',
  'apns-push-type',
  'apns-priority',
  'apns-expiration',
  'apns-collapse-id',
]

const messages = {
  'a text with everything': sampleMessage({
    badge: { kind: 'set', count: 5 },
    ext: '{"order_id":9007199254740993,"note":"größer"}',
    showEnd: 1_760_003_000,
    ios: {
      sound: 'ping.caf',
      contentAvailable: true,
      mutableContent: true,
      category: 'ORDER',
      threadId: 'orders',
      subtitle: '#1001',
      apnsCollapseId: 'order-1001',
    },
  }),
  'a picture': sampleMessage({ type: 'image', attachmentUrl: 'https://cdn.example.com/a.jpg' }),
  'a command': sampleMessage({ type: 'cmd', title: undefined, body: undefined, ext: '{"cmd":"sync"}' }),
  'an alert with the rarer fields': sampleMessage({
    title: undefined,
    body: undefined,
    url: 'https://example.com/orders/1001',
    foreground: 'hide',
    ios: {
      priority: 5,
      critical: { name: 'siren.caf', volume: 0.5 },
      interruptionLevel: 'critical',
      relevanceScore: 0.75,
      targetContentId: 'orders',
      filterCriteria: 'work',
      titleLocKey: 'ORDER_TITLE',
      titleLocArgs: ['1001'],
      locKey: 'ORDER_BODY',
      locArgs: ['Carol', '2'],
    },
  }),
  'the start of a Live Activity': activity({
    event: 'start',
    content_state: '{"stage":"accepted","id":9007199254740993}',
    attributes_type: 'OrderAttributes',
    attributes: '{"orderId":9007199254740993}',
    alert: { title: 'Order 1001', body: 'Accepted', sound: 'ping.caf' },
  }),
  'an update of a Live Activity': activity({
    event: 'update',
    content_state: '{"stage":"baking","minutes":12}',
    timestamp: 1_790_000_000,
    stale_date: 1_790_003_600,
  }),
  'the end of a Live Activity': activity({ event: 'end', dismissal_date: 1_790_007_200 }),
  ...Object.fromEntries(
    (['voip', 'widgets', 'controls', 'location', 'pushtotalk', 'complication', 'fileprovider'] as const).map(
      (pushType) => [
        `a push of the type ${pushType}`,
        sampleMessage({ ext: '{"domain":"documents"}', ios: { pushType } }),
      ],
    ),
  ),
}

function activity(liveActivity: Message['ios']['liveActivity']) {
  return sampleMessage({ title: undefined, body: undefined, ios: { liveActivity, relevanceScore: 75 } })
}

describe('our APNs transport and the library', () => {
  const key = newSigningKey()
  let simulator: ApnsSimulator

  beforeAll(async () => {
    simulator = await startApnsSimulator({ keys: [{ keyId, teamId, key }], strict: true })
  })
  afterAll(() => simulator.close())

  const open = (client: 'own' | 'reference') =>
    apns.open(
      apns.readSettings(tokenCertificate(key)),
      sampleDeps({ client, urls: sampleUrls({ apns: simulator.url }), ca: simulator.ca }),
    )

  async function outcomesOf(client: 'own' | 'reference', message: object, recipients: Recipient[]) {
    const payload = apns.mapPayload(sampleTask(message), apns.readSettings(tokenCertificate(key)))
    if (isUnsupported(payload)) throw new Error(payload.unsupported)
    const transport = open(client)
    const kinds: string[] = []
    try {
      await transport.send(payload, recipients, {
        signal: new AbortController().signal,
        report: (index, { kind }) => {
          kinds[index] = kind
        },
      })
    } finally {
      await transport.close()
    }
    return kinds
  }

  for (const [name, message] of Object.entries(messages))
    it(`send ${name} as the same request`, async () => {
      const recipient = { deviceId: 1, token, badge: 7 }
      for (const client of ['reference', 'own'] as const)
        expect(await outcomesOf(client, message, [recipient])).toEqual(['accepted'])
      const [theirs, ours] = simulator.received().slice(-2)
      for (const header of compared)
        expect([header, ours!.headers[header]]).toEqual([header, theirs!.headers[header]])
      expect(readBearer(ours!.headers.authorization)).toEqual(readBearer(theirs!.headers.authorization))
      expect(sorted(parseVerbatim(ours!.body))).toEqual(sorted(parseVerbatim(theirs!.body)))
    })

  it('read replies in the same way', async () => {
    const recipients = [
      token,
      'dead'.repeat(16),
      'badbadbadbadbad0'.repeat(4),
      '5030'.repeat(16),
      '4290'.repeat(16),
    ].map((each, index) => ({ deviceId: index, token: each, badge: 1 }))
    const theirs = await outcomesOf('reference', {}, recipients)
    expect(await outcomesOf('own', {}, recipients)).toEqual(theirs)
    expect(theirs).toEqual(['accepted', 'gone', 'gone', 'unavailable', 'throttled'])
  })

  it('check a credential in the same way', async () => {
    const transport = open('reference')
    expect(await transport.check(new AbortController().signal)).toEqual({ ok: true })
    await transport.close()
  })
})

/** Issuer and key of a provider token; its time and signature always differ. */
function readBearer(authorization: string | undefined) {
  const [head, claims] = (authorization ?? '').replace(/^bearer /, '').split('.')
  const part = (text = '') => JSON.parse(Buffer.from(text, 'base64url').toString())
  return { alg: part(head).alg, kid: part(head).kid, iss: part(claims).iss }
}

/** Order of keys has no meaning in JSON, digits of numbers do. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_key, item) =>
    item && typeof item === 'object' && !Array.isArray(item) && !('rawJSON' in item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  )
}
