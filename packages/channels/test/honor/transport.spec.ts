import type { Message } from '@herald/domain'
import { type HonorSimulatorOptions, startHonorSimulator } from '@herald/simulators/honor'
import { afterEach, describe, expect, it } from '@jest/globals'
import { isUnsupported } from '../../src/channel.ts'
import { adapter as honor } from '../../src/honor/channel.ts'
import { outcomesOf } from '../outcomes-of.ts'
import { sampleCertificate, sampleDeps, sampleTask, sampleUrls } from '../samples.ts'

const app = { appId: '104436234', clientId: 'c-1', clientSecret: 's-1' }
const toClose: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(toClose.splice(0).map((close) => close()))
})

async function start(options: HonorSimulatorOptions = {}) {
  const sends: { path: string; headers: Readonly<Record<string, string>>; body: string }[] = []
  const simulator = await startHonorSimulator({
    credentials: [app],
    onSend: (send) => sends.push(send),
    ...options,
  })
  const settings = honor.readSettings(
    sampleCertificate('honor', { appId: app.appId, appKey: app.clientId, appSecret: app.clientSecret }),
  )
  const urls = sampleUrls({ honor: `${simulator.url}/`, honorAuth: simulator.url })
  const deps = sampleDeps({ urls, now: () => 1_760_000_000_123 })
  const transport = honor.open(settings, deps)
  toClose.push(transport.close, simulator.close)
  const send = async (tokens: string[], message: Partial<Message> = {}) => {
    const payload = honor.mapPayload(sampleTask(message, { taskId: 7001 }), settings)
    if (isUnsupported(payload)) throw new Error(payload.unsupported)
    return (await outcomesOf(transport, payload, tokens)).map((outcome) => outcome.kind)
  }
  const check = () => transport.check(new AbortController().signal)
  return { simulator, sends, deps, send, check }
}

describe('honor transport', () => {
  it('lists a token once, however many recipients share it', async () => {
    const { sends, send } = await start()
    const kinds = await send(['a', 'FAIL1', 'EXPIRED1', 'a', 'EXPIRED1'])
    expect(kinds).toEqual(['accepted', 'rejected', 'gone', 'accepted', 'gone'])
    expect(JSON.parse(sends[0]!.body).token).toEqual(['a', 'FAIL1', 'EXPIRED1'])
  })

  it('sends a message once more without the picture, if Honor refuses its form', async () => {
    const { sends, send, simulator } = await start()
    simulator.setFaults({ rules: ['no_pictures'] })
    const image = 'https://img.example/a.png'
    const picture = { type: 'image', attachmentUrl: image, ext: '{"id":9007199254740993}' } as const
    expect(await send(['a', 'FAIL1'], picture)).toEqual(['accepted', 'rejected'])
    expect(sends.map(({ body }) => JSON.parse(body).android.notification.image)).toEqual([image, undefined])
    expect(JSON.parse(sends[1]!.body).data).toContain(`"attachment_url":"${image}"`)
    expect(JSON.parse(sends[1]!.body).data).toContain('"id":9007199254740993')
  })

  it('sends to the app’s path with the time in milliseconds', async () => {
    const { sends, send } = await start()
    await send(['a'])
    expect(sends[0]).toMatchObject({
      path: '/api/v1/104436234/sendMessage',
      headers: { timestamp: '1760000000123', 'content-type': 'application/json; charset=UTF-8' },
    })
  })

  it('requests one access token for many concurrent sends', async () => {
    const { sends, deps, send } = await start()
    await Promise.all(Array.from({ length: 8 }, () => send(['a'])))
    expect(deps.mints()).toBe(1)
    expect(sends).toHaveLength(8)
  })

  it('rejects a refused app or token and keeps the channel open', async () => {
    const { simulator, send, check } = await start()
    simulator.setFaults({ rules: ['dead_is_404'] })
    expect(await send(['EXPIRED1'])).toEqual(['rejected'])
    expect(await send(['a'])).toEqual(['accepted'])
    simulator.setFaults({ reply: { status: 403, body: { code: 403, message: '' }, path: '/api/' } })
    expect(await send(['a'])).toEqual(['rejected'])
    expect(await check()).toEqual({ ok: true })
  })

  it('gets a new token once on a bare 401, then waits, as for a page of a gateway', async () => {
    const { simulator, send, check } = await start()
    simulator.setFaults({ reply: { status: 401, path: '/api/' } })
    const before = simulator.requests()
    expect(await send(['a'])).toEqual(['unavailable'])
    // Two tokens, two sends.
    expect(simulator.requests() - before).toBe(4)
    simulator.setFaults({ htmlForbidden: 1 })
    expect(await send(['a'])).toEqual(['unavailable'])
    expect(await check()).toMatchObject({ ok: false, temporary: true })
    simulator.setFaults({})
    expect(await send(['a'])).toEqual(['accepted'])
  })

  it.each([
    ['an HTML page', { status: 403, body: '<html>' }],
    ['405', { status: 405 }],
    ['a reply without token', { status: 200, body: {} }],
  ])('asks the older token path after %s', async (_name, reply) => {
    const { simulator, check } = await start()
    simulator.setFaults({ reply: { ...reply, path: '/auth/token' } })
    expect(await check()).toEqual({ ok: true })
  })

  it.each([
    ['a refusal', { status: 401, body: { error: 'invalid_client' } }, false],
    ['429', { status: 429 }, true],
    ['500', { status: 500 }, true],
  ])('does not ask the older token path after %s', async (_name, reply, temporary) => {
    const { simulator, check } = await start()
    simulator.setFaults({ reply: { ...reply, path: '/auth/token' } })
    expect(await check()).toMatchObject({ ok: false, temporary })
    expect(simulator.requests()).toBe(1)
  })

  it('halves a request that is too large', async () => {
    const { simulator, send } = await start()
    const tokens = Array.from({ length: 8 }, (_, i) => `BAEAAAAAB${i}${'x'.repeat(200)}`)
    simulator.setFaults({ maxBodyBytes: 1000 })
    expect(new Set(await send(tokens))).toEqual(new Set(['accepted']))
    expect(simulator.ledger(7001)).toEqual({ accepted: 8, distinct: 8, duplicates: 0 })
    simulator.setFaults({ maxBodyBytes: 300 })
    const before = simulator.requests()
    expect(new Set(await send(tokens))).toEqual(new Set(['rejected']))
    // 8, 4, 2 and 1 tokens: what is too large for one is too large for the others.
    expect(simulator.requests() - before).toBe(4)
  })

  it('halves a request that is too large by the code in the reply', async () => {
    const { simulator, send } = await start()
    simulator.setFaults({ reply: { status: 200, body: { code: 413, message: '' }, path: '/api/' } })
    await send(['a'])
    const before = simulator.requests()
    expect(await send(['a', 'b', 'c', 'd'])).toEqual(Array(4).fill('rejected'))
    // 4, 2 and 1 tokens.
    expect(simulator.requests() - before).toBe(3)
  })
})
