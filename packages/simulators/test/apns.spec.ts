import { sign } from 'node:crypto'
import type { OutgoingHttpHeaders } from 'node:http2'
import { request as httpsRequest } from 'node:https'
import { newSigningKey } from '@herald/testkit'
import { type H2Client, openH2Client } from '@herald/testkit/h2-client'
import { bundleId, issuePushCertificate, newAppleAuthority } from '@herald/testkit/push-certificate'
import { afterEach, describe, expect, it } from '@jest/globals'
import { type ApnsSimulator, type ApnsSimulatorOptions, startApnsSimulator } from '../src/apns/simulator.ts'

const keyId = 'ABC123DEFG'
const teamId = 'TEAM123456'
const key = newSigningKey()
const relatedKey = newSigningKey()
const token = '00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0'
const alert = '{"aps":{"alert":{"title":"Order","body":"Shipped"},"badge":5},"task_id":"7"}'

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** The authorization of https://developer.apple.com/documentation/usernotifications/establishing-a-token-based-connection-to-apns */
function bearer(
  over: { key?: string; kid?: string; iss?: string; at?: number; dsaEncoding?: 'der' | 'ieee-p1363' } = {},
) {
  const { kid = keyId, iss = teamId, at = Date.now(), dsaEncoding = 'ieee-p1363' } = over
  const signed = `${encode({ alg: 'ES256', kid })}.${encode({ iss, iat: Math.floor(at / 1000) })}`
  const signature = sign('sha256', Buffer.from(signed), { key: over.key ?? key, dsaEncoding })
  return { authorization: `bearer ${signed}.${signature.toString('base64url')}` }
}

describe('the APNs simulator', () => {
  const opened: { close(): unknown }[] = []
  afterEach(async () => {
    for (const one of opened.splice(0).reverse()) await one.close()
  })

  async function start(options: ApnsSimulatorOptions = {}): Promise<ApnsSimulator> {
    const simulator = await startApnsSimulator({ keys: [{ keyId, teamId, key }], ...options })
    opened.push(simulator)
    return simulator
  }

  function connect(simulator: ApnsSimulator, identity: { cert?: string; key?: string } = {}): H2Client {
    const client = openH2Client(simulator.url, { ca: simulator.ca, ...identity })
    opened.push(client)
    return client
  }

  const valid = bearer()
  const headers = (over: OutgoingHttpHeaders = {}): OutgoingHttpHeaders => {
    const all: OutgoingHttpHeaders = {
      ':method': 'POST',
      ':path': `/3/device/${token}`,
      ...valid,
      'apns-topic': bundleId,
      'apns-push-type': 'alert',
      'apns-priority': '10',
      'apns-expiration': '1790000000',
      ...over,
    }
    return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
  }
  const typed = (type: string, suffix: string): OutgoingHttpHeaders => ({
    'apns-push-type': type,
    'apns-topic': bundleId + suffix,
  })
  const to = (device: string) => ({ ':path': `/3/device/${device}` })

  const ask = async (client: H2Client, over?: OutgoingHttpHeaders, body = alert) => {
    const answer = await client.send(headers(over), body)
    return [answer.status, answer.body ? JSON.parse(answer.body).reason : undefined]
  }
  const accepted = [200, undefined]

  it('accepts a pinned provider token', async () => {
    const publicKey = `-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE/fuYEIKLXuugXYYHTS3GvloJ68vr
AgoTIRQ/IACSpmkgAs8uxDD/ee/1p8wgO/gGvwNNBPHaGsIg/udLbogvpw==
-----END PUBLIC KEY-----`
    // {"alg":"ES256","kid":"ABC123DEFG"} and {"iss":"TEAM123456","iat":1760000000}, signed once with a P-256 key.
    const authorization =
      'bearer eyJhbGciOiJFUzI1NiIsImtpZCI6IkFCQzEyM0RFRkcifQ.eyJpc3MiOiJURUFNMTIzNDU2IiwiaWF0IjoxNzYwMDAwMDAwfQ.FWOICiRnsXy0vA8H4bsdK6caVDE4b7OEY0ZAYRXTiHEIU87zv106v6h8QLo5VC9VBZeHWGntJZjvbF0ijI4QzA'
    const keys = [{ keyId, teamId, key: publicKey }]
    const simulator = await start({ keys, now: () => 1_760_000_000_000 })
    expect(await ask(connect(simulator), { authorization })).toEqual(accepted)
    const other = authorization.replace('.FWOI', '.FWOJ')
    expect(await ask(connect(simulator), { authorization: other })).toEqual([403, 'InvalidProviderToken'])
  })

  it('accepts a push with headers only and returns its id', async () => {
    const simulator = await start()
    const id = 'eabeae54-14a8-11e5-b60b-1697f925ec7b'
    const answer = await connect(simulator).send(headers({ 'apns-id': id }), alert)
    expect(answer).toMatchObject({ status: 200, body: '', headers: { 'apns-id': id } })
    expect(answer.headers).not.toHaveProperty('apns-unique-id')
    expect(simulator.received()).toMatchObject([{ token, body: alert, headers: { 'apns-priority': '10' } }])
  })

  it('creates an id for a push without one, and another one in the sandbox', async () => {
    const simulator = await start({ environment: 'development' })
    const answer = await connect(simulator).send(headers(), alert)
    const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
    expect(answer.headers).toMatchObject({
      'apns-id': expect.stringMatching(uuid),
      'apns-unique-id': expect.stringMatching(uuid),
    })
  })

  const old = (minutes: number) => bearer({ at: Date.now() - minutes * 60_000 })

  it.each<[string, OutgoingHttpHeaders, number, string | undefined]>([
    ['another method', { ':method': 'PUT' }, 405, 'MethodNotAllowed'],
    ['no token in the path', to(''), 400, 'MissingDeviceToken'],
    ['another path', { ':path': '/3/devices' }, 404, 'BadPath'],
    ['no authorization', { authorization: undefined }, 403, 'MissingProviderToken'],
    ['another scheme', { authorization: 'basic x.y.z' }, 403, 'MissingProviderToken'],
    ['no JWT', { authorization: 'bearer x.y' }, 403, 'InvalidProviderToken'],
    ['an unknown key', bearer({ kid: 'ZZZZZZZZZZ' }), 403, 'InvalidProviderToken'],
    ['another team', bearer({ iss: 'OTHER12345' }), 403, 'InvalidProviderToken'],
    ['a wrong signature', bearer({ key: relatedKey }), 403, 'InvalidProviderToken'],
    ['a signature in DER', bearer({ dsaEncoding: 'der' }), 200, undefined],
    ['a JWT of 59 minutes', old(59), 200, undefined],
    ['a JWT of 61 minutes', old(61), 403, 'ExpiredProviderToken'],
    ['no topic', { 'apns-topic': undefined }, 400, 'MissingTopic'],
    ['an id that is not a UUID', { 'apns-id': 'EABEAE54-14A8-11E5-B60B-1697F925EC7B' }, 400, 'BadMessageId'],
    ['an unknown priority', { 'apns-priority': '7' }, 400, 'BadPriority'],
    ['background with priority 10', { 'apns-push-type': 'background' }, 400, 'BadPriority'],
    ['background with priority 5', { 'apns-push-type': 'background', 'apns-priority': '5' }, 200, undefined],
    ['an expiration that is not a number', { 'apns-expiration': 'soon' }, 400, 'BadExpirationDate'],
    ['an expiration in milliseconds', { 'apns-expiration': '1790000000000' }, 400, 'BadExpirationDate'],
    ['a collapse id of 64 bytes', { 'apns-collapse-id': 'x'.repeat(64) }, 200, undefined],
    ['a collapse id of 65 bytes', { 'apns-collapse-id': 'x'.repeat(65) }, 400, 'BadCollapseId'],
    ['an unknown push type', { 'apns-push-type': 'news' }, 400, 'InvalidPushType'],
    ['a repeated header', { 'apns-topic': [bundleId, bundleId] }, 400, 'DuplicateHeaders'],
    ['a token that is not hex', to('g'.repeat(64)), 400, 'BadDeviceToken'],
    ['a token of odd length', to('a'.repeat(65)), 400, 'BadDeviceToken'],
    ['a token in capitals', to(token.toUpperCase()), 200, undefined],
    ['a token of zeros', to('0'.repeat(64)), 400, 'BadDeviceToken'],
    ['a token with the prefix dead', to('dead'.repeat(16)), 410, 'Unregistered'],
    ['a token with the prefix 4290', to('4290'.repeat(16)), 429, 'TooManyRequests'],
    ['voip with priority 5', { ...typed('voip', '.voip'), 'apns-priority': '5' }, 400, 'BadPriority'],
    ['a suffix of another type', typed('voip', '.complication'), 400, 'TopicDisallowed'],
    ['a type without its suffix', typed('liveactivity', ''), 400, 'TopicDisallowed'],
    ['an alert with the suffix of another type', typed('alert', '.voip'), 400, 'TopicDisallowed'],
  ])('checks %s', async (_name, over, status, reason) => {
    expect(await ask(connect(await start()), over)).toEqual([status, reason])
  })

  const activity = (aps: object) =>
    JSON.stringify({ aps: { timestamp: 1_790_000_000, event: 'update', 'content-state': { n: 1 }, ...aps } })
  const starting = {
    event: 'start',
    'attributes-type': 'Order',
    attributes: {},
    alert: { title: 'a', body: 'b' },
  }
  const live = typed('liveactivity', '.push-type.liveactivity')

  it.each<[string, OutgoingHttpHeaders, string, boolean]>([
    ['an update', live, activity({}), true],
    ['a start', live, activity(starting), true],
    ['an end without content', live, activity({ event: 'end', 'content-state': undefined }), true],
    ['a timestamp in milliseconds', live, activity({ timestamp: 1_790_000_000_000 }), false],
    ['no timestamp', live, activity({ timestamp: undefined }), false],
    ['an unknown event', live, activity({ event: 'pause' }), false],
    ['an update without content', live, activity({ 'content-state': undefined }), false],
    ['a start without attributes', live, activity({ ...starting, attributes: undefined }), false],
    ['a start without an alert', live, activity({ ...starting, alert: undefined }), false],
    ['an update with attributes', live, activity({ attributes: {} }), false],
    ['a dismissal date of an update', live, activity({ 'dismissal-date': 1_790_000_000 }), false],
    ['a badge', live, activity({ badge: 1 }), false],
    ['widgets', typed('widgets', '.push-type.widgets'), '{"aps":{"content-changed":true}}', true],
    ['widgets without content-changed', typed('widgets', '.push-type.widgets'), '{"aps":{}}', false],
    ['controls', typed('controls', '.push-type.controls'), '{"aps":{"content-changed":true}}', true],
    ['controls without content-changed', typed('controls', '.push-type.controls'), '{"aps":{}}', false],
    ['a VoIP push', typed('voip', '.voip'), '{"aps":{},"call":1}', true],
    ['a VoIP push with an alert', typed('voip', '.voip'), alert, false],
    [
      'a file provider push',
      typed('fileprovider', '.pushkit.fileprovider'),
      '{"container-identifier":"x","domain":"y"}',
      true,
    ],
    ['a file provider push with aps', typed('fileprovider', '.pushkit.fileprovider'), '{"aps":{}}', false],
    ['a critical sound', {}, '{"aps":{"alert":"x","sound":{"critical":1,"name":"y","volume":1}}}', true],
    ['critical as a boolean', {}, '{"aps":{"sound":{"critical":true,"name":"y","volume":1}}}', false],
    ['an unknown interruption level', {}, '{"aps":{"interruption-level":"loud"}}', false],
    ['arguments without their key', {}, '{"aps":{"alert":{"loc-args":["x"]}}}', false],
    ['arguments that are numbers', {}, '{"aps":{"alert":{"loc-key":"k","loc-args":[1]}}}', false],
  ])('checks the payload if it is strict: %s', async (_name, over, body, isGood) => {
    const simulator = await start({ strict: true })
    expect(await ask(connect(simulator), over, body)).toEqual(isGood ? accepted : [400, 'PayloadEmpty'])
  })

  it('tells which updates of a Live Activity the device ignores', async () => {
    const simulator = await start({ strict: true })
    const client = connect(simulator)
    const second = 1_790_000_000
    for (const aps of [
      { timestamp: second + 1 },
      { timestamp: second },
      { timestamp: second + 1 },
      { timestamp: second + 2, event: 'end' },
      { timestamp: second + 3 },
    ])
      expect(await ask(client, live, activity(aps))).toEqual(accepted)
    expect(simulator.received().map(({ ignored }) => ignored ?? false)).toEqual([
      false,
      true,
      false,
      false,
      true,
    ])
  })

  it('takes 5120 bytes of a VoIP push and 4096 of others', async () => {
    const client = connect(await start())
    const body = (bytes: number) => `{"aps":{},"x":"${'x'.repeat(bytes - 17)}"}`
    const voip = typed('voip', '.voip')
    expect(await ask(client, voip, body(5120))).toEqual(accepted)
    expect(await ask(client, voip, body(5121))).toEqual([413, 'PayloadTooLarge'])
    expect(await ask(client, live, body(4097))).toEqual([413, 'PayloadTooLarge'])
  })

  it('takes Live Activities and location queries with a provider token only', async () => {
    const authority = newAppleAuthority()
    const certificate = issuePushCertificate(authority, {})
    const simulator = await start({ certificateAuthorities: [authority.cert] })
    const client = connect(simulator, { cert: certificate.cert, key: certificate.key })
    const without = { authorization: undefined }
    expect(await ask(client, { ...live, ...without }, activity({}))).toEqual([400, 'InvalidPushType'])
    expect(await ask(client, without)).toEqual(accepted)
  })

  const sized = (bytes: number) => `{"aps":{},"x":"${'y'.repeat(bytes - 17)}"}`
  const voip = typed('voip', '.voip')
  it.each<[string, string, OutgoingHttpHeaders, number, string | undefined]>([
    ['no body', '', {}, 400, 'PayloadEmpty'],
    ['4096 bytes', sized(4096), {}, 200, undefined],
    ['4097 bytes', sized(4097), {}, 413, 'PayloadTooLarge'],
    ['5120 bytes of voip', sized(5120), voip, 200, undefined],
    ['5121 bytes of voip', sized(5121), voip, 413, 'PayloadTooLarge'],
    ['broken JSON', '{"aps":', {}, 400, 'PayloadEmpty'],
    ['a JSON list', '[]', {}, 400, 'PayloadEmpty'],
  ])('checks a body of %s', async (_name, body, over, status, reason) => {
    expect(await ask(connect(await start()), over, body)).toEqual([status, reason])
  })

  it.each([
    ['a missing aps', '{"task_id":"7"}', {}],
    ['a badge that is a string', '{"aps":{"badge":"5"}}', {}],
    ['an alert in a background push', alert, { 'apns-push-type': 'background', 'apns-priority': '5' }],
  ])('refuses %s only with the option strict', async (_name, body, over) => {
    expect(await ask(connect(await start()), over, body)).toEqual(accepted)
    expect(await ask(connect(await start({ strict: true })), over, body)).toEqual([400, 'PayloadEmpty'])
  })

  it('refuses all requests on a connection that carried an expired token', async () => {
    const client = connect(await start())
    expect(await ask(client, old(61))).toEqual([403, 'ExpiredProviderToken'])
    expect(await ask(client)).toEqual([403, 'ExpiredProviderToken'])
  })

  it('binds a connection to the team and key of its first push', async () => {
    const related = { kid: 'RELATED123', key: relatedKey }
    const other = { kid: 'STRANGER12', iss: 'OTHER12345', key: relatedKey }
    const keys = [
      { keyId, teamId, key },
      { keyId: related.kid, teamId, key: relatedKey },
      { keyId: other.kid, teamId: other.iss, key: relatedKey },
    ]
    const client = connect(await start({ keys }))
    expect(await ask(client)).toEqual(accepted)
    expect(await ask(client, bearer(related))).toEqual([403, 'UnrelatedKeyIdInToken'])
    expect(await ask(client, bearer(other))).toEqual([403, 'Forbidden'])
  })

  it('limits keys to one environment and to listed topics', async () => {
    const sandboxKey = { keyId, teamId, key, environment: 'development' as const }
    expect(await ask(connect(await start({ keys: [sandboxKey] })))).toEqual([403, 'BadEnvironmentKeyInToken'])
    const listed = await start({ keys: [{ keyId, teamId, key, topics: [bundleId] }] })
    expect(await ask(connect(listed))).toEqual(accepted)
    expect(await ask(connect(listed), { 'apns-topic': 'com.example.Else' })).toEqual([400, 'TopicDisallowed'])
    expect(await ask(connect(listed), { ...voip, 'apns-topic': `${bundleId}.voip` })).toEqual(accepted)
  })

  it('accepts one early change of the token on a connection, not two', async () => {
    const client = connect(await start())
    expect(await ask(client)).toEqual(accepted)
    expect(await ask(client, bearer())).toEqual(accepted)
    expect(await ask(client, bearer())).toEqual([429, 'TooManyProviderTokenUpdates'])
  })

  it('requires twenty minutes between tokens', async () => {
    let now = Date.now()
    const client = connect(await start({ now: () => now, tokenUpdateGrace: 0 }))
    expect(await ask(client, bearer({ at: now }))).toEqual(accepted)
    now += 19 * 60_000
    expect(await ask(client, bearer({ at: now }))).toEqual([429, 'TooManyProviderTokenUpdates'])
    now += 2 * 60_000
    expect(await ask(client, bearer({ at: now }))).toEqual(accepted)
  })

  it('counts tokens per team if that rule is switched on', async () => {
    const simulator = await start({ tokenUpdateGrace: 0 })
    const [first, second] = [bearer(), bearer()]
    expect(await ask(connect(simulator), first)).toEqual(accepted)
    expect(await ask(connect(simulator), second)).toEqual(accepted)
    simulator.setFaults({ rules: ['token_updates_per_team'] })
    expect(await ask(connect(simulator), first)).toEqual(accepted)
    expect(await ask(connect(simulator), second)).toEqual([429, 'TooManyProviderTokenUpdates'])
    expect(await ask(connect(simulator), first)).toEqual(accepted)
  })

  it('refuses tokens of the future if that rule is switched on', async () => {
    const now = Date.now()
    const simulator = await start({ now: () => now })
    expect(await ask(connect(simulator), bearer({ at: now + 120_000 }))).toEqual(accepted)
    simulator.setFaults({ rules: ['future_tokens_refused'] })
    expect(await ask(connect(simulator), bearer({ at: now + 120_000 }))).toEqual([
      403,
      'InvalidProviderToken',
    ])
    expect(await ask(connect(simulator), bearer({ at: now + 30_000 }))).toEqual(accepted)
  })

  it('refuses valid tokens in a wave, and accepts them afterwards', async () => {
    const simulator = await start()
    const client = connect(simulator)
    expect(await ask(client)).toEqual(accepted)
    simulator.setFaults({ refuseAuth: true })
    expect(await ask(client)).toEqual([403, 'InvalidProviderToken'])
    simulator.setFaults({})
    expect(await ask(client)).toEqual(accepted)
    expect(simulator.requests()).toBe(3)
  })

  it('refuses tokens of other apps and environments', async () => {
    const other = 'ab'.repeat(32)
    const tokens = {
      [token]: { topic: 'com.example.Else' },
      [other]: { environment: 'development' as const },
    }
    const simulator = await start({ tokens })
    expect(await ask(connect(simulator))).toEqual([400, 'DeviceTokenNotForTopic'])
    expect(await ask(connect(simulator), to(other))).toEqual([400, 'BadDeviceToken'])
    expect(await ask(connect(simulator), to('cd'.repeat(32)))).toEqual(accepted)
    const closed = await start({ tokens: { [other]: {} }, closedRegistry: true })
    expect(await ask(connect(closed))).toEqual([400, 'BadDeviceToken'])
    expect(await ask(connect(closed), to(other))).toEqual(accepted)
  })

  it('returns since when a token is dead, in milliseconds', async () => {
    const simulator = await start()
    simulator.kill([token], 1_721_990_000_123)
    const answer = await connect(simulator).send(headers(), alert)
    expect(answer).toMatchObject({ status: 410, headers: { 'content-type': 'application/json' } })
    expect(JSON.parse(answer.body)).toEqual({ reason: 'Unregistered', timestamp: 1_721_990_000_123 })
  })

  it('throttles one device, not the others', async () => {
    const client = connect(await start({ devicePerSecond: 2, now: () => 1_760_000_000_000 }))
    const now = bearer({ at: 1_760_000_000_000 })
    for (const expected of [200, 200, 429]) expect((await ask(client, now))[0]).toBe(expected)
    expect(await ask(client, { ...now, ...to('ab'.repeat(32)) })).toEqual(accepted)
  })

  it('allows one stream until the first accepted push, then many', async () => {
    const simulator = await start({ streams: 500 })
    simulator.setFaults({ latencyMs: 100 })
    const client = connect(simulator)
    await new Promise((resolve) => client.session.once('remoteSettings', resolve))
    expect(client.session.remoteSettings.maxConcurrentStreams).toBe(1)
    expect(await ask(client, { 'apns-topic': undefined })).toEqual([400, 'MissingTopic'])
    expect(client.session.remoteSettings.maxConcurrentStreams).toBe(1)
    const raised = new Promise((resolve) => client.session.once('remoteSettings', resolve))
    expect(await ask(client)).toEqual(accepted)
    await raised
    expect(client.session.remoteSettings.maxConcurrentStreams).toBe(500)
  })

  it('allows one stream after a rejection with oneStreamAfterRejection', async () => {
    const client = connect(await start({ oneStreamAfterRejection: true }))
    await ask(client)
    const lowered = new Promise<void>((resolve) =>
      client.session.on('remoteSettings', ({ maxConcurrentStreams }) => {
        if (maxConcurrentStreams === 1) resolve()
      }),
    )
    await ask(client, { 'apns-priority': '7' })
    await lowered
    expect(await ask(client)).toEqual(accepted)
  })

  describe('with client certificates', () => {
    const apple = newAppleAuthority()
    const byCertificate = { authorization: undefined }
    const withoutTopic = { ...byCertificate, 'apns-topic': undefined }
    const connectBy = async (...issue: Parameters<typeof issuePushCertificate>) =>
      connect(await start({ certificateAuthorities: [apple.cert] }), issuePushCertificate(...issue))

    it('needs no token, and no topic if the certificate has one', async () => {
      const client = await connectBy(apple)
      expect(await ask(client, byCertificate)).toEqual(accepted)
      expect(await ask(client, withoutTopic)).toEqual(accepted)
      const other = { ...byCertificate, 'apns-topic': 'com.example.Else' }
      expect(await ask(client, other)).toEqual([400, 'BadTopic'])
    })

    it('needs a topic if the certificate has several', async () => {
      const client = await connectBy(apple, { topics: [bundleId, `${bundleId}.voip`] })
      expect(await ask(client, withoutTopic)).toEqual([400, 'MissingTopic'])
    })

    it('refuses a certificate that Apple did not sign', async () => {
      expect(await ask(await connectBy(newAppleAuthority()), byCertificate)).toEqual([403, 'BadCertificate'])
    })

    it('ends a connection with a certificate of the other environment', async () => {
      const client = await connectBy(apple, { environments: ['development'] })
      const data = '{"reason":"BadCertificateEnvironment"}'
      expect(await client.goaway).toEqual({ code: 0, lastStreamId: 0, data })
    })
  })

  it('sends GOAWAY after the configured number of requests', async () => {
    const simulator = await start()
    simulator.setFaults({ goawayAfter: 2 })
    const client = connect(simulator)
    expect(await ask(client)).toEqual(accepted)
    expect(await ask(client)).toEqual(accepted)
    expect(await client.goaway).toEqual({ code: 0, lastStreamId: 3, data: '{"reason":"Shutdown"}' })
    expect(simulator.ledger().accepted).toBe(2)
  })

  it('accepts any credentials with acceptAnyCredentials', async () => {
    const simulator = await start({ keys: [], acceptAnyCredentials: true })
    expect(await ask(connect(simulator), { authorization: 'bearer anything' })).toEqual(accepted)
  })

  it('serves /_sim/ over HTTP/1.1 and HTTP/2, and pushes only over HTTP/2', async () => {
    const simulator = await start()
    const client = connect(simulator)
    await ask(client)
    const plain = (method: string, path: string, body?: string) =>
      new Promise<[number | undefined, string]>((resolve, reject) => {
        const request = httpsRequest(`${simulator.url}${path}`, { method, ca: simulator.ca }, (response) => {
          let text = ''
          response.on('data', (chunk) => {
            text += chunk
          })
          response.on('end', () => resolve([response.statusCode, text]))
        })
        request.on('error', reject)
        request.end(body)
      })
    const [path, body] = ['/_sim/ledger?task_id=7', '{"accepted":1,"distinct":1,"duplicates":0}']
    expect(await plain('GET', path)).toEqual([200, body])
    expect(await client.send({ ':path': path })).toMatchObject({ status: 200, body })
    expect((await plain('POST', '/_sim/dead', JSON.stringify({ tokens: [token] })))[0]).toBe(200)
    expect(await ask(client)).toEqual([410, 'Unregistered'])
    expect((await plain('POST', `/3/device/${token}`, alert))[0]).toBe(505)
  })
})
