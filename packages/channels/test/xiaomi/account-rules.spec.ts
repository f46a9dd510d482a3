import type { Message, Outcome } from '@herald/domain'
import { startXiaomiSimulator, type XiaomiSimulator } from '@herald/simulators/xiaomi'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { isUnsupported, type Task, type TransportDeps } from '../../src/channel.ts'
import { adapter as xiaomi } from '../../src/xiaomi/channel.ts'
import { outcomesOf } from '../outcomes-of.ts'
import { sampleCertificate, sampleDeps, sampleTask, sampleUrls } from '../samples.ts'

let simulator: XiaomiSimulator
let deps: TransportDeps

beforeEach(async () => {
  simulator = await startXiaomiSimulator()
  deps = sampleDeps({ urls: sampleUrls({ xiaomi: simulator.url }) })
})
afterEach(() => simulator.close())

const tokenOf = (index: number) => Buffer.from(`regid number ${index}`.padEnd(48, '.')).toString('base64')
const settings = xiaomi.readSettings(
  sampleCertificate('xiaomi', {
    appSecret: 'sim-secret',
    extra: {
      package_name: 'com.example.app',
      classes: { service: { channel_id: '100002', template_id: 'T' }, marketing: { channel_id: '100001' } },
    },
  }),
)

async function send(
  message: Partial<Message> = {},
  task: Partial<Omit<Task, 'message'>> = {},
  count = 3,
): Promise<Outcome['kind'][]> {
  const payload = xiaomi.mapPayload(sampleTask(message, { taskId: 42, ...task }), settings)
  if (isUnsupported(payload)) throw new Error(payload.unsupported)
  const transport = xiaomi.open(settings, deps)
  const tokens = Array.from({ length: count }, (_, i) => tokenOf(i))
  const outcomes = await outcomesOf(transport, payload, tokens)
  await transport.close()
  return outcomes.map((outcome) => outcome.kind)
}
const allAccepted = ['accepted', 'accepted', 'accepted']

describe('xiaomi, where the documentation leaves a question open', () => {
  it('keeps the limits of texts if an emoji counts as two', async () => {
    simulator.setFaults({ rules: ['utf16_limits'] })
    expect(await send({ title: '😀'.repeat(60), body: '😀'.repeat(200) })).toEqual(allAccepted)
  })

  it.each(['service', 'marketing'] as const)('keeps the ttl of a %s channel', async (messageClass) => {
    simulator.setFaults({ rules: ['ttl_by_channel'] })
    expect(await send({}, { messageClass, ttl: 2_592_000 })).toEqual(allAccepted)
  })

  it('sends without receipts if their address is refused', async () => {
    simulator.setFaults({ rules: ['receipt_address_refused'] })
    expect(await send({}, { callbackUrl: 'https://push.example.com/cb' })).toEqual(allAccepted)
    expect(simulator.ledger(42)).toEqual({ accepted: 3, distinct: 3, duplicates: 0 })
  })

  it('halves a call that a gateway refuses as too large', async () => {
    simulator.setFaults({ maxBodyBytes: 10_000 })
    expect(new Set(await send({}, {}, 1000))).toEqual(new Set(['accepted']))
    expect(simulator.ledger(42)).toEqual({ accepted: 1000, distinct: 1000, duplicates: 0 })
  })

  it('waits during a wave of refusals by a gateway', async () => {
    simulator.setFaults({ htmlForbidden: 1 })
    expect(new Set(await send())).toEqual(new Set(['unavailable']))
    simulator.setFaults({})
    expect(await send()).toEqual(allAccepted)
  })
})
