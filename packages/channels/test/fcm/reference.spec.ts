import { type FcmSimulator, startFcmSimulator } from '@herald/simulators/fcm'
import { sampleMessage } from '@herald/testkit/sample-message'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { isUnsupported, type Recipient } from '../../src/channel.ts'
import { adapter as fcm } from '../../src/fcm/channel.ts'
import { sampleDeps, sampleTask, sampleUrls } from '../samples.ts'
import { accountCertificate, clientEmail, newAccountKey, projectId } from './credentials.ts'

const token = `d1:APA91b${'x'.repeat(134)}`

const messages = {
  'a text with everything': sampleMessage({
    badge: { kind: 'set', count: 5 },
    ext: '{"order_id":9007199254740993}',
    showEnd: 1_760_003_000,
    android: { sound: 'ping', channelId: 'orders' },
    fcm: {
      clickAction: 'intent',
      intent: 'intent:#Intent;action=com.example.OPEN;component=com.example/.Order;S.id=1001;end',
    },
  }),
  'a picture': sampleMessage({ type: 'image', attachmentUrl: 'https://cdn.example.com/a.jpg' }),
  'a command': sampleMessage({ type: 'cmd', title: undefined, body: undefined, ext: '{"cmd":"sync"}' }),
  'a text with the fields of FCM': sampleMessage({
    fcm: {
      priority: 'NORMAL',
      collapseKey: 'orders',
      analyticsLabel: 'spring',
      icon: 'parcel',
      color: '#12ab34',
    },
  }),
  'a text with the fields of iOS': sampleMessage({
    badge: { kind: 'set', count: 5 },
    ios: {
      sound: 'ping.caf',
      contentAvailable: true,
      mutableContent: true,
      category: 'ORDER',
      threadId: 'orders',
      subtitle: '#1001',
      interruptionLevel: 'time-sensitive',
      relevanceScore: 0.5,
      titleLocKey: 'TITLE',
      titleLocArgs: ['x'],
    },
  }),
  'a critical sound': sampleMessage({ ios: { critical: { name: 'siren.caf', volume: 0.5 } } }),
}

describe('our FCM transport and the library', () => {
  const key = newAccountKey()
  const certificate = accountCertificate(key, { extra: { package_name: 'com.example' } })
  let simulator: FcmSimulator

  beforeAll(async () => {
    simulator = await startFcmSimulator({ accounts: [{ clientEmail, key, projects: [projectId] }] })
  })
  afterAll(() => simulator.close())

  const open = (client: 'own' | 'reference') =>
    fcm.open(
      fcm.readSettings(certificate),
      sampleDeps({
        client,
        urls: sampleUrls({ fcm: simulator.url, fcmToken: simulator.url }),
        ca: simulator.ca,
      }),
    )

  async function outcomesOf(client: 'own' | 'reference', message: object, recipients: Recipient[]) {
    const payload = fcm.mapPayload(sampleTask(message), fcm.readSettings(certificate))
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

  const kinds = Object.entries(messages).flatMap(([name, message]) =>
    [false, true].map((ios) => ({ name: `${name}${ios ? ' to an iPhone' : ''}`, message, ios })),
  )
  for (const { name, message, ios } of kinds)
    it(`send ${name} as the same request`, async () => {
      for (const client of ['reference', 'own'] as const)
        expect(await outcomesOf(client, message, [{ deviceId: 1, token, ios }])).toEqual(['accepted'])
      const [theirs, ours] = simulator.received().slice(-2)
      expect([ours!.method, ours!.project]).toEqual([theirs!.method, theirs!.project])
      for (const { headers } of [ours!, theirs!]) {
        expect(headers.authorization).toMatch(/^Bearer ya29\.sim\./)
        expect(headers['content-type']).toMatch(/^application\/json; ?charset=utf-8$/i)
      }
      expect(normal(ours!.body)).toEqual(normal(theirs!.body))
    })

  it('read replies in the same way', async () => {
    const recipients = [token, 'UNREGISTERED:x', 'INVALID:x', 'MISMATCH:x', 'QUOTA:x', 'INTERNAL:x'].map(
      (each, index) => ({ deviceId: index, token: each }),
    )
    const theirs = await outcomesOf('reference', {}, recipients)
    expect(await outcomesOf('own', {}, recipients)).toEqual(theirs)
    expect(theirs).toEqual(['accepted', 'gone', 'gone', 'gone', 'throttled', 'unavailable'])
  })

  it('check a credential in the same way', async () => {
    const transport = open('reference')
    expect(await transport.check(new AbortController().signal)).toEqual({ ok: true })
    await transport.close()
  })
})

/** The proto's enum names have no case of their own: Google takes `high` for `HIGH`. Fields may be written in camel case too. */
function normal(body: string): unknown {
  const names: Record<string, string> = { fcmOptions: 'fcm_options', analyticsLabel: 'analytics_label' }
  const snake = (value: unknown): unknown =>
    typeof value !== 'object' || value === null || Array.isArray(value)
      ? value
      : Object.fromEntries(Object.entries(value).map(([key, inner]) => [names[key] ?? key, snake(inner)]))
  const request = snake(JSON.parse(body)) as { message: { android?: { priority?: string } } }
  const { android } = request.message
  if (android?.priority) android.priority = android.priority.toUpperCase()
  return request
}
