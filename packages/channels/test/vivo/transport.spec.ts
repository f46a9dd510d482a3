import type { Message } from '@herald/domain'
import { startSimServer } from '@herald/simulators/server'
import { startVivoSimulator, type VivoSimulator } from '@herald/simulators/vivo'
import { startReceiver } from '@herald/testkit/receiver'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { isUnsupported, type Task, type TransportDeps } from '../../src/channel.ts'
import { adapter as vivo } from '../../src/vivo/channel.ts'
import { outcomesOf } from '../outcomes-of.ts'
import { sampleDeps, sampleTask, sampleUrls } from '../samples.ts'
import { vivoCertificate, vivoCredential, vivoToken } from './fixtures.ts'

const settings = vivo.readSettings(vivoCertificate())
const tokens = (count: number) => Array.from({ length: count }, (_, i) => vivoToken(i))
const kindsOf = (outcomes: { kind: string }[]) => [...new Set(outcomes.map((outcome) => outcome.kind))]

function payloadOf(taskId = 7001, message: Partial<Message> = {}, over: Partial<Task> = {}) {
  const payload = vivo.mapPayload(sampleTask(message, { taskId, ...over }), settings)
  if (isUnsupported(payload)) throw new Error(payload.unsupported)
  return payload
}

describe('the vivo transport', () => {
  let simulator: VivoSimulator
  let asked: string[]
  const opened: { close(): Promise<void> }[] = []

  /** A proxy to the simulator that records the paths. */
  async function open(over: Partial<TransportDeps> = {}) {
    const relay = await startSimServer({
      async otherwise({ method, path, query, body, headers }) {
        asked.push(path)
        const { authtoken } = headers
        const reply = await fetch(`${simulator.url}${path}?${query}`, {
          method,
          headers: { 'content-type': 'application/json', ...(authtoken ? { authToken: authtoken } : {}) },
          ...(method === 'POST' && { body }),
        })
        return { status: reply.status, body: await reply.text() }
      },
      throttled: () => undefined,
      unavailable: () => ({ status: 500, body: '' }),
    })
    const deps = sampleDeps({ urls: sampleUrls({ vivo: relay.url }), ...over })
    const transport = vivo.open(settings, deps)
    opened.push(transport, relay)
    return { transport, deps }
  }

  const start = async (options: Parameters<typeof startVivoSimulator>[0] = {}) => {
    simulator = await startVivoSimulator({ credentials: [vivoCredential], ...options })
  }

  beforeEach(() => {
    asked = []
  })
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((one) => one.close()))
    await simulator.close()
  })

  it('sends to a few devices by /message/send, to others by a stored payload', async () => {
    await start()
    const { transport } = await open()
    await outcomesOf(transport, payloadOf(), tokens(1))
    expect(asked).toEqual(['/message/auth', '/message/send'])
    asked.length = 0
    await outcomesOf(transport, payloadOf(7002), tokens(4))
    expect(asked).toEqual(Array.from({ length: 4 }, () => '/message/send'))
    asked.length = 0
    await outcomesOf(transport, payloadOf(7003), tokens(5))
    expect(asked).toEqual(['/message/saveListPayload', '/message/pushToList'])
    // A payload that is stored already costs nothing more.
    asked.length = 0
    await outcomesOf(transport, payloadOf(7003), tokens(2))
    expect(asked).toEqual(['/message/pushToList'])
  })

  it('stores the payload once for all calls of a task, in all processes', async () => {
    await start()
    const { transport, deps } = await open()
    const elsewhere = await open({ session: deps.session, taskMemory: deps.taskMemory })
    for (const way of [transport, elsewhere.transport, transport])
      await outcomesOf(way, payloadOf(7001, {}, { ttl: 3600 }), tokens(5))
    expect(asked.filter((path) => path === '/message/saveListPayload')).toHaveLength(1)
    expect(asked.filter((path) => path === '/message/auth')).toHaveLength(1)
  })

  it('does not use the access token of a certificate’s previous secret', async () => {
    await start()
    const { transport, deps } = await open()
    await outcomesOf(transport, payloadOf(), tokens(1))
    const changed = vivo.readSettings(vivoCertificate({ appSecret: 'another' }))
    const other = vivo.open(changed, deps)
    opened.push(other)
    expect(kindsOf(await outcomesOf(other, payloadOf(), tokens(1)))).toEqual(['misconfigured'])
  })

  it('does not call again on the day on which the quota was used up, in no process', async () => {
    let now = Date.parse('2025-10-09T16:00:00+08:00')
    await start({ now: () => now, dailyVolume: { system: 0 }, alwaysOpen: true })
    const { transport, deps } = await open({ now: () => now })
    const { holds } = deps
    const other = await open({ now: () => now, holds })
    expect(kindsOf(await outcomesOf(transport, payloadOf(), tokens(1)))).toEqual(['quota'])
    asked.length = 0
    for (const time of ['16:00:01', '16:01:30', '19:00:00', '23:59:59']) {
      now = Date.parse(`2025-10-09T${time}+08:00`)
      for (const way of [transport, other.transport])
        expect(kindsOf(await outcomesOf(way, payloadOf(7002), tokens(20)))).toEqual(['quota'])
    }
    expect(asked).toEqual([])
    // Operational messages have a quota of their own.
    now = Date.parse('2025-10-09T16:02:00+08:00')
    const operational = payloadOf(7003, {}, { messageClass: 'marketing' })
    expect(kindsOf(await outcomesOf(transport, operational, tokens(1)))).toEqual(['accepted'])
    asked.length = 0
    now = Date.parse('2025-10-10T00:00:00+08:00')
    await outcomesOf(other.transport, payloadOf(), tokens(1))
    expect(asked).toContain('/message/send')
  })

  it('sends test messages of an application in review, and holds formal ones for a while', async () => {
    let now = Date.now()
    await start({ testDevices: tokens(2) })
    const { transport } = await open({ now: () => now })
    simulator.setFaults({ rules: ['in_review'] })
    const held = { kind: 'rejected', reason: { code: 'vivo.10045', text: expect.any(String) } }
    expect(await outcomesOf(transport, payloadOf(), tokens(1))).toEqual([held])
    asked.length = 0
    expect(await outcomesOf(transport, payloadOf(7002), tokens(1))).toEqual([held])
    expect(asked).toEqual([])
    const test = payloadOf(7003, { vivo: { pushMode: 1 } })
    expect(kindsOf(await outcomesOf(transport, test, tokens(2)))).toEqual(['accepted'])
    // The vendor listed the application.
    simulator.setFaults({})
    now += 600_000
    expect(kindsOf(await outcomesOf(transport, payloadOf(7004), tokens(1)))).toEqual(['accepted'])
  })

  it('holds system messages that vivo does not permit, but not those of a caller who asked for them', async () => {
    await start({ alwaysOpen: true })
    const { transport } = await open()
    simulator.setFaults({ rules: ['no_system_messages'] })
    const named = payloadOf(7001, { vivo: { classification: 1 } }, { messageClass: 'marketing' })
    expect(kindsOf(await outcomesOf(transport, named, tokens(1)))).toEqual(['rejected'])
    simulator.setFaults({})
    expect(kindsOf(await outcomesOf(transport, payloadOf(7002), tokens(1)))).toEqual(['accepted'])
    simulator.setFaults({ rules: ['no_system_messages'] })
    expect(kindsOf(await outcomesOf(transport, payloadOf(7003), tokens(5)))).toEqual(['rejected'])
    asked.length = 0
    expect(kindsOf(await outcomesOf(transport, payloadOf(7004), tokens(5)))).toEqual(['rejected'])
    expect(asked).toEqual([])
    const operational = payloadOf(7005, {}, { messageClass: 'marketing' })
    expect(kindsOf(await outcomesOf(transport, operational, tokens(5)))).toEqual(['accepted'])
  })

  it.each([1, 5])('sends without a badge that vivo refuses, to %i devices', async (count) => {
    await start()
    const { transport, deps } = await open()
    simulator.setFaults({ rules: ['no_badge'] })
    const payload = payloadOf(7001, { badge: { kind: 'add', count: 1 }, badgeNamed: true })
    expect(kindsOf(await outcomesOf(transport, payload, tokens(count)))).toEqual(['accepted'])
    expect(deps.holds.find('without badge')).toMatchObject({ reason: { code: 'vivo.10999' } })
    asked.length = 0
    await outcomesOf(transport, payload, tokens(1))
    expect(asked).toHaveLength(1)
  })

  it.each([10304, 10305, 10306])(
    'sends without receipts when vivo refuses their address (%i)',
    async (code) => {
      const bodies: { extra?: object }[] = []
      const server = await startSimServer({
        otherwise({ path, json }) {
          if (path === '/message/auth') return { body: { result: 0, authToken: 'a' } }
          const body = json() as { extra?: object }
          bodies.push(body)
          return { body: body.extra ? { result: code } : { result: 0, taskId: '7' } }
        },
        throttled: () => undefined,
        unavailable: () => ({ status: 500, body: '' }),
      })
      await start()
      const deps = sampleDeps({ urls: sampleUrls({ vivo: server.url }) })
      const transport = vivo.open(settings, deps)
      opened.push(transport, server)
      const own = vivo.readSettings(vivoCertificate({ extra: { callback_id: 'r7' } }))
      const payload = vivo.mapPayload(sampleTask({}, { callbackUrl: 'https://example.com/r' }), own)
      if (isUnsupported(payload)) throw new Error(payload.unsupported)
      expect(kindsOf(await outcomesOf(transport, payload, tokens(1)))).toEqual(['accepted'])
      expect(bodies.map(({ extra }) => extra !== undefined)).toEqual([true, false])
      expect(deps.holds.find('without receipts')).toMatchObject({
        kind: 'rejected',
        reason: { code: `vivo.${code}` },
      })
      bodies.length = 0
      expect(kindsOf(await outcomesOf(transport, payload, tokens(5)))).toEqual(['accepted'])
      expect(bodies.map(({ extra }) => extra !== undefined)).toEqual([false, false])
    },
  )

  it('halves a list whose request is too large, and sends to each device once', async () => {
    await start()
    const { transport } = await open()
    const payload = payloadOf()
    await outcomesOf(transport, payload, tokens(5))
    simulator.setFaults({ maxBodyBytes: 2000 })
    const all = Array.from({ length: 200 }, (_, i) => vivoToken(i + 5))
    expect(kindsOf(await outcomesOf(transport, payload, all))).toEqual(['accepted'])
    expect(simulator.ledger(7001)).toEqual({ accepted: 205, distinct: 205, duplicates: 0 })
    simulator.setFaults({ maxBodyBytes: 10 })
    const before = simulator.requests()
    const outcomes = await outcomesOf(transport, payload, tokens(8))
    expect(kindsOf(outcomes)).toEqual(['rejected'])
    // 8, 4 and 2 tokens: what is too large for the shortest list is too large for the others.
    expect(simulator.requests() - before).toBe(3)
    expect(outcomes[0]).toMatchObject({ reason: { code: 'vivo.http_413' } })
  })

  it.each([
    ['vivo’s code', { status: 200, body: { result: 10000, desc: '权限认证失败' } }],
    ['a bare 401', { status: 401, body: '' }],
  ])('renews a token that is refused with %s once, and then waits', async (_what, reply) => {
    await start()
    const { transport, deps } = await open()
    await outcomesOf(transport, payloadOf(), tokens(1))
    simulator.setFaults({ reply: { ...reply, path: '/message/send' } })
    asked.length = 0
    expect(kindsOf(await outcomesOf(transport, payloadOf(), tokens(1)))).toEqual(['unavailable'])
    expect(asked).toEqual(['/message/send', '/message/auth', '/message/send'])
    expect(deps.mints()).toBe(2)
  })

  it('checks the credentials by a new token, and whether push is enabled', async () => {
    await start()
    const { transport } = await open()
    const check = () => transport.check(new AbortController().signal)
    expect(await check()).toEqual({ ok: true })
    simulator.forceResult(10043)
    expect(await check()).toEqual({
      ok: false,
      problem: expect.stringContaining('push is disabled for the app'),
      temporary: false,
      code: 'vivo.10043',
    })
    simulator.forceResult(undefined)
    for (const faults of [{ htmlForbidden: 1 }, { unavailable: 1 }]) {
      simulator.setFaults(faults)
      expect(await check()).toMatchObject({ ok: false, temporary: true })
    }
    simulator.setFaults({ reply: { status: 404, body: '', path: '/report' } })
    expect(await check()).toEqual({ ok: true })
  })

  it('rarely reads the shared access token and the stored payload, because that costs queries', async () => {
    await start()
    let sessions = 0
    let memories = 0
    const shared = sampleDeps()
    const { transport } = await open({
      session: (...args) => {
        sessions++
        return shared.session(...args)
      },
      taskMemory: (...args) => {
        memories++
        return shared.taskMemory(...args)
      },
    })
    for (let i = 0; i < 5; i++) await outcomesOf(transport, payloadOf(), tokens(5))
    expect({ sessions, memories }).toEqual({ sessions: 1, memories: 1 })
  })

  it('stores the payload again once when vivo has lost it, and caches the new one', async () => {
    await start()
    const { transport } = await open()
    await outcomesOf(transport, payloadOf(), tokens(5))
    simulator.dropListPayloads()
    asked.length = 0
    expect(kindsOf(await outcomesOf(transport, payloadOf(), tokens(6)))).toEqual(['accepted'])
    expect(asked).toEqual(['/message/pushToList', '/message/saveListPayload', '/message/pushToList'])
    asked.length = 0
    expect(kindsOf(await outcomesOf(transport, payloadOf(), tokens(3)))).toEqual(['accepted'])
    expect(asked).toEqual(['/message/pushToList'])
  })

  it('sends one by one for the rest of the day when the quota of list payloads is used up, in all processes', async () => {
    await start({ listPayloadsPerDay: 0 })
    const { transport, deps } = await open()
    const other = await open({ holds: deps.holds, session: deps.session })
    expect(kindsOf(await outcomesOf(transport, payloadOf(), tokens(40)))).toEqual(['accepted'])
    expect(simulator.ledger(7001)).toEqual({ accepted: 40, distinct: 40, duplicates: 0 })
    asked.length = 0
    await outcomesOf(transport, payloadOf(7002), tokens(5))
    await outcomesOf(other.transport, payloadOf(7003), tokens(5))
    expect(new Set(asked)).toEqual(new Set(['/message/send']))
  })

  it.each([10070, 10071])(
    'does not hold system messages when vivo counts one of them as operational (%i)',
    async (result) => {
      await start()
      const { transport, deps } = await open()
      simulator.forceResult(result)
      expect(kindsOf(await outcomesOf(transport, payloadOf(), tokens(1)))).toEqual(['quota'])
      expect(deps.holds.find('quota operational messages')).toMatchObject({ kind: 'quota' })
      simulator.forceResult(undefined)
      asked.length = 0
      const marketing = payloadOf(7002, {}, { messageClass: 'marketing' })
      expect(kindsOf(await outcomesOf(transport, marketing, tokens(1)))).toEqual(['quota'])
      expect(asked).toEqual([])
      expect(kindsOf(await outcomesOf(transport, payloadOf(7003), tokens(1)))).toEqual(['accepted'])
    },
  )

  it('stops sending one by one at the first outcome for the whole application', async () => {
    await start({ listPayloadsPerDay: 0, messagesPerSecond: 0 })
    const { transport } = await open()
    expect(kindsOf(await outcomesOf(transport, payloadOf(), tokens(100)))).toEqual(['throttled'])
    expect(asked.filter((path) => path === '/message/send').length).toBeLessThanOrEqual(16)
  })

  it('asks for few new tokens when all of them are refused while it sends one by one', async () => {
    await start({ listPayloadsPerDay: 0 })
    const { transport } = await open()
    simulator.setFaults({ reply: { status: 401, body: '', path: '/message/send' } })
    expect(kindsOf(await outcomesOf(transport, payloadOf(), tokens(100)))).toEqual(['unavailable'])
    expect(asked.filter((path) => path === '/message/auth').length).toBeLessThanOrEqual(17)
  })

  it('sends once to a token that is in a call twice, and reports both', async () => {
    await start()
    const { transport } = await open()
    const token = vivoToken(1)
    expect(kindsOf(await outcomesOf(transport, payloadOf(), [token, token]))).toEqual(['accepted'])
    expect(asked.at(-1)).toBe('/message/send')
    expect(simulator.ledger(7001)).toEqual({ accepted: 1, distinct: 1, duplicates: 0 })
  })

  it('reports a refusal to store as the outcome of all', async () => {
    await start()
    const { transport } = await open()
    simulator.forceResult(10043)
    expect(await outcomesOf(transport, payloadOf(), tokens(5))).toEqual(
      tokens(5).map(() => ({
        kind: 'misconfigured',
        reason: { code: 'vivo.10043', text: 'push is disabled for the app' },
      })),
    )
  })

  it('signs with vivo’s own time when the clock of this server is wrong', async () => {
    await start()
    const { transport } = await open({ now: () => Date.now() - 3_600_000 })
    expect(kindsOf(await outcomesOf(transport, payloadOf(), tokens(1)))).toEqual(['accepted'])
    expect(asked).toEqual(['/message/auth', '/message/auth', '/message/send'])
  })

  it('reports a wrong clock when that does not help', async () => {
    await start({ now: () => Date.now() + 86_400_000 })
    const { transport } = await open()
    const [outcome] = await outcomesOf(transport, payloadOf(), tokens(1))
    expect(outcome).toMatchObject({
      kind: 'unavailable',
      reason: { text: expect.stringContaining('clock') },
    })
    expect(asked).toEqual(['/message/auth', '/message/auth'])
  })

  it('waits for vivo’s limit on auth calls', async () => {
    await start({ authPerSecond: 0 })
    const { transport } = await open()
    expect(await outcomesOf(transport, payloadOf(), tokens(1))).toEqual([
      { kind: 'throttled', reason: { code: 'vivo.10093', text: 'auth called too fast' }, retryAfter: 2 },
    ])
    expect(await transport.check(new AbortController().signal)).toMatchObject({ ok: false, temporary: true })
  })

  it('gets receipts of every device, of lists and of single sends', async () => {
    await start()
    const receiver = await startReceiver()
    opened.push(receiver)
    simulator.registerReceipts({ callbackId: 'r7', url: receiver.url })
    const { transport } = await open()
    const heard = (extra: Record<string, unknown>) => {
      const own = vivo.readSettings(vivoCertificate({ extra }))
      const task = sampleTask({}, { taskId: 7001, callbackUrl: receiver.url })
      const payload = vivo.mapPayload(task, own)
      if (isUnsupported(payload)) throw new Error(payload.unsupported)
      return async (to: string[]) => {
        await outcomesOf(transport, payload, to)
        await simulator.receiptsPosted()
        return receiver.posts.splice(0).flatMap(({ headers, body }) => {
          const reading = vivo.readCallback!({ headers, body, query: {}, now: Date.now() }, own)
          return reading.ok ? reading.receipts : []
        })
      }
    }
    const received = (token: string) => ({ taskId: 7001, token, event: 'received' })
    expect(await heard({ callback_id: 'r7' })(tokens(5))).toEqual(tokens(5).map(received))
    expect(await heard({ callback_id: 'r7' })(tokens(1))).toEqual(tokens(1).map(received))
    expect(await heard({})(tokens(1))).toEqual(tokens(1).map(received))
    expect(await heard({})(tokens(5))).toEqual([])
  })

  it('makes no call without recipients', async () => {
    await start()
    const { transport } = await open()
    expect(await outcomesOf(transport, payloadOf(), [])).toEqual([])
    expect(asked).toEqual([])
  })
})
