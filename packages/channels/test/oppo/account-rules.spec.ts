import { createHash } from 'node:crypto'
import type { Message, Outcome } from '@herald/domain'
import { type OppoSimulator, startOppoSimulator } from '@herald/simulators/oppo'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { isUnsupported, type Task, type TransportDeps } from '../../src/channel.ts'
import { adapter as oppo } from '../../src/oppo/channel.ts'
import { outcomesOf } from '../outcomes-of.ts'
import { sampleCertificate, sampleDeps, sampleTask, sampleUrls } from '../samples.ts'

let simulator: OppoSimulator
let deps: TransportDeps

beforeEach(async () => {
  simulator = await startOppoSimulator()
  deps = depsOf({ oppo: simulator.url })
})
afterEach(() => simulator.close())

const depsOf = (urls: Parameters<typeof sampleUrls>[0]) => sampleDeps({ urls: sampleUrls(urls) })
const id = (index: number) => createHash('md5').update(String(index)).digest('hex')
const classes = {
  service: { category: 'ORDER', notify_level: 16 },
  marketing: { category: 'MARKETING' },
}

const settingsOf = (extra: Record<string, unknown>) =>
  oppo.readSettings(
    sampleCertificate('oppo', { appKey: 'sim-app-key', appSecret: 'sim-master-secret', extra }),
  )

async function send(
  options: {
    extra?: Record<string, unknown>
    message?: Partial<Message>
    task?: Partial<Omit<Task, 'message'>>
    tokens?: string[]
  } = {},
): Promise<Outcome[]> {
  const { extra = { classes }, message, task, tokens = [`OPPO_CN_${id(1)}`, `OPPO_CN_${id(2)}`] } = options
  const settings = settingsOf(extra)
  const payload = oppo.mapPayload(sampleTask(message, { taskId: 42, ...task }), settings)
  if (isUnsupported(payload)) throw new Error(payload.unsupported)
  const transport = oppo.open(settings, deps)
  const outcomes = await outcomesOf(transport, payload, tokens)
  await transport.close()
  return outcomes
}
async function check(extra: Record<string, unknown> = {}) {
  const transport = oppo.open(settingsOf(extra), deps)
  const result = await transport.check(new AbortController().signal)
  await transport.close()
  return result
}
const kinds = (outcomes: Outcome[]) => outcomes.map(({ kind }) => kind)
/** Requests to the vendor since the last call. */
let counted = 0
const calls = () => {
  const since = simulator.requests() - counted
  counted = simulator.requests()
  return since
}
beforeEach(() => {
  counted = 0
})

describe('oppo, request sizes', () => {
  const tokens = Array.from({ length: 1000 }, (_, i) => `OPPO_CN_${id(i)}`)
  const message = { ext: JSON.stringify({ note: '文'.repeat(500) }) }

  it('keeps each body of a large batch below 1 MB', async () => {
    simulator.setFaults({ maxBodyBytes: 1_100_000 })
    expect(new Set(kinds(await send({ tokens, message })))).toEqual(new Set(['accepted']))
    expect(simulator.ledger(42)).toEqual({ accepted: 1000, distinct: 1000, duplicates: 0 })
    expect(calls()).toBeLessThan(10)
  })

  it('halves what a gateway refuses as too large', async () => {
    simulator.setFaults({ maxBodyBytes: 400_000 })
    expect(new Set(kinds(await send({ tokens, message })))).toEqual(new Set(['accepted']))
    expect(simulator.ledger(42)).toEqual({ accepted: 1000, distinct: 1000, duplicates: 0 })
  })

  it('rejects a message that is too large for one device, after few calls', async () => {
    simulator.setFaults({ maxBodyBytes: 1000 })
    const outcomes = await send({ tokens, message })
    expect(new Set(kinds(outcomes))).toEqual(new Set(['rejected']))
    expect(outcomes[999]).toMatchObject({ reason: { code: 'oppo.http_413' } })
    expect(calls()).toBeLessThan(15)
  })

  it('stops a large batch at a reply that concerns every request', async () => {
    simulator.setFaults({ throttle: 1 })
    expect(new Set(kinds(await send({ tokens, message })))).toEqual(new Set(['throttled']))
    expect(calls()).toBe(2)
  })

  it('sends the other parts of a large batch when one gets an unknown code', async () => {
    simulator.setFaults({
      reply: {
        status: 200,
        body: { code: 10_007, message: 'Business error' },
        path: '/server/v1/message',
        every: 2,
      },
    })
    const counts = Map.groupBy(kinds(await send({ tokens, message })), (kind) => kind)
    expect(new Set(counts.keys())).toEqual(new Set(['accepted', 'unavailable']))
    expect(counts.get('accepted')!.length).toBeGreaterThan(counts.get('unavailable')!.length / 2)
  })
})

describe('oppo, permissions', () => {
  it('holds a class that needs a category, while the other goes on', async () => {
    simulator.setFaults({ rules: ['category_required'] })
    const extra = { classes: { marketing: { category: 'MARKETING' } } }
    expect(kinds(await send({ extra }))).toEqual(['rejected', 'rejected'])
    expect(deps.holds.find('class service')).toMatchObject({ reason: { code: 'oppo.67' } })
    calls()
    expect(kinds(await send({ extra }))).toEqual(['rejected', 'rejected'])
    expect(calls()).toBe(0)
    expect(kinds(await send({ extra, task: { messageClass: 'marketing' } }))).toEqual([
      'accepted',
      'accepted',
    ])
    expect(kinds(await send({ extra, message: { oppo: { category: 'IM' } } }))).toEqual([
      'accepted',
      'accepted',
    ])
  })

  it('asks again for a category that a message names', async () => {
    const message = { oppo: { category: 'SPAM' } }
    for (let i = 0; i < 2; i++) expect(kinds(await send({ message }))).toEqual(['rejected', 'rejected'])
    expect(deps.holds.find('class service')).toBeUndefined()
  })

  it('sends without the notify level that OPPO refuses, and later without asking', async () => {
    simulator.setFaults({ rules: ['no_strong_reminder'] })
    expect(kinds(await send())).toEqual(['accepted', 'accepted'])
    expect(deps.holds.find('service messages without notify level')).toMatchObject({
      reason: { code: 'oppo.67' },
    })
    expect(calls()).toBe(3)
    expect(kinds(await send())).toEqual(['accepted', 'accepted'])
    expect(calls()).toBe(1)
    expect(simulator.ledger(42).accepted).toBe(4)
  })

  it('leaves the level of one class alone when OPPO refuses that of another', async () => {
    const extra = {
      classes: {
        service: { category: 'ORDER', notify_level: 2 },
        marketing: { category: 'MARKETING', notify_level: 1 },
      },
    }
    const levels = async (messageClass: 'service' | 'marketing') => {
      expect(kinds(await send({ extra, task: { messageClass } }))).toEqual(['accepted', 'accepted'])
      return calls()
    }
    expect(await levels('marketing')).toBe(3)
    expect(deps.holds.find('marketing messages without notify level')).toBeDefined()
    expect(await levels('service')).toBe(1)
    expect(deps.holds.find('service messages without notify level')).toBeUndefined()
  })

  it('does not hold a level or a badge that a message names', async () => {
    simulator.setFaults({ rules: ['no_add_ons'] })
    const message: Partial<Message> = {
      badge: { kind: 'set', count: 5 },
      badgeNamed: true,
      oppo: { category: 'IM', notifyLevel: 16 },
    }
    for (let i = 0; i < 2; i++) expect(kinds(await send({ message }))).toEqual(['accepted', 'accepted'])
    expect(calls()).toBe(5)
    expect(deps.holds.find('without picture, badge and notify level')).toBeUndefined()
  })

  it('sends the plain message where OPPO permits no add-ons', async () => {
    simulator.setFaults({ rules: ['no_add_ons'] })
    const extra = { classes: { service: { category: 'IM' } }, badge: true }
    expect(kinds(await send({ extra }))).toEqual(['accepted', 'accepted'])
    expect(deps.holds.find('without picture, badge and notify level')).toMatchObject({
      reason: { code: 'oppo.27' },
    })
  })

  it('holds the daily quota of a category', async () => {
    simulator.setSwitches({ dailyLimit: 0 })
    expect(kinds(await send())).toEqual(['quota', 'quota'])
    calls()
    expect(kinds(await send())).toEqual(['quota', 'quota'])
    expect(calls()).toBe(0)
    simulator.setSwitches({})
    expect(kinds(await send({ task: { messageClass: 'marketing' } }))).toEqual(['accepted', 'accepted'])
  })
})

describe('oppo, regions', () => {
  let overseas: OppoSimulator
  const mixed = [`OPPO_CN_${id(1)}`, `realme_IN_${id(2)}`, id(3), `OPPO_SG_${id(4)}`]
  beforeEach(async () => {
    await simulator.close()
    simulator = await startOppoSimulator({ region: 'cn' })
    overseas = await startOppoSimulator({ region: 'intl' })
    deps = depsOf({ oppo: simulator.url, oppoIntl: overseas.url })
  })
  afterEach(() => overseas.close())

  it.each(['cn', 'intl'])('sends to the host of each id’s region, with a record of %s', async (region) => {
    expect(kinds(await send({ extra: { region }, tokens: mixed }))).toEqual(mixed.map(() => 'accepted'))
    // At each host one authentication, because a token of the other host is not valid there, and one call for both ids.
    for (const { ledger, requests } of [simulator, overseas])
      expect([ledger(42).accepted, requests()]).toEqual([2, 2])
  })

  it('sends to mainland ids although the overseas host refuses the credentials or does not answer', async () => {
    await overseas.close()
    overseas = await startOppoSimulator({
      region: 'intl',
      apps: [{ appId: '1', appKey: 'another', masterSecret: 'another' }],
    })
    deps = depsOf({ oppo: simulator.url, oppoIntl: overseas.url })
    const refused = ['accepted', 'rejected', 'accepted', 'rejected']
    expect(kinds(await send({ extra: {}, tokens: mixed }))).toEqual(refused)
    // The record's own host: the certificate is to be checked and closed.
    expect(kinds(await send({ extra: { region: 'intl' }, tokens: mixed.slice(1, 2) }))).toEqual([
      'misconfigured',
    ])
    deps = depsOf({ oppo: simulator.url, oppoIntl: 'http://127.0.0.1:9' })
    expect(kinds(await send({ extra: {}, tokens: mixed }))).toEqual(
      refused.map((kind) => (kind === 'rejected' ? 'unavailable' : kind)),
    )
  })

  it('checks the credentials at the host of the record’s region', async () => {
    deps = depsOf({ oppo: 'http://127.0.0.1:9', oppoIntl: overseas.url })
    expect(await check({ region: 'intl' })).toEqual({ ok: true })
    expect(await check({ region: 'cn' })).toMatchObject({ ok: false, temporary: true })
  })
})

describe('oppo, check', () => {
  it('finds an application that OPPO has disabled', async () => {
    expect(await check()).toEqual({ ok: true })
    simulator.setFaults({ rules: ['app_disabled'] })
    expect(await check()).toMatchObject({ ok: false, temporary: false })
    expect(simulator.ledger().accepted).toBe(0)
  })

  it('accepts credentials although the check’s own message would be refused', async () => {
    simulator.setFaults({ rules: ['category_required'] })
    expect(await check()).toEqual({ ok: true })
  })

  it.each([
    [{ htmlForbidden: 1 }],
    [{ unavailable: 1 }],
    [{ reply: { status: 401 } }],
    [{ reply: { status: 403, path: '/server/v1/message' } }],
    [{ reply: { status: 200, body: { code: 11 }, path: '/server/v1/message' } }],
    [{ reply: { status: 200, body: { code: 27 }, path: '/server/v1/auth' } }],
  ])('knows nothing after %j', async (faults) => {
    simulator.setFaults(faults)
    expect(await check()).toMatchObject({ ok: false, temporary: true })
  })
})
