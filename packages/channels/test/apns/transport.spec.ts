import { readFileSync } from 'node:fs'
import { type Outcome, ownReasons } from '@herald/domain'
import { type ApnsSimulator, type ApnsSimulatorOptions, startApnsSimulator } from '@herald/simulators/apns'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { adapter as apns } from '../../src/apns/channel.ts'
import {
  type Certificate,
  isUnsupported,
  type Recipient,
  type Transport,
  type TransportDeps,
} from '../../src/channel.ts'
import { startConnectProxy } from '../connect-proxy.ts'
import { startRefusingServer } from '../refusing-server.ts'
import { sampleDeps, sampleTask, sampleUrls } from '../samples.ts'
import {
  bundleId,
  issuePushCertificate,
  keyId,
  newAppleAuthority,
  newSigningKey,
  teamId,
  tokenCertificate,
} from './credentials.ts'

const token = (index: number) => `b${index.toString(16).padStart(7, '0')}`.padEnd(64, '5')
const recipientsOf = (count: number): Recipient[] =>
  Array.from({ length: count }, (_, index) => ({ deviceId: index, token: token(index), badge: index }))
const minutes = (count: number) => count * 60_000
const p8 = newSigningKey()

describe('the APNs transport', () => {
  const opened: { close(): Promise<void> }[] = []
  afterEach(async () => {
    for (const one of opened.splice(0).reverse()) await one.close()
    jest.restoreAllMocks()
  })

  /** The pool opens one more connection if requests wait 500 ms after the last one was opened, and sends all after a second without a reply. */
  const stopClock = () => jest.spyOn(performance, 'now').mockReturnValue(performance.now())

  async function startSimulator(options: ApnsSimulatorOptions = {}): Promise<ApnsSimulator> {
    const simulator = await startApnsSimulator({ keys: [{ keyId, teamId, key: p8 }], ...options })
    opened.push(simulator)
    return simulator
  }

  function depsFor(simulator: ApnsSimulator, over: Partial<TransportDeps> = {}) {
    const urls = sampleUrls({ apns: simulator.url, apnsSandbox: simulator.url })
    return sampleDeps({ urls, ca: simulator.ca, ...over })
  }

  function openFor(deps: TransportDeps, certificate: Certificate = tokenCertificate(p8)) {
    const transport = apns.open(apns.readSettings(certificate), deps)
    opened.push(transport)
    return transport
  }

  async function send(
    transport: Transport<unknown>,
    recipients: Recipient[],
    message: Parameters<typeof sampleTask>[0] = {},
  ): Promise<(Outcome | undefined)[]> {
    const task = sampleTask(message, { taskId: 7 })
    const payload = apns.mapPayload(task, apns.readSettings(tokenCertificate(p8)))
    if (isUnsupported(payload)) throw new Error(payload.unsupported)
    const outcomes: (Outcome | undefined)[] = recipients.map(() => undefined)
    await transport.send(payload, recipients, {
      signal: new AbortController().signal,
      report: (index, outcome) => {
        outcomes[index] = outcome
      },
    })
    return outcomes
  }

  const kinds = (outcomes: (Outcome | undefined)[]) => [...new Set(outcomes.map((outcome) => outcome?.kind))]

  it.each(['own', 'reference'] as const)(
    'keeps the token of a device that is dead for another push type only: %s client',
    async (client) => {
      const simulator = await startSimulator()
      const transport = openFor(depsFor(simulator, { client }))
      const recipients = ['dead', 'badbadbadbadbad0'].map((prefix, deviceId) => ({
        deviceId,
        token: prefix.repeat(64 / prefix.length),
      }))
      const voip = await send(transport, recipients, { ios: { pushType: 'voip' } })
      expect(voip.map((outcome) => outcome?.kind)).toEqual(['rejected', 'rejected'])
      expect((await send(transport, recipients)).map((outcome) => outcome?.kind)).toEqual(['gone', 'gone'])
    },
  )

  it('holds the topic of one push type only', async () => {
    const simulator = await startSimulator()
    const transport = openFor(depsFor(simulator))
    simulator.setFaults({ reply: { status: 400, body: { reason: 'TopicDisallowed' }, path: '/3/device/b0' } })
    const live = { title: undefined, body: undefined, ios: { liveActivity: { event: 'end' } } } as const
    const one = recipientsOf(1)
    expect(kinds(await send(transport, one, live))).toEqual(['rejected'])
    simulator.setFaults({})
    expect(kinds(await send(transport, one, live))).toEqual(['rejected'])
    expect(kinds(await send(transport, one))).toEqual(['accepted'])
  })

  it('gives each device its own badge over one connection', async () => {
    stopClock()
    const simulator = await startSimulator({ strict: true })
    const transport = openFor(depsFor(simulator))
    expect(kinds(await send(transport, recipientsOf(300)))).toEqual(['accepted'])
    const badges = new Map(simulator.received().map((push) => [push.token, JSON.parse(push.body).aps.badge]))
    for (let index = 0; index < 300; index++) expect(badges.get(token(index))).toBe(index)
    expect(simulator.connections()).toBe(1)
  })

  describe('with a payload for each recipient', () => {
    const settings = apns.readSettings(tokenCertificate(p8))
    async function sendEach(
      transport: Transport<unknown>,
      recipients: Recipient[],
      messages: Parameters<typeof sampleTask>[0][],
    ): Promise<string[]> {
      const payloads = messages.map((message, index) => {
        const payload = apns.mapPayload(sampleTask(message, { taskId: 100 + index }), settings)
        if (isUnsupported(payload)) throw new Error(payload.unsupported)
        return payload
      })
      const reported: string[][] = recipients.map(() => [])
      await transport.sendEach!(payloads, recipients, {
        signal: new AbortController().signal,
        report: (index, outcome) => reported[index]!.push(outcome.kind),
      })
      return reported.map((kinds) => kinds.join())
    }

    it('sends each its own, with its own headers, over one connection', async () => {
      stopClock()
      const simulator = await startSimulator({ strict: true })
      const transport = openFor(depsFor(simulator))
      const messages = Array.from({ length: 60 }, (_, index) => ({
        title: `Order ${index} ö`,
        collapseKey: index % 2 === 0 ? `key ${index}` : undefined,
        ...(index % 3 === 0 && { ios: { priority: 5 as const } }),
      }))
      expect(await sendEach(transport, recipientsOf(60), messages)).toEqual(new Array(60).fill('accepted'))
      const received = new Map(simulator.received().map((push) => [push.token, push]))
      expect(received.size).toBe(60)
      messages.forEach(({ title }, index) => {
        const { body, headers } = received.get(token(index))!
        const { aps, task_id } = JSON.parse(body)
        expect([aps.alert.title, aps.badge, task_id]).toEqual([title, index, String(100 + index)])
        expect(headers['apns-collapse-id']).toBe(index % 2 === 0 ? `key ${index}` : `t${100 + index}`)
        expect(headers['apns-priority']).toBe(index % 3 === 0 ? '5' : '10')
        expect(Number(headers['apns-expiration'])).toBeGreaterThan(0)
      })
      expect(simulator.connections()).toBe(1)
    })

    it('reports every recipient once, in its place', async () => {
      const simulator = await startSimulator()
      const transport = openFor(depsFor(simulator))
      const recipients = recipientsOf(4).map((one, index) =>
        index === 1
          ? { ...one, token: 'dead'.repeat(16) }
          : index === 2
            ? { ...one, bundleId: 'com.example.Stranger' }
            : one,
      )
      expect(
        await sendEach(
          transport,
          recipients,
          recipients.map(() => ({})),
        ),
      ).toEqual(['accepted', 'gone', 'rejected', 'accepted'])
      expect(simulator.received()).toHaveLength(2)
    })

    it('has no such method with the reference client', async () => {
      const simulator = await startSimulator()
      expect(openFor(depsFor(simulator, { client: 'reference' })).sendEach).toBeUndefined()
    })
  })

  it('uses the topic of a binding if the certificate allows it', async () => {
    const simulator = await startSimulator()
    const extra = { bundle_ids: ['com.example.Other'] }
    const transport = openFor(depsFor(simulator), tokenCertificate(p8, { extra }))
    const bundleIds = [undefined, 'com.example.Other', bundleId, 'com.example.Stranger']
    const outcomes = await send(
      transport,
      recipientsOf(4).map((recipient, index) => ({ ...recipient, bundleId: bundleIds[index] })),
    )
    expect(outcomes.map((outcome) => outcome?.kind)).toEqual(['accepted', 'accepted', 'accepted', 'rejected'])
    const topics = new Map(simulator.received().map((push) => [push.token, push.headers['apns-topic']]))
    expect([0, 1, 2, 3].map((index) => topics.get(token(index)))).toEqual([
      bundleId,
      'com.example.Other',
      bundleId,
      undefined,
    ])
  })

  it('reports since when a token is dead', async () => {
    const simulator = await startSimulator()
    simulator.kill([token(0)], 1_721_990_000_123)
    expect(await send(openFor(depsFor(simulator)), recipientsOf(1))).toEqual([
      {
        kind: 'gone',
        reason: { code: 'apns.Unregistered', text: '410 Unregistered' },
        since: 1_721_990_000_123,
      },
    ])
  })

  it('shares one provider token and renews it after 50 minutes', async () => {
    let now = Date.now()
    const clock = () => now
    const simulator = await startSimulator({ now: clock, tokenUpdateGrace: 0 })
    const deps = depsFor(simulator, { now: clock })
    const transports = [openFor(deps), openFor(deps)]
    const sendAll = async () => {
      for (const transport of transports)
        expect(kinds(await send(transport, recipientsOf(2)))).toEqual(['accepted'])
      return new Set(simulator.received().map((push) => push.headers.authorization)).size
    }
    expect(await sendAll()).toBe(1)
    now += minutes(49)
    expect(await sendAll()).toBe(1)
    now += minutes(2)
    expect(await sendAll()).toBe(2)
    expect(deps.mints()).toBe(2)
  })

  it('replaces an expired token, uses a new connection and sends again', async () => {
    stopClock()
    let now = Date.now()
    const clock = () => now
    const simulator = await startSimulator({ now: clock })
    let kept: string | undefined
    const minted: string[] = []
    const deps = depsFor(simulator, {
      now: clock,
      // A store that returns its value until it is reported as stale.
      async session(_key, mint, stale) {
        if (kept === undefined || kept === stale) {
          kept = (await mint()).value
          minted.push(kept)
        }
        return kept
      },
    })
    const transport = openFor(deps)
    expect(kinds(await send(transport, recipientsOf(1)))).toEqual(['accepted'])
    now += minutes(61)
    expect(kinds(await send(transport, recipientsOf(30)))).toEqual(['accepted'])
    expect(minted).toHaveLength(2)
    // It was not replaced early, so the next one may be.
    expect(minted[1]).not.toContain(' ')
    expect(simulator.connections()).toBe(2)
    expect(simulator.ledger(7).distinct).toBe(30)
  })

  it('sends nothing when it was stopped while waiting for its token', async () => {
    const simulator = await startSimulator()
    const asked = Promise.withResolvers<void>()
    const stop = new AbortController()
    const transport = openFor(
      depsFor(simulator, {
        session() {
          asked.resolve()
          return new Promise(() => {})
        },
      }),
    )
    const payload = apns.mapPayload(sampleTask({}, { taskId: 7 }), apns.readSettings(tokenCertificate(p8)))
    if (isUnsupported(payload)) throw new Error(payload.unsupported)
    const report = () => {
      throw new Error('a token was requested')
    }
    const sending = transport.send(payload, recipientsOf(2), { signal: stop.signal, report })
    await asked.promise
    stop.abort()
    await expect(sending).rejects.toMatchObject({ kind: 'aborted' })
    expect(simulator.connections()).toBe(0)
  })

  it('reports a wrong clock instead of requesting tokens repeatedly', async () => {
    const simulator = await startSimulator()
    const deps = depsFor(simulator, { now: () => Date.now() - minutes(120) })
    const transport = openFor(deps)
    for (let sends = 0; sends < 2; sends++)
      expect(await send(transport, recipientsOf(2))).toEqual(
        Array(2).fill({
          kind: 'unavailable',
          reason: { code: 'apns.ExpiredProviderToken.new_token', text: expect.stringContaining('clock') },
          minWait: 60,
        }),
      )
    // Apple takes no second token within 20 minutes.
    expect(deps.mints()).toBe(1)
  })

  it('replaces a token that a host whose clock is ahead has made, once', async () => {
    const now = Date.now()
    const simulator = await startSimulator({ now: () => now })
    simulator.setFaults({ rules: ['future_tokens_refused'] })
    let ahead = minutes(90)
    const deps = depsFor(simulator, { now: () => now + ahead })
    expect(kinds(await send(openFor(deps), recipientsOf(2)))).toEqual(['unavailable'])
    expect(deps.mints()).toBe(1)
    // Another host, whose clock is right, gets the same token from the shared session.
    ahead = 0
    expect(kinds(await send(openFor(deps), recipientsOf(2)))).toEqual(['accepted'])
    expect(deps.mints()).toBe(2)
    simulator.setFaults({ refuseAuth: true })
    ahead = -minutes(5)
    expect(kinds(await send(openFor(deps), recipientsOf(2)))).toEqual(['unavailable'])
    expect(deps.mints()).toBe(2)
  })

  it('does not try refused credentials for every device, and believes a refusal that lasts', async () => {
    stopClock()
    let now = Date.now()
    const simulator = await startSimulator({ now: () => now })
    const transport = openFor(depsFor(simulator, { now: () => now }), tokenCertificate(newSigningKey()))
    const reason = {
      code: 'apns.InvalidProviderToken',
      text: expect.stringContaining('403 InvalidProviderToken'),
    }
    const sent = async () => {
      const requests = simulator.requests()
      const outcomes = await send(transport, recipientsOf(1000))
      expect(simulator.requests() - requests).toBeLessThan(10)
      return outcomes
    }
    expect(await sent()).toEqual(Array(1000).fill({ kind: 'unavailable', reason, minWait: 10 }))
    expect(simulator.connections()).toBe(2)
    now += minutes(3) - 1
    expect(kinds(await sent())).toEqual(['unavailable'])
    now += 1
    expect(await sent()).toEqual(Array(1000).fill({ kind: 'misconfigured', reason }))
  })

  it.each(['own', 'reference'] as const)(
    'forgets refusals after an accepted push, and reports one in a check at once: %s client',
    async (client) => {
      let now = Date.now()
      const simulator = await startSimulator({ now: () => now })
      const transport = openFor(depsFor(simulator, { client, now: () => now }))
      const sent = async (refuseAuth: boolean) => {
        simulator.setFaults({ refuseAuth })
        return kinds(await send(transport, recipientsOf(2)))
      }
      expect(await sent(true)).toEqual(['unavailable'])
      expect(await transport.check(new AbortController().signal)).toMatchObject({
        ok: false,
        temporary: false,
        code: 'apns.InvalidProviderToken',
      })
      now += minutes(2)
      expect(await sent(false)).toEqual(['accepted'])
      now += minutes(2)
      expect(await sent(true)).toEqual(['unavailable'])
      now += minutes(3)
      expect(await sent(true)).toEqual(['misconfigured'])
    },
  )

  /** Refuses the devices whose token begins so, though the key is valid. */
  const refuseTokens = (simulator: ApnsSimulator, prefix: string) =>
    simulator.setFaults({
      reply: { status: 403, body: { reason: 'InvalidProviderToken' }, path: `/3/device/${prefix}` },
    })

  it('does not believe a refusal among accepted pushes', async () => {
    stopClock()
    const simulator = await startSimulator()
    const transport = openFor(depsFor(simulator))
    // 16 of 1000 recipients, twice: the second time on a new connection.
    refuseTokens(simulator, 'b000005')
    const outcomes = await send(transport, recipientsOf(1000))
    expect(kinds(outcomes.slice(0x50, 0x60))).toEqual(['unavailable'])
    expect(kinds([...outcomes.slice(0, 0x50), ...outcomes.slice(0x60)])).toEqual(['accepted'])
    expect(simulator.ledger(7)).toEqual({ accepted: 984, distinct: 984, duplicates: 0 })
    expect(simulator.requests()).toBe(1016)
    expect(simulator.connections()).toBe(2)
  })

  it('stops a batch in a wave of refusals that begins while it is sent', async () => {
    const simulator = await startSimulator({ streams: 10 })
    const transport = openFor(depsFor(simulator))
    refuseTokens(simulator, 'b00003')
    const outcomes = await send(transport, recipientsOf(1000))
    expect(kinds(outcomes.slice(0, 0x300))).toEqual(['accepted'])
    expect(kinds(outcomes.slice(0x300))).toEqual(['unavailable'])
    expect(simulator.requests() - 0x300).toBeLessThan(100)
  })

  it.each([
    ['ExpiredProviderToken', 1],
    ['InvalidProviderToken', 20],
  ])('repeats nothing that was accepted when %s stops the batch', async (reason, stopsAfter) => {
    stopClock()
    const server = await startRefusingServer({
      refusal: { status: 403, body: { reason } },
      stopsAfter,
      tokenOf: (path) => path.slice(path.lastIndexOf('/') + 1),
    })
    opened.push(server)
    let now = Date.now()
    const deps = sampleDeps({
      urls: sampleUrls({ apns: server.url }),
      now: () => now,
      // A token that is younger than 20 minutes is not replaced.
      async session(_key, mint) {
        const { value } = await mint()
        now += minutes(21)
        return value
      },
    })
    const transport = openFor(deps)
    const recipients = recipientsOf(200)
    expect(kinds(await send(transport, recipients))).toEqual(['accepted'])
    expect(server.accepted.sort()).toEqual(recipients.map((recipient) => recipient.token))
    expect(server.requests()).toBeLessThan(400)
  })

  it('never takes the page of a gateway for the word of Apple', async () => {
    const simulator = await startSimulator({ streams: 10 })
    const transport = openFor(depsFor(simulator))
    expect(kinds(await send(transport, recipientsOf(1)))).toEqual(['accepted'])
    simulator.setFaults({ htmlForbidden: 1 })
    expect(kinds(await send(transport, recipientsOf(1000)))).toEqual(['unavailable'])
    expect(simulator.requests()).toBeLessThan(100)
    expect(await transport.check(new AbortController().signal)).toMatchObject({ ok: false, temporary: true })
    simulator.setFaults({})
    expect(kinds(await send(transport, recipientsOf(1)))).toEqual(['accepted'])
  })

  it('sends one request when Apple wants no more new tokens, and none in the 20 minutes after', async () => {
    stopClock()
    const start = Date.now()
    let now = start
    const simulator = await startSimulator({ now: () => now })
    const reply = { status: 429, body: { reason: 'TooManyProviderTokenUpdates' } }
    simulator.setFaults({ reply })
    const extra = { bundle_ids: ['com.example.Other'] }
    const transport = openFor(depsFor(simulator, { now: () => now }), tokenCertificate(p8, { extra }))
    const recipients = recipientsOf(1000)
    for (const recipient of recipients.slice(500)) recipient.bundleId = 'com.example.Other'
    expect(new Set((await send(transport, recipients)).map((outcome) => JSON.stringify(outcome)))).toEqual(
      new Set([
        JSON.stringify({
          kind: 'quota',
          reason: {
            code: 'apns.TooManyProviderTokenUpdates',
            text: '429 TooManyProviderTokenUpdates: the key was used with too many provider tokens',
          },
          until: start + minutes(20),
        }),
      ]),
    )
    expect(simulator.requests()).toBe(1)
    simulator.setFaults({})
    now += minutes(19)
    expect(kinds(await send(transport, recipientsOf(2)))).toEqual(['quota'])
    expect(simulator.requests()).toBe(1)
    now += minutes(1)
    expect(kinds(await send(transport, recipientsOf(2)))).toEqual(['accepted'])
  })

  it('holds a refused topic and sends to the others', async () => {
    stopClock()
    const keys = [{ keyId, teamId, key: p8, topics: [bundleId] }]
    const simulator = await startSimulator({ keys })
    const extra = { bundle_ids: ['com.example.Wrong'] }
    const deps = depsFor(simulator)
    const transport = openFor(deps, tokenCertificate(p8, { extra }))
    const recipients = recipientsOf(40)
    for (const recipient of recipients.slice(0, 20)) recipient.bundleId = 'com.example.Wrong'
    const outcomes = await send(transport, recipients)
    expect(kinds(outcomes.slice(0, 20))).toEqual(['rejected'])
    expect(kinds(outcomes.slice(20))).toEqual(['accepted'])
    expect(simulator.requests()).toBe(21)
    expect(deps.holds.find('topic com.example.Wrong')).toMatchObject({
      kind: 'rejected',
      reason: { code: 'apns.TopicDisallowed' },
    })
    expect(deps.holds.find(`topic ${bundleId}`)).toBeUndefined()
    expect(await send(transport, recipients.slice(0, 30))).toEqual(outcomes.slice(0, 30))
    expect(simulator.requests()).toBe(31)
  })

  it.each(['BadDeviceToken', 'DeviceTokenNotForTopic'])(
    'holds a topic of which every token has been called dead for ten minutes (%s), and sends to the others',
    async (word) => {
      let now = Date.now()
      const simulator = await startSimulator({ now: () => now })
      const other = 'com.example.Other'
      const deps = depsFor(simulator, { now: () => now })
      const transport = openFor(deps, tokenCertificate(p8, { extra: { bundle_ids: [other] } }))
      simulator.setFaults({ reply: { status: 400, body: { reason: word }, path: '/3/device/c' } })
      const recipients = recipientsOf(40).map((one, index) =>
        index < 30 ? { ...one, token: `c${one.token.slice(1)}`, bundleId: other } : one,
      )
      expect(kinds(await send(transport, recipients.slice(0, 8)))).toEqual(['gone'])
      expect(deps.holds.find(`topic ${other}`)).toBeUndefined()
      const outcomes = await send(transport, recipients.slice(8))
      expect(outcomes.filter((outcome) => outcome?.kind === 'gone')).toHaveLength(12)
      expect(outcomes.filter((outcome) => outcome?.kind === 'rejected')).toHaveLength(10)
      expect(outcomes.filter((outcome) => outcome?.kind === 'accepted')).toHaveLength(10)
      expect(deps.holds.find(`topic ${other}`)).toBeUndefined()
      now += minutes(10)
      expect(kinds(await send(transport, recipients.slice(0, 30)))).toEqual(['rejected'])
      expect(deps.holds.find(`topic ${other}`)).toMatchObject({
        kind: 'rejected',
        reason: {
          code: `apns.${word}.topic`,
          text: expect.stringContaining('check the environment and the bundle id'),
        },
      })
      expect(deps.holds.find(`topic ${bundleId}`)).toBeUndefined()
      const requests = simulator.requests()
      expect(kinds(await send(transport, recipients.slice(0, 30)))).toEqual(['rejected'])
      expect(simulator.requests()).toBe(requests)
      expect(kinds(await send(transport, recipients.slice(30)))).toEqual(['accepted'])
    },
  )

  it('checks every topic and names those that Apple refuses', async () => {
    const keys = [{ keyId, teamId, key: p8, topics: [bundleId] }]
    const simulator = await startSimulator({ keys })
    const checkOf = (over: Partial<Certificate>) =>
      openFor(depsFor(simulator), tokenCertificate(p8, over)).check(new AbortController().signal)
    const wrong = 'com.example.Wrong'
    expect(await checkOf({ extra: { bundle_ids: [wrong] } })).toEqual({
      ok: true,
      warnings: [expect.stringContaining(`not for ${wrong}:`)],
    })
    expect(await checkOf({ appId: wrong, extra: { bundle_ids: [bundleId] } })).toMatchObject({ ok: true })
    expect(await checkOf({ appId: wrong })).toEqual({
      ok: false,
      problem: expect.stringContaining(`not for ${wrong}:`),
      temporary: true,
    })
    expect(await checkOf({})).toEqual({ ok: true })
  })

  it('after GOAWAY, sends again only what was not processed', async () => {
    const simulator = await startSimulator()
    simulator.setFaults({ goawayAfter: 40 })
    const transport = openFor(depsFor(simulator))
    expect(kinds(await send(transport, recipientsOf(150)))).toEqual(['accepted'])
    expect(simulator.ledger(7)).toEqual({ accepted: 150, distinct: 150, duplicates: 0 })
    expect(simulator.connections()).toBeGreaterThanOrEqual(4)
  })

  it('continues after the stream limit was lowered to one', async () => {
    const simulator = await startSimulator({ oneStreamAfterRejection: true })
    const recipients = recipientsOf(60)
    for (const index of [3, 20, 40]) recipients[index]!.token = `badbadbadbadbad0${token(index).slice(16)}`
    const outcomes = await send(openFor(depsFor(simulator)), recipients)
    expect(outcomes.filter((outcome) => outcome?.kind === 'accepted')).toHaveLength(57)
    expect(outcomes.filter((outcome) => outcome?.kind === 'gone')).toHaveLength(3)
    expect(simulator.ledger(7).duplicates).toBe(0)
  })

  it('reports the reason that only GOAWAY contains', async () => {
    const apple = newAppleAuthority()
    const simulator = await startSimulator({ certificateAuthorities: [apple.cert] })
    const { cert, key } = issuePushCertificate(apple, { environments: ['development'] })
    const record = tokenCertificate(cert + key, { appKey: '', appSecret: '', environment: 'development' })
    // Waiting for the time limit would exceed the test's limit.
    const transport = openFor(depsFor(simulator, { timeoutMs: 600_000 }), record)
    expect(await send(transport, recipientsOf(20))).toEqual(
      Array(20).fill({
        kind: 'misconfigured',
        reason: { code: 'apns.BadCertificateEnvironment', text: 'GOAWAY BadCertificateEnvironment' },
      }),
    )
    expect(await transport.check(new AbortController().signal)).toEqual({
      ok: false,
      problem: 'APNs refused the credentials: GOAWAY BadCertificateEnvironment',
      temporary: false,
      code: 'apns.BadCertificateEnvironment',
    })
  })

  it('sends with a .p12 as Keychain exports it', async () => {
    const fixture = (name: string) => readFileSync(new URL(`./fixtures/${name}.txt`, import.meta.url), 'utf8')
    const simulator = await startSimulator({ certificateAuthorities: [fixture('authority.pem')] })
    const record = tokenCertificate(fixture('keychain.p12'), { appId: '', appKey: '', appSecret: 'parcel' })
    const transport = openFor(depsFor(simulator), record)
    expect(kinds(await send(transport, recipientsOf(20)))).toEqual(['accepted'])
    expect(simulator.received()[0]!.headers.authorization).toBeUndefined()
    expect(await transport.check(new AbortController().signal)).toEqual({ ok: true })
  })

  it('reports an expired certificate without a call to Apple', async () => {
    const simulator = await startSimulator()
    const { cert, key } = issuePushCertificate(newAppleAuthority(), { notAfter: new Date('2020-02-03') })
    const transport = openFor(depsFor(simulator), tokenCertificate(cert + key, { appKey: '', appSecret: '' }))
    const reason = ownReasons.push_certificate_expired('2020-02-03')
    expect(await send(transport, recipientsOf(2))).toEqual(Array(2).fill({ kind: 'misconfigured', reason }))
    expect(await transport.check(new AbortController().signal)).toEqual({
      ok: false,
      problem: `APNs refused the credentials: ${reason.text}`,
      temporary: false,
      code: reason.code,
    })
    expect(simulator.connections()).toBe(0)
  })

  it('uses a proxy', async () => {
    stopClock()
    const simulator = await startSimulator()
    const proxy = await startConnectProxy()
    opened.push(proxy)
    const transport = openFor(depsFor(simulator, { proxy: proxy.url }))
    expect(kinds(await send(transport, recipientsOf(5)))).toEqual(['accepted'])
    expect(proxy.asked).toEqual([new URL(simulator.url).host])
  })

  it('calls the host of the record’s environment', async () => {
    const sandbox = await startSimulator({ environment: 'development' })
    const deps = sampleDeps({ urls: sampleUrls({ apnsSandbox: sandbox.url }), ca: sandbox.ca })
    const transport = openFor(deps, tokenCertificate(p8, { environment: 'development' }))
    expect(kinds(await send(transport, recipientsOf(1)))).toEqual(['accepted'])
  })

  it('trusts known authorities only', async () => {
    const simulator = await startSimulator()
    const transport = openFor(depsFor(simulator, { ca: undefined }))
    const [outcome] = await send(transport, recipientsOf(1))
    expect(outcome?.kind).toBe('unavailable')
    expect(simulator.requests()).toBe(0)
  })
})
