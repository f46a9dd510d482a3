import { createPrivateKey, sign } from 'node:crypto'
import type { OutgoingHttpHeaders } from 'node:http2'
import { request as httpsRequest } from 'node:https'
import { afterEach, describe, expect, it } from '@jest/globals'
import { mintPass, readPass } from '../../src/apns/provider-token.ts'
import {
  type ApnsSimulator,
  type ApnsSimulatorOptions,
  startApnsSimulator,
} from '../../src/apns/simulator.ts'
import { type H2Client, openH2Client } from '../h2-client.ts'
import {
  bundleId,
  issuePushCertificate,
  keyId,
  newAppleAuthority,
  newSigningKey,
  teamId,
} from './credentials.ts'

const key = newSigningKey()
const relatedKey = newSigningKey()
const token = '00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0'
const alert = '{"aps":{"alert":{"title":"Order","body":"Shipped"},"badge":5},"task_id":"7"}'

function jwtOf(over: { key?: string; keyId?: string; teamId?: string; at?: number } = {}): string {
  const auth = {
    kind: 'token' as const,
    key: createPrivateKey(over.key ?? key),
    keyId: over.keyId ?? keyId,
    teamId: over.teamId ?? teamId,
  }
  return readPass(mintPass(auth, over.at ?? Date.now(), false).value).jwt
}

/** Signed with DER, as Apple's own sample does. */
function derJwt(): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${encode({ alg: 'ES256', kid: keyId })}.${encode({ iss: teamId, iat: Math.floor(Date.now() / 1000) })}`
  return `${signed}.${sign('sha256', Buffer.from(signed), key).toString('base64url')}`
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

  const jwt = jwtOf()
  const headers = (over: OutgoingHttpHeaders = {}): OutgoingHttpHeaders => {
    const all: OutgoingHttpHeaders = {
      ':method': 'POST',
      ':path': `/3/device/${token}`,
      authorization: `bearer ${jwt}`,
      'apns-topic': bundleId,
      'apns-push-type': 'alert',
      'apns-priority': '10',
      'apns-expiration': '1790000000',
      ...over,
    }
    return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
  }

  const ask = async (client: H2Client, over?: OutgoingHttpHeaders, body = alert) => {
    const answer = await client.send(headers(over), body)
    return [answer.status, answer.body ? JSON.parse(answer.body).reason : undefined]
  }

  it('accepts a good push with headers alone and echoes its id', async () => {
    const simulator = await start()
    const id = 'eabeae54-14a8-11e5-b60b-1697f925ec7b'
    const answer = await connect(simulator).send(headers({ 'apns-id': id }), alert)
    expect(answer).toMatchObject({ status: 200, body: '', headers: { 'apns-id': id } })
    expect(answer.headers).not.toHaveProperty('apns-unique-id')
    expect(simulator.ledger(7)).toEqual({ accepted: 1, distinct: 1, duplicates: 0 })
    expect(simulator.received()).toMatchObject([{ token, body: alert, headers: { 'apns-priority': '10' } }])
  })

  it('makes an id where none came, and one more in the sandbox', async () => {
    const simulator = await start({ environment: 'development' })
    const answer = await connect(simulator).send(headers(), alert)
    const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
    expect(answer.headers).toMatchObject({
      'apns-id': expect.stringMatching(uuid),
      'apns-unique-id': expect.stringMatching(uuid),
    })
  })

  const old = (minutes: number) => `bearer ${jwtOf({ at: Date.now() - minutes * 60_000 })}`

  it.each<[string, OutgoingHttpHeaders, number, string | undefined]>([
    ['another method', { ':method': 'PUT' }, 405, 'MethodNotAllowed'],
    ['no token in the path', { ':path': '/3/device/' }, 400, 'MissingDeviceToken'],
    ['another path', { ':path': '/3/devices' }, 404, 'BadPath'],
    ['no authorization', { authorization: undefined }, 403, 'MissingProviderToken'],
    ['another scheme', { authorization: `basic ${jwt}` }, 403, 'MissingProviderToken'],
    ['no JWT', { authorization: 'bearer x.y' }, 403, 'InvalidProviderToken'],
    [
      'an unknown key',
      { authorization: `bearer ${jwtOf({ keyId: 'ZZZZZZZZZZ' })}` },
      403,
      'InvalidProviderToken',
    ],
    [
      'another team',
      { authorization: `bearer ${jwtOf({ teamId: 'OTHER12345' })}` },
      403,
      'InvalidProviderToken',
    ],
    [
      'a wrong signature',
      { authorization: `bearer ${jwtOf({ key: relatedKey })}` },
      403,
      'InvalidProviderToken',
    ],
    ['a signature in DER', { authorization: `bearer ${derJwt()}` }, 200, undefined],
    ['a JWT of 59 minutes', { authorization: old(59) }, 200, undefined],
    ['a JWT of 61 minutes', { authorization: old(61) }, 403, 'ExpiredProviderToken'],
    ['no topic', { 'apns-topic': undefined }, 400, 'MissingTopic'],
    ['an id that is no UUID', { 'apns-id': 'EABEAE54-14A8-11E5-B60B-1697F925EC7B' }, 400, 'BadMessageId'],
    ['an unknown priority', { 'apns-priority': '7' }, 400, 'BadPriority'],
    ['background at once', { 'apns-push-type': 'background' }, 400, 'BadPriority'],
    ['background at leisure', { 'apns-push-type': 'background', 'apns-priority': '5' }, 200, undefined],
    ['an expiration in words', { 'apns-expiration': 'soon' }, 400, 'BadExpirationDate'],
    ['an expiration in milliseconds', { 'apns-expiration': '1790000000000' }, 400, 'BadExpirationDate'],
    ['a collapse id of 64 bytes', { 'apns-collapse-id': 'x'.repeat(64) }, 200, undefined],
    ['a collapse id of 65 bytes', { 'apns-collapse-id': 'x'.repeat(65) }, 400, 'BadCollapseId'],
    ['an unknown push type', { 'apns-push-type': 'news' }, 400, 'InvalidPushType'],
    ['a repeated header', { 'apns-topic': [bundleId, bundleId] }, 400, 'DuplicateHeaders'],
    ['a token that is no hex', { ':path': `/3/device/${'g'.repeat(64)}` }, 400, 'BadDeviceToken'],
    ['a token of odd length', { ':path': `/3/device/${'a'.repeat(65)}` }, 400, 'BadDeviceToken'],
    ['nobody’s token', { ':path': `/3/device/${'0'.repeat(64)}` }, 400, 'BadDeviceToken'],
    ['a token in capitals', { ':path': `/3/device/${token.toUpperCase()}` }, 200, undefined],
    ['a token that dies by its name', { ':path': `/3/device/${'dead'.repeat(16)}` }, 410, 'Unregistered'],
    [
      'a token that is throttled by its name',
      { ':path': `/3/device/${'4290'.repeat(16)}` },
      429,
      'TooManyRequests',
    ],
  ])('judges %s', async (_name, over, status, reason) => {
    expect(await ask(connect(await start()), over)).toEqual([status, reason])
  })

  it.each<[string, string, OutgoingHttpHeaders, number, string | undefined]>([
    ['no body', '', {}, 400, 'PayloadEmpty'],
    ['4096 bytes', `{"aps":{},"x":"${'y'.repeat(4096 - 17)}"}`, {}, 200, undefined],
    ['4097 bytes', `{"aps":{},"x":"${'y'.repeat(4097 - 17)}"}`, {}, 413, 'PayloadTooLarge'],
    [
      '5120 bytes of voip',
      `{"aps":{},"x":"${'y'.repeat(5120 - 17)}"}`,
      { 'apns-push-type': 'voip' },
      200,
      undefined,
    ],
    [
      '5121 of voip',
      `{"aps":{},"x":"${'y'.repeat(5121 - 17)}"}`,
      { 'apns-push-type': 'voip' },
      413,
      'PayloadTooLarge',
    ],
    ['broken JSON', '{"aps":', {}, 400, 'PayloadEmpty'],
    ['a JSON list', '[]', {}, 400, 'PayloadEmpty'],
  ])('judges a body of %s', async (_name, body, over, status, reason) => {
    expect(await ask(connect(await start()), over, body)).toEqual([status, reason])
  })

  it.each([
    ['aps missing', '{"task_id":"7"}', {}],
    ['a badge in words', '{"aps":{"badge":"5"}}', {}],
    ['an alert that is silent', alert, { 'apns-push-type': 'background', 'apns-priority': '5' }],
  ])('judges what a device would not show, when told to be strict: %s', async (_name, body, over) => {
    expect(await ask(connect(await start()), over, body)).toEqual([200, undefined])
    expect(await ask(connect(await start({ strict: true })), over, body)).toEqual([400, 'PayloadEmpty'])
  })

  it('keeps answering that the token ran out on a connection that carried one', async () => {
    const client = connect(await start())
    expect(await ask(client, { authorization: old(61) })).toEqual([403, 'ExpiredProviderToken'])
    expect(await ask(client)).toEqual([403, 'ExpiredProviderToken'])
  })

  it('binds a connection to the team and key of its first push', async () => {
    const keys = [
      { keyId, teamId, key },
      { keyId: 'RELATED123', teamId, key: relatedKey },
      { keyId: 'STRANGER12', teamId: 'OTHER12345', key: relatedKey },
    ]
    const client = connect(await start({ keys }))
    expect(await ask(client)).toEqual([200, undefined])
    const by = (over: Parameters<typeof jwtOf>[0]) => ({ authorization: `bearer ${jwtOf(over)}` })
    expect(await ask(client, by({ keyId: 'RELATED123', key: relatedKey }))).toEqual([
      403,
      'UnrelatedKeyIdInToken',
    ])
    expect(await ask(client, by({ keyId: 'STRANGER12', teamId: 'OTHER12345', key: relatedKey }))).toEqual([
      403,
      'Forbidden',
    ])
  })

  it('knows keys of one environment and of listed topics', async () => {
    const sandboxKey = { keyId, teamId, key, environment: 'development' as const }
    expect(await ask(connect(await start({ keys: [sandboxKey] })))).toEqual([403, 'BadEnvironmentKeyInToken'])
    const listed = await start({ keys: [{ keyId, teamId, key, topics: [bundleId] }] })
    expect(await ask(connect(listed))).toEqual([200, undefined])
    expect(await ask(connect(listed), { 'apns-topic': 'com.example.Else' })).toEqual([400, 'TopicDisallowed'])
    expect(
      await ask(connect(listed), { 'apns-topic': `${bundleId}.voip`, 'apns-push-type': 'voip' }),
    ).toEqual([200, undefined])
  })

  it('forgives one early change of the token on a connection, not two', async () => {
    const client = connect(await start())
    const fresh = () => ({ authorization: `bearer ${jwtOf()}` })
    expect(await ask(client)).toEqual([200, undefined])
    expect(await ask(client, fresh())).toEqual([200, undefined])
    expect(await ask(client, fresh())).toEqual([429, 'TooManyProviderTokenUpdates'])
  })

  it('counts the twenty minutes between tokens', async () => {
    let now = Date.now()
    const client = connect(await start({ now: () => now, tokenUpdateGrace: 0 }))
    const fresh = () => ({ authorization: `bearer ${jwtOf({ at: now })}` })
    expect(await ask(client, fresh())).toEqual([200, undefined])
    now += 19 * 60_000
    expect(await ask(client, fresh())).toEqual([429, 'TooManyProviderTokenUpdates'])
    now += 2 * 60_000
    expect(await ask(client, fresh())).toEqual([200, undefined])
  })

  it('knows tokens of other apps and environments', async () => {
    const other = 'ab'.repeat(32)
    const tokens = {
      [token]: { topic: 'com.example.Else' },
      [other]: { environment: 'development' as const },
    }
    const simulator = await start({ tokens })
    expect(await ask(connect(simulator))).toEqual([400, 'DeviceTokenNotForTopic'])
    expect(await ask(connect(simulator), { ':path': `/3/device/${other}` })).toEqual([400, 'BadDeviceToken'])
    expect(await ask(connect(simulator), { ':path': `/3/device/${'cd'.repeat(32)}` })).toEqual([
      200,
      undefined,
    ])
    const closed = await start({ tokens: { [other]: {} }, closedRegistry: true })
    expect(await ask(connect(closed))).toEqual([400, 'BadDeviceToken'])
    expect(await ask(connect(closed), { ':path': `/3/device/${other}` })).toEqual([200, undefined])
  })

  it('tells since when a token is dead, in milliseconds', async () => {
    const simulator = await start()
    simulator.kill([token], 1_721_990_000_123)
    const answer = await connect(simulator).send(headers(), alert)
    expect(answer).toMatchObject({ status: 410, headers: { 'content-type': 'application/json' } })
    expect(JSON.parse(answer.body)).toEqual({ reason: 'Unregistered', timestamp: 1_721_990_000_123 })
  })

  it('throttles one device, not the others', async () => {
    const simulator = await start({ devicePerSecond: 2, now: () => 1_760_000_000_000 })
    const client = connect(simulator)
    const authorization = `bearer ${jwtOf({ at: 1_760_000_000_000 })}`
    for (const expected of [200, 200, 429]) expect((await ask(client, { authorization }))[0]).toBe(expected)
    expect(await ask(client, { authorization, ':path': `/3/device/${'ab'.repeat(32)}` })).toEqual([
      200,
      undefined,
    ])
  })

  it('opens one stream until the first good push, then many', async () => {
    const simulator = await start({ streams: 500 })
    simulator.setFaults({ latencyMs: 100 })
    const client = connect(simulator)
    await new Promise((resolve) => client.session.once('remoteSettings', resolve))
    expect(client.session.remoteSettings.maxConcurrentStreams).toBe(1)
    expect(await ask(client, { 'apns-topic': undefined })).toEqual([400, 'MissingTopic'])
    expect(client.session.remoteSettings.maxConcurrentStreams).toBe(1)
    const raised = new Promise((resolve) => client.session.once('remoteSettings', resolve))
    expect(await ask(client)).toEqual([200, undefined])
    await raised
    expect(client.session.remoteSettings.maxConcurrentStreams).toBe(500)
  })

  it('falls back to one stream after a rejection, when told to', async () => {
    const simulator = await start({ streamsFallOnRejection: true })
    const client = connect(simulator)
    await ask(client)
    const fallen = new Promise<number | undefined>((resolve) =>
      client.session.on('remoteSettings', ({ maxConcurrentStreams }) => {
        if (maxConcurrentStreams === 1) resolve(maxConcurrentStreams)
      }),
    )
    await ask(client, { 'apns-priority': '7' })
    expect(await fallen).toBe(1)
    expect(await ask(client)).toEqual([200, undefined])
  })

  describe('with client certificates', () => {
    const apple = newAppleAuthority()
    const byCertificate = { authorization: undefined }

    it('needs no token, nor a topic when there is one', async () => {
      const simulator = await start({ certificateAuthorities: [apple.cert] })
      const client = connect(simulator, issuePushCertificate(apple))
      expect(await ask(client, byCertificate)).toEqual([200, undefined])
      expect(await ask(client, { ...byCertificate, 'apns-topic': undefined })).toEqual([200, undefined])
      expect(await ask(client, { ...byCertificate, 'apns-topic': 'com.example.Else' })).toEqual([
        400,
        'BadTopic',
      ])
    })

    it('needs a topic when there are several', async () => {
      const simulator = await start({ certificateAuthorities: [apple.cert] })
      const client = connect(
        simulator,
        issuePushCertificate(apple, { topics: [bundleId, `${bundleId}.voip`] }),
      )
      expect(await ask(client, { ...byCertificate, 'apns-topic': undefined })).toEqual([400, 'MissingTopic'])
    })

    it('refuses one that Apple did not sign', async () => {
      const simulator = await start({ certificateAuthorities: [apple.cert] })
      const client = connect(simulator, issuePushCertificate(newAppleAuthority()))
      expect(await ask(client, byCertificate)).toEqual([403, 'BadCertificate'])
    })

    it('parts at once with one of the other environment', async () => {
      const simulator = await start({ certificateAuthorities: [apple.cert] })
      const client = connect(simulator, issuePushCertificate(apple, { environments: ['development'] }))
      expect(await client.goaway).toEqual({
        code: 0,
        lastStreamId: 0,
        data: '{"reason":"BadCertificateEnvironment"}',
      })
    })
  })

  describe('with faults', () => {
    it('throttles, fails and expires tokens in Apple’s words', async () => {
      const simulator = await start()
      const client = connect(simulator)
      expect(await ask(client)).toEqual([200, undefined])
      simulator.setFaults({ throttle: 1 })
      expect(await ask(client)).toEqual([429, 'TooManyRequests'])
      simulator.setFaults({ unavailable: 1 })
      expect(await ask(client)).toEqual([503, 'ServiceUnavailable'])
      simulator.setFaults({ refuseAuth: true })
      expect(await ask(client)).toEqual([403, 'InvalidProviderToken'])
      simulator.setFaults({ expireAuth: true })
      expect(await ask(client)).toEqual([403, 'ExpiredProviderToken'])
      expect(await ask(connect(simulator), { authorization: `bearer ${jwtOf()}` })).toEqual([200, undefined])
    })

    it('says goodbye after so many requests and refuses the rest', async () => {
      const simulator = await start()
      simulator.setFaults({ goawayAfter: 2 })
      const client = connect(simulator)
      expect(await ask(client)).toEqual([200, undefined])
      expect(await ask(client)).toEqual([200, undefined])
      expect(await client.goaway).toEqual({ code: 0, lastStreamId: 3, data: '{"reason":"Shutdown"}' })
      expect(simulator.ledger().accepted).toBe(2)
    })

    it('loses the answer of a push it has accepted', async () => {
      const simulator = await start()
      simulator.setFaults({ cut: 1 })
      await expect(ask(connect(simulator))).rejects.toThrow()
      expect(simulator.ledger(7).accepted).toBe(1)
    })
  })

  it('takes anybody’s credential for load', async () => {
    const simulator = await start({ keys: [], acceptAnyCredentials: true })
    expect(await ask(connect(simulator), { authorization: 'bearer anything' })).toEqual([200, undefined])
  })

  it('serves its own routes over HTTP/1.1 and HTTP/2, and pushes over HTTP/2 alone', async () => {
    const simulator = await start()
    const client = connect(simulator)
    await ask(client)
    const plain = (method: string, path: string, body?: string) =>
      new Promise<[number | undefined, string]>((resolve, reject) => {
        const request = httpsRequest(`${simulator.url}${path}`, { method, ca: simulator.ca }, (response) => {
          let text = ''
          response.setEncoding('utf8')
          response.on('data', (chunk) => {
            text += chunk
          })
          response.on('end', () => resolve([response.statusCode, text]))
        })
        request.on('error', reject)
        request.end(body)
      })
    const ledger = '{"accepted":1,"distinct":1,"duplicates":0}'
    expect(await plain('GET', '/_sim/ledger?task_id=7')).toEqual([200, ledger])
    expect(await client.send({ ':path': '/_sim/ledger?task_id=7' })).toMatchObject({
      status: 200,
      body: ledger,
    })
    expect(await plain('GET', '/_sim/ledger/devices?task_id=7')).toEqual([
      200,
      JSON.stringify({ tokens: [token] }),
    ])
    expect(await plain('POST', '/_sim/dead', JSON.stringify({ tokens: [token], since: 5 }))).toEqual([
      200,
      '{"dead":1}',
    ])
    expect(await ask(client)).toEqual([410, 'Unregistered'])
    expect((await plain('POST', '/_sim/faults', '{"thrrottle":1}'))[0]).toBe(400)
    expect((await plain('POST', '/_sim/reset'))[0]).toBe(200)
    expect(await ask(client)).toEqual([200, undefined])
    expect((await plain('POST', `/3/device/${token}`, alert))[0]).toBe(505)
  })
})
