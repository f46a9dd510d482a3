import { createServer } from 'node:http'
import type { Outcome } from '@herald/domain'
import { type FcmSimulator, type FcmSimulatorOptions, startFcmSimulator } from '@herald/simulators/fcm'
import { closeServer, listen } from '@herald/testkit'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { type Certificate, isUnsupported, type Transport, type TransportDeps } from '../../src/channel.ts'
import { adapter as fcm } from '../../src/fcm/channel.ts'
import { type OpenFcmSender, openMulticastSender } from '../../src/fcm/sender.ts'
import { openTransport } from '../../src/fcm/transport.ts'
import { startConnectProxy } from '../connect-proxy.ts'
import { startRefusingServer } from '../refusing-server.ts'
import { sampleDeps, sampleTask, sampleUrls } from '../samples.ts'
import { accountCertificate, clientEmail, newAccountKey, projectId } from './credentials.ts'

const key = newAccountKey()
const token = (index: number) => `fid${index}:APA91b${index}`

/** For a server whose reply to an accepted message is empty, as that of APNs. */
const openNamingSender: OpenFcmSender = (...options) => {
  const sender = openMulticastSender(...options)
  const body = Buffer.from('{"name":"projects/parcel-post/messages/0:1"}')
  return {
    ...sender,
    post: (call) =>
      sender.post({
        ...call,
        onReply: (at, reply) => call.onReply(at, reply.status === 200 ? { status: 200, body } : reply),
      }),
  }
}

describe('the FCM transport', () => {
  const opened: { close(): Promise<void> }[] = []
  afterEach(async () => {
    for (const one of opened.splice(0).reverse()) await one.close()
  })

  async function startSimulator(options: FcmSimulatorOptions = {}): Promise<FcmSimulator> {
    const simulator = await startFcmSimulator({
      accounts: [{ clientEmail, key, projects: [projectId] }],
      ...options,
    })
    opened.push(simulator)
    return simulator
  }

  const depsFor = (simulator: FcmSimulator, over: Partial<TransportDeps> = {}) =>
    sampleDeps({
      urls: sampleUrls({ fcm: simulator.url, fcmToken: simulator.url }),
      ca: simulator.ca,
      ...over,
    })

  function openFor(deps: TransportDeps, certificate: Certificate = accountCertificate(key)) {
    const transport = fcm.open(fcm.readSettings(certificate), deps)
    opened.push(transport)
    return transport
  }

  async function send(transport: Transport<unknown>, tokens: string[]): Promise<(Outcome | undefined)[]> {
    const payload = fcm.mapPayload(sampleTask({}, { taskId: 7 }), fcm.readSettings(accountCertificate(key)))
    if (isUnsupported(payload)) throw new Error(payload.unsupported)
    const outcomes: (Outcome | undefined)[] = tokens.map(() => undefined)
    await transport.send(
      payload,
      tokens.map((each, index) => ({ deviceId: index, token: each })),
      {
        signal: new AbortController().signal,
        report: (index, outcome) => {
          outcomes[index] = outcome
        },
      },
    )
    return outcomes
  }

  it.each(['own', 'reference'] as const)(
    'sends each recipient its own message: %s client',
    async (client) => {
      const simulator = await startSimulator()
      const settings = fcm.readSettings(accountCertificate(key))
      const transport = openFor(depsFor(simulator, { client }))
      const recipients = Array.from({ length: 5 }, (_, index) => ({
        deviceId: index,
        token: index === 2 ? 'UNREGISTERED:x' : token(index),
        ios: index === 3,
      }))
      const payloads = recipients.map((_, index) => {
        const message = { title: `Order ${index}`, ios: { sound: 'ping.caf' } }
        const payload = fcm.mapPayload(sampleTask(message, { taskId: 100 + index }), settings)
        if (isUnsupported(payload)) throw new Error(payload.unsupported)
        return payload
      })
      const kinds: string[][] = recipients.map(() => [])
      await transport.sendEach!(payloads, recipients, {
        signal: new AbortController().signal,
        report: (index, { kind }) => kinds[index]!.push(kind),
      })
      expect(kinds.map((each) => each.join())).toEqual([
        'accepted',
        'accepted',
        'gone',
        'accepted',
        'accepted',
      ])
      const sent = new Map(
        simulator.received().map(({ body }) => {
          const { message } = JSON.parse(body)
          return [message.token, message]
        }),
      )
      for (const index of [0, 1, 3, 4])
        expect(JSON.stringify(sent.get(token(index)))).toContain(`Order ${index}`)
      const withSound = [...sent.values()].filter(({ apns }) => apns?.payload.aps.sound === 'ping.caf')
      expect(withSound.map((one) => one.token)).toEqual([token(3)])
    },
  )

  it('sends iPhones their own form of the message, and reports each recipient once', async () => {
    const simulator = await startSimulator()
    const settings = fcm.readSettings(accountCertificate(key))
    const transport = openFor(depsFor(simulator))
    const recipients = Array.from({ length: 6 }, (_, index) => ({
      deviceId: index,
      token: index === 3 ? 'UNREGISTERED:x' : token(index),
      ios: index % 2 === 1,
    }))
    const outcomesOf = async (message: object) => {
      const payload = fcm.mapPayload(sampleTask(message, { taskId: 7 }), settings)
      if (isUnsupported(payload)) throw new Error(payload.unsupported)
      const kinds: string[][] = recipients.map(() => [])
      await transport.send(payload, recipients, {
        signal: new AbortController().signal,
        report: (index, { kind }) => kinds[index]!.push(kind),
      })
      return kinds.map((each) => each.join())
    }
    expect(await outcomesOf({ ios: { sound: 'ping.caf' } })).toEqual([
      'accepted',
      'accepted',
      'accepted',
      'gone',
      'accepted',
      'accepted',
    ])
    const sent = simulator.received().map(({ body }) => JSON.parse(body).message)
    expect(sent.filter(({ apns }) => apns?.payload.aps.sound === 'ping.caf').map((one) => one.token)).toEqual(
      [token(1), token(5)],
    )
    expect(sent.filter(({ android }) => android).map((one) => one.token)).toEqual([
      token(0),
      token(2),
      token(4),
    ])
    expect(await outcomesOf({ ios: { pushType: 'voip' } })).toEqual([
      'accepted',
      'unsupported',
      'accepted',
      'unsupported',
      'accepted',
      'unsupported',
    ])
    expect(await outcomesOf({ title: undefined, body: undefined, ios: { locKey: 'B' } })).toEqual([
      'unsupported',
      'accepted',
      'unsupported',
      'gone',
      'unsupported',
      'accepted',
    ])
  })

  it('reports that only iPhones can be sent to, if there is none', async () => {
    const simulator = await startSimulator()
    const settings = fcm.readSettings(accountCertificate(key))
    const message = { title: undefined, body: undefined, ios: { locKey: 'B' } }
    const payload = fcm.mapPayload(sampleTask(message), settings)
    if (isUnsupported(payload)) throw new Error(payload.unsupported)
    const outcomes: Outcome[] = []
    await openFor(depsFor(simulator)).send(payload, [{ deviceId: 1, token: token(1) }], {
      signal: new AbortController().signal,
      report: (_, outcome) => outcomes.push(outcome),
    })
    expect(outcomes).toMatchObject([{ kind: 'unsupported' }])
    expect(simulator.requests()).toBe(0)
  })

  describe('with a picture that Google refuses', () => {
    const refused = { type: 'image', attachmentUrl: 'https://no address' } as const
    const devices = [
      { deviceId: 0, token: token(0) },
      { deviceId: 1, token: token(1), ios: true },
      { deviceId: 2, token: 'UNREGISTERED:x' },
    ]
    const settings = fcm.readSettings(accountCertificate(key))
    const payloadOf = (message: object, taskId = 7) => {
      const payload = fcm.mapPayload(sampleTask(message, { taskId }), settings)
      if (isUnsupported(payload)) throw new Error(payload.unsupported)
      return payload
    }
    const record = () => {
      const kinds: string[] = devices.map(() => '')
      const report = (index: number, { kind }: Outcome) => {
        kinds[index] += kind
      }
      return { kinds, context: { signal: new AbortController().signal, report } }
    }
    const picturesOf = (simulator: FcmSimulator) =>
      simulator.received().map(({ body }) => {
        const { android, apns, data } = JSON.parse(body).message
        return [android?.notification.image ?? apns?.fcm_options?.image, data.attachment_url]
      })

    it('sends once more without it, its address in the data', async () => {
      const simulator = await startSimulator()
      const { kinds, context } = record()
      await openFor(depsFor(simulator)).send(payloadOf(refused), devices, context)
      expect(kinds).toEqual(['accepted', 'accepted', 'gone'])
      expect(picturesOf(simulator)).toEqual(Array(2).fill([undefined, refused.attachmentUrl]))
    })

    it('keeps the pictures of other messages in the same call', async () => {
      const simulator = await startSimulator()
      const { kinds, context } = record()
      const good = { type: 'image', attachmentUrl: 'https://cdn.example.com/a.jpg' } as const
      const payloads = [payloadOf(good, 1), payloadOf(refused, 2), payloadOf({}, 3)]
      await openFor(depsFor(simulator)).sendEach!(payloads, devices, context)
      expect(kinds).toEqual(['accepted', 'accepted', 'gone'])
      expect(picturesOf(simulator)).toEqual([
        [good.attachmentUrl, undefined],
        [undefined, refused.attachmentUrl],
      ])
    })

    it('rejects a message that is refused without it too', async () => {
      const simulator = await startSimulator()
      const field = 'message.android.notification.image'
      const details = [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field }] }]
      simulator.setFaults({
        reply: { status: 400, body: { error: { status: 'INVALID_ARGUMENT', details } }, path: '/v1/' },
      })
      const { kinds, context } = record()
      await openFor(depsFor(simulator)).send(payloadOf(refused), devices, context)
      expect(kinds).toEqual(Array(3).fill('rejected'))
    })
  })

  const tokens = (count: number) => Array.from({ length: count }, (_, index) => token(index))
  const kinds = (outcomes: (Outcome | undefined)[]) => [...new Set(outcomes.map((outcome) => outcome?.kind))]

  it('writes each token into its own body', async () => {
    const simulator = await startSimulator()
    expect(kinds(await send(openFor(depsFor(simulator)), tokens(300)))).toEqual(['accepted'])
    const sent = simulator.received().map(({ body }) => JSON.parse(body).message.token)
    expect(sent.sort()).toEqual(tokens(300).sort())
  })

  it('requests one access token for all and renews it before it expires', async () => {
    let now = Date.now()
    const clock = () => now
    const simulator = await startSimulator({ now: clock })
    const deps = depsFor(simulator, { now: clock })
    const transports = [openFor(deps), openFor(deps)]
    const sendAll = () => Promise.all(transports.map((transport) => send(transport, tokens(3))))
    expect(kinds((await sendAll()).flat())).toEqual(['accepted'])
    now += 54 * 60_000
    await sendAll()
    expect(deps.mints()).toBe(1)
    now += 60_000
    expect(kinds((await sendAll()).flat())).toEqual(['accepted'])
    expect(deps.mints()).toBe(2)
  })

  it('waits as long as Google requires', async () => {
    const simulator = await startSimulator({ retryAfter: 17 })
    const transport = openFor(depsFor(simulator))
    await send(transport, tokens(1))
    simulator.setFaults({ throttle: 1 })
    expect(await send(transport, tokens(1))).toEqual([
      {
        kind: 'throttled',
        reason: { code: 'fcm.QUOTA_EXCEEDED', text: '429 QUOTA_EXCEEDED' },
        retryAfter: 17,
        minWait: 60,
      },
    ])
  })

  it('does not take Retry-After: 0 for a wish to be called at once', async () => {
    const simulator = await startSimulator()
    simulator.setFaults({ reply: { status: 503, headers: { 'retry-after': '0' }, path: '/v1/' } })
    const [outcome] = await send(openFor(depsFor(simulator)), tokens(1))
    expect(outcome).toMatchObject({ kind: 'unavailable', retryAfter: undefined, minWait: 10 })
  })

  it.each([
    ['an unknown project', { appId: 'no-such-project' }, {}],
    ['a missing role', {}, { accounts: [{ clientEmail, key, projects: [projectId], withoutRole: true }] }],
  ])('believes that %s is refused after two minutes', async (_name, certificate, options) => {
    let now = Date.now()
    const simulator = await startSimulator({ ...options, now: () => now })
    const deps = depsFor(simulator, { now: () => now })
    const transport = openFor(deps, accountCertificate(key, certificate))
    const code = 'fcm.PERMISSION_DENIED.IAM_PERMISSION_DENIED'
    expect(kinds(await send(transport, tokens(2)))).toEqual(['unavailable'])
    now += 119_000
    expect(kinds(await send(transport, tokens(2)))).toEqual(['unavailable'])
    now += 1000
    expect(await send(transport, tokens(2))).toEqual(
      Array(2).fill({ kind: 'misconfigured', reason: { code, text: expect.stringContaining('403') } }),
    )
    expect(await transport.check(new AbortController().signal)).toMatchObject({ ok: false, temporary: false })
  })

  it('counts the two minutes of a denial from the last accepted message', async () => {
    let now = Date.now()
    const simulator = await startSimulator({ now: () => now })
    const transport = openFor(depsFor(simulator, { now: () => now }))
    const denied = async () => {
      simulator.setFaults({ rules: ['role_missing'] })
      const outcomes = await send(transport, tokens(1))
      simulator.setFaults({})
      return kinds(outcomes)
    }
    expect(await denied()).toEqual(['unavailable'])
    now += 100_000
    expect(kinds(await send(transport, tokens(1)))).toEqual(['accepted'])
    now += 100_000
    expect(await denied()).toEqual(['unavailable'])
    now += 120_000
    expect(await denied()).toEqual(['misconfigured'])
  })

  it('sends few requests of a batch that is denied', async () => {
    const simulator = await startSimulator()
    simulator.setFaults({ rules: ['role_missing'] })
    expect(kinds(await send(openFor(depsFor(simulator)), tokens(1000)))).toEqual(['unavailable'])
    // The simulator allows 100 streams.
    expect(simulator.requests()).toBeLessThan(1000)
  })

  it('survives a wave of 401 for a valid account', async () => {
    const simulator = await startSimulator()
    const deps = depsFor(simulator)
    const transport = openFor(deps)
    const body = { error: { code: 401, status: 'UNAUTHENTICATED' } }
    simulator.setFaults({ reply: { status: 401, body, path: '/v1/' } })
    expect(kinds(await send(transport, tokens(1000)))).toEqual(['unavailable'])
    expect(deps.mints()).toBe(2)
    expect(simulator.requests()).toBeLessThan(1000)
    expect(await transport.check(new AbortController().signal)).toMatchObject({ ok: false, temporary: true })
    simulator.setFaults({})
    expect(kinds(await send(transport, tokens(10)))).toEqual(['accepted'])
    expect(await transport.check(new AbortController().signal)).toEqual({ ok: true })
  })

  it('reports what Google accepts while a wave of refusals stops the batch', async () => {
    // The pool would open another connection when requests wait 500 ms.
    const clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now())
    const server = await startRefusingServer({
      refusal: { status: 429, body: { error: { code: 429, status: 'RESOURCE_EXHAUSTED' } } },
      stopsAfter: 20,
      tokenOf: (_path, body) => JSON.parse(body).message.token,
    })
    opened.push(server)
    const deps = sampleDeps({
      urls: sampleUrls({ fcm: server.url }),
      session: async () => 'an access token',
    })
    const transport = openTransport(fcm.readSettings(accountCertificate(key)), deps, openNamingSender)
    opened.push(transport)
    const outcomes = await send(transport, tokens(200))
    clock.mockRestore()
    expect(kinds(outcomes)).toEqual(['accepted', 'throttled'])
    const accepted = tokens(200).filter((_, index) => outcomes[index]?.kind === 'accepted')
    expect(server.accepted).toHaveLength(11)
    expect(accepted.sort()).toEqual(server.accepted.sort())
    expect(server.requests()).toBeLessThan(200)
  })

  it('never takes the page of a gateway for the word of Google', async () => {
    const simulator = await startSimulator()
    const transport = openFor(depsFor(simulator))
    simulator.setFaults({ htmlForbidden: 1 })
    expect(kinds(await send(transport, tokens(2)))).toEqual(['unavailable'])
    expect(await transport.check(new AbortController().signal)).toMatchObject({ ok: false, temporary: true })
    const page = { status: 403, headers: { 'content-type': 'text/html' }, body: '<html>', path: '/v1/' }
    simulator.setFaults({ reply: page })
    expect(kinds(await send(transport, tokens(1000)))).toEqual(['unavailable'])
    expect(simulator.requests()).toBeLessThan(1000)
    expect(await transport.check(new AbortController().signal)).toMatchObject({ ok: false, temporary: true })
    simulator.setFaults({ reply: { ...page, status: 200 } })
    expect(kinds(await send(transport, tokens(2)))).toEqual(['unavailable'])
    expect(await transport.check(new AbortController().signal)).toMatchObject({ ok: false, temporary: true })
  })

  it('distinguishes dead and valid tokens', async () => {
    const simulator = await startSimulator()
    const transport = openFor(depsFor(simulator))
    expect(kinds(await send(transport, [...tokens(2), 'UNREGISTERED:x', 'MISMATCH:x', 'INVALID:x']))).toEqual(
      ['accepted', 'gone'],
    )
    expect(kinds(await send(transport, ['NOTFOUND:x', 'THIRDPARTY:x']))).toEqual(['rejected'])
    expect(kinds(await send(transport, ['CANCELLED:x']))).toEqual(['unavailable'])
  })

  it('after GOAWAY, sends again only what was not processed', async () => {
    const simulator = await startSimulator()
    simulator.setFaults({ goawayAfter: 40 })
    expect(kinds(await send(openFor(depsFor(simulator)), tokens(150)))).toEqual(['accepted'])
    expect(simulator.ledger(7)).toEqual({ accepted: 150, distinct: 150, duplicates: 0 })
  })

  it('uses a proxy for tokens and messages', async () => {
    // The pool opens one more connection if requests wait 500 ms after the last one was opened, as on a slow machine.
    const clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now())
    const simulator = await startSimulator()
    const proxy = await startConnectProxy()
    opened.push(proxy)
    const transport = openFor(depsFor(simulator, { proxy: proxy.url }))
    expect(kinds(await send(transport, tokens(5)))).toEqual(['accepted'])
    const { host } = new URL(simulator.url)
    clock.mockRestore()
    expect(proxy.asked).toEqual([host, host])
  })

  it('uses the connections of the process for all certificates, until the last is closed', async () => {
    const projects = Array.from({ length: 30 }, (_, n) => `project-${n}`)
    const simulator = await startSimulator({ accounts: [{ clientEmail, key, projects }] })
    const proxy = await startConnectProxy()
    opened.push(proxy)
    const deps = depsFor(simulator, { proxy: proxy.url })
    const transports: Transport<unknown>[] = []
    for (const appId of projects) {
      const transport = openFor(deps, accountCertificate(key, { appId }))
      expect(kinds(await send(transport, tokens(1)))).toEqual(['accepted'])
      transports.push(transport)
    }
    // One for the access token, one for all messages.
    expect(proxy.asked).toHaveLength(2)
    const used = new Set(simulator.received().map(({ project }) => project))
    expect(used.size).toBe(30)
    for (const transport of transports.slice(1)) {
      await transport.close()
      await transport.close()
    }
    expect(kinds(await send(transports[0]!, tokens(1)))).toEqual(['accepted'])
    expect(proxy.asked).toHaveLength(2)
    await transports[0]!.close()
    await send(openFor(deps, accountCertificate(key, { appId: projects[0] })), tokens(1))
    expect(proxy.asked).toHaveLength(3)
  })

  it('checks over a connection of its own, and replaces refused connections that are older than a minute', async () => {
    const simulator = await startSimulator()
    const proxy = await startConnectProxy()
    opened.push(proxy)
    const deps = depsFor(simulator, { proxy: proxy.url })
    const transport = openFor(deps)
    await send(transport, tokens(1))
    expect(proxy.asked).toHaveLength(2)
    expect(await transport.check(new AbortController().signal)).toEqual({ ok: true })
    expect(proxy.asked).toHaveLength(3)
    const refused = openFor(deps, accountCertificate(key, { appId: 'no-such-project' }))
    const clock = jest.spyOn(performance, 'now')
    const now = performance.now.bind(performance)
    try {
      // For two minutes a denial counts as passing.
      expect(kinds(await send(refused, tokens(1)))).toEqual(['unavailable'])
      await send(transport, tokens(1))
      expect(proxy.asked).toHaveLength(3)
      const later = now() + 60_000
      clock.mockReturnValue(later)
      await send(refused, tokens(1))
      clock.mockRestore()
      expect(kinds(await send(transport, tokens(1)))).toEqual(['accepted'])
      expect(proxy.asked).toHaveLength(4)
    } finally {
      clock.mockRestore()
    }
  })

  it('keeps the path of its URL', async () => {
    const simulator = await startSimulator()
    const urls = sampleUrls({ fcm: `${simulator.url}/gateway/`, fcmToken: simulator.url })
    const transport = openFor(depsFor(simulator, { urls }))
    // The simulator replies to another path with HTML, which never retires a token.
    expect(await send(transport, tokens(1))).toEqual([
      {
        kind: 'unavailable',
        reason: { code: 'fcm.http_404', text: '404 without a code' },
        maxTries: 3,
      },
    ])
  })

  describe('without an access token', () => {
    const answers: [name: string, status: number, headers: object, body: string, outcome: object][] = [
      [
        'a reply without one',
        200,
        {},
        '{"id_token":"x"}',
        {
          kind: 'unavailable',
          reason: {
            code: 'herald.vendor_reply_unreadable',
            text: expect.stringContaining('has no access_token'),
          },
          minWait: 10,
        },
      ],
      [
        'a deleted key',
        400,
        {},
        '{"error":"invalid_grant","error_description":"Invalid JWT Signature."}',
        {
          kind: 'misconfigured',
          reason: {
            code: 'fcm.invalid_grant',
            text: 'token endpoint: 400 invalid_grant: the key was deleted or belongs to another account',
          },
        },
      ],
      [
        'a deleted account',
        400,
        {},
        '{"error":"invalid_grant","error_description":"Invalid grant: account not found"}',
        {
          kind: 'misconfigured',
          reason: {
            code: 'fcm.invalid_grant',
            text: 'token endpoint: 400 invalid_grant: the service account was deleted',
          },
        },
      ],
      [
        'a wrong clock',
        400,
        {},
        '{"error":"invalid_grant","error_description":"Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe."}',
        {
          kind: 'unavailable',
          reason: {
            code: 'fcm.invalid_grant',
            text: 'token endpoint: 400 invalid_grant: check the clock of this server',
          },
          minWait: 10,
        },
      ],
      [
        'a wrong audience',
        400,
        {},
        '{"error":"invalid_grant","error_description":"Invalid JWT: Failed audience check."}',
        {
          kind: 'unavailable',
          reason: {
            code: 'fcm.invalid_grant',
            text: 'token endpoint: 400 invalid_grant: the audience is wrong',
          },
          minWait: 10,
        },
      ],
      [
        'an empty scope',
        400,
        {},
        '{"error":"invalid_scope"}',
        {
          kind: 'misconfigured',
          reason: { code: 'fcm.invalid_scope', text: 'token endpoint: 400 invalid_scope' },
        },
      ],
      [
        'an account that may not',
        401,
        {},
        '{"error":"unauthorized_client"}',
        {
          kind: 'unavailable',
          reason: { code: 'fcm.unauthorized_client', text: 'token endpoint: 401 unauthorized_client' },
          minWait: 10,
          maxTries: 3,
        },
      ],
      [
        'the page of a gateway',
        403,
        {},
        '<html>',
        {
          kind: 'unavailable',
          reason: { code: 'fcm.oauth_403', text: 'token endpoint: 403 without a code' },
          minWait: 10,
        },
      ],
      [
        'too many asking',
        429,
        { 'retry-after': '9' },
        '{}',
        {
          kind: 'throttled',
          reason: { code: 'fcm.oauth_429', text: 'token endpoint: 429 without a code' },
          retryAfter: 9,
          minWait: 60,
        },
      ],
      [
        'an outage',
        503,
        {},
        '<html>',
        {
          kind: 'unavailable',
          reason: { code: 'fcm.oauth_503', text: 'token endpoint: 503 without a code' },
          minWait: 10,
        },
      ],
    ]

    it.each(answers)('because of %s', async (_name, status, headers, body, outcome) => {
      const server = createServer((_request, response) =>
        response.writeHead(status, { ...headers, 'content-type': 'application/json' }).end(body),
      )
      const fcmToken = `http://127.0.0.1:${await listen(server)}`
      opened.push({ close: () => closeServer(server) })
      const transport = openFor(sampleDeps({ urls: sampleUrls({ fcmToken }) }))
      expect(await send(transport, tokens(2))).toEqual([outcome, outcome])
      const temporary = (outcome as Outcome).kind !== 'misconfigured'
      expect(await transport.check(new AbortController().signal)).toMatchObject({ ok: false, temporary })
    })
  })
})
