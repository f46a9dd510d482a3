import type { Message } from '@herald/domain'
import { startSimServer } from '@herald/simulators/server'
import { startVivoSimulator, type VivoSimulator } from '@herald/simulators/vivo'
import { startReceiver } from '@herald/testkit/receiver'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { isUnsupported, type Task, type TransportDeps } from '../../src/channel.ts'
import { adapter as vivo } from '../../src/vivo/channel.ts'
import { sampleDeps, sampleTask, sampleUrls } from '../samples.ts'
import { outcomesOf, vivoCertificate, vivoCredential, vivoToken } from './fixtures.ts'

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
      async otherwise({ path, body, headers }) {
        asked.push(path)
        const { authtoken } = headers
        const reply = await fetch(simulator.url + path, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...(authtoken ? { authToken: authtoken } : {}) },
          body,
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

  it('sends to one device by /message/send, to several by a stored payload', async () => {
    await start()
    const { transport } = await open()
    await outcomesOf(transport, payloadOf(), tokens(1))
    expect(asked).toEqual(['/message/auth', '/message/send'])
    asked.length = 0
    await outcomesOf(transport, payloadOf(7002), tokens(2))
    expect(asked).toEqual(['/message/saveListPayload', '/message/pushToList'])
  })

  it('stores the payload once for all calls of a task, in all processes', async () => {
    await start()
    const { transport, deps } = await open()
    const elsewhere = await open({ session: deps.session, taskMemory: deps.taskMemory })
    for (const way of [transport, elsewhere.transport, transport])
      await outcomesOf(way, payloadOf(7001, {}, { ttl: 3600 }), tokens(3))
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

  it('does not call again with every batch when the daily quota is used up', async () => {
    await start()
    const { transport } = await open()
    simulator.forceResult(10073)
    expect(kindsOf(await outcomesOf(transport, payloadOf(), tokens(1)))).toEqual(['quota'])
    asked.length = 0
    expect(kindsOf(await outcomesOf(transport, payloadOf(7002), tokens(2)))).toEqual(['quota'])
    expect(asked).toEqual([])
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
    for (let i = 0; i < 5; i++) await outcomesOf(transport, payloadOf(), tokens(3))
    expect({ sessions, memories }).toEqual({ sessions: 1, memories: 1 })
  })

  it('stores the payload again once when vivo has lost it, and caches the new one', async () => {
    await start()
    const { transport } = await open()
    await outcomesOf(transport, payloadOf(), tokens(2))
    simulator.dropListPayloads()
    asked.length = 0
    expect(kindsOf(await outcomesOf(transport, payloadOf(), tokens(3)))).toEqual(['accepted'])
    expect(asked).toEqual(['/message/pushToList', '/message/saveListPayload', '/message/pushToList'])
    asked.length = 0
    expect(kindsOf(await outcomesOf(transport, payloadOf(), tokens(3)))).toEqual(['accepted'])
    expect(asked).toEqual(['/message/pushToList'])
  })

  it('sends one by one for the rest of the day when the quota of list payloads is used up', async () => {
    await start({ listPayloadsPerDay: 0 })
    const { transport } = await open()
    expect(kindsOf(await outcomesOf(transport, payloadOf(), tokens(40)))).toEqual(['accepted'])
    expect(simulator.ledger(7001)).toEqual({ accepted: 40, distinct: 40, duplicates: 0 })
    asked.length = 0
    await outcomesOf(transport, payloadOf(7002), tokens(2))
    expect(asked).toEqual(['/message/send', '/message/send'])
  })

  it('stops sending one by one at the first outcome for the whole application', async () => {
    await start({ listPayloadsPerDay: 0, messagesPerSecond: 0 })
    const { transport } = await open()
    expect(kindsOf(await outcomesOf(transport, payloadOf(), tokens(100)))).toEqual(['throttled'])
    expect(asked.filter((path) => path === '/message/send').length).toBeLessThanOrEqual(16)
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
    expect(await outcomesOf(transport, payloadOf(), tokens(2))).toEqual([
      { kind: 'misconfigured', reason: { code: 'vivo.10043', text: 'push is disabled for the app' } },
      { kind: 'misconfigured', reason: { code: 'vivo.10043', text: 'push is disabled for the app' } },
    ])
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
      kind: 'misconfigured',
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
    expect(await heard({ callback_id: 'r7' })(tokens(3))).toEqual(tokens(3).map(received))
    expect(await heard({ callback_id: 'r7' })(tokens(1))).toEqual(tokens(1).map(received))
    expect(await heard({})(tokens(1))).toEqual(tokens(1).map(received))
    expect(await heard({})(tokens(3))).toEqual([])
  })

  it('makes no call without recipients', async () => {
    await start()
    const { transport } = await open()
    expect(await outcomesOf(transport, payloadOf(), [])).toEqual([])
    expect(asked).toEqual([])
  })
})
