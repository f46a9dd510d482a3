import type { SequenceWord, Strategy, VendorChannel } from '@herald/domain'
import { publicName, strategies, upsChannels, vendorChannels } from '@herald/domain'
import { explain } from '@herald/plan'
import { until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { type DeviceSeed, type Machine, plainMessage, startMachine } from './machine.ts'

const words = ['ups', 'fcm', ...upsChannels] as readonly SequenceWord[]

const device: fc.Arbitrary<DeviceSeed> = fc.record({
  platform: fc.constantFrom('ios' as const, 'android' as const),
  tokens: fc
    .uniqueArray(fc.constantFrom(...vendorChannels), { maxLength: 4 })
    .map((channels) => Object.fromEntries(channels.map((channel) => [channel, channel]))),
})
const request = fc.record({
  strategy: fc.constantFrom<Strategy>(...strategies),
  sequence: fc.uniqueArray(fc.constantFrom(...words), { minLength: 1, maxLength: 4 }),
  /** A channel that cannot carry the message. */
  without: fc.constantFrom<VendorChannel>(...vendorChannels),
  ttl: fc.constantFrom(0, 3600),
})

describe('explain and delivery', () => {
  let machine: Machine
  beforeAll(async () => {
    machine = await startMachine()
    await machine.startPlanner()
    await machine.startWorkers()
  })
  afterAll(() => machine.stop())

  it('agree for any device, strategy and sequence', async () => {
    const app = await machine.addApplication('any')
    await machine.db.pool.query(
      `UPDATE certificate SET state = 'closed', last_error = 'refused', last_error_at = now() WHERE app_id = $1 AND channel = 'vivo'`,
      [app],
    )
    let number = 0
    await fc.assert(
      fc.asyncProperty(fc.array(device, { minLength: 1, maxLength: 12 }), request, async (seeds, wish) => {
        const alias = `run ${number++}`
        const ids = await machine.addDevices(
          app,
          seeds.map((seed, i) => ({
            ...seed,
            alias,
            tokens: Object.fromEntries(
              Object.keys(seed.tokens ?? {}).map((channel) => [channel, `${alias} ${i} ${channel}:accepted`]),
            ),
          })),
        )
        const task = {
          audience: { kind: 'alias' as const, aliases: [alias] },
          strategy: wish.strategy,
          sequence: wish.sequence,
          ttl: wish.ttl,
          message: { ...plainMessage, title: `not on ${wish.without}` },
        }
        const told = await Promise.all(
          ids.map((id) => explain(machine, { appId: app, ...task }, id).then(({ channel }) => channel)),
        )
        const taskId = await machine.notify(app, task)
        expect(await assigned(taskId, ids)).toEqual(told)
        // vivo is closed: who has nothing else is held, everybody else is sent to.
        const sendable = told.filter(
          (channel) => channel !== null && !['vivo', 'nativepush'].includes(channel),
        )
        await until(async () => (await machine.ledger(taskId)).length >= sendable.length, {
          seconds: 10,
          what: 'the deliveries',
        })
        const delivered = (await machine.ledger(taskId)).map(({ channel }) =>
          publicName(channel as VendorChannel),
        )
        expect(delivered.sort()).toEqual(sendable.sort())
        for (const [i, seed] of seeds.entries()) {
          const { channel, others } = await explain(machine, { appId: app, ...task }, ids[i]!)
          // Every channel the device could be thought to use is spoken of, once.
          const spoken = [...others.map((other) => other.channel), ...(channel === null ? [] : [channel])]
          expect(new Set(spoken).size).toBe(spoken.length)
          expect(spoken).toEqual(
            expect.arrayContaining([
              'nativepush',
              ...Object.keys(seed.tokens ?? {}).map((name) => publicName(name as VendorChannel)),
            ]),
          )
        }
      }),
      { numRuns: 60, endOnFailure: true },
    )
    expect(await machine.imbalances()).toEqual([])
  }, 120_000)

  /** The channel each device was assigned to, in public names; null where none could take it. */
  async function assigned(taskId: number, ids: number[]): Promise<(string | null)[]> {
    const { rows } = await machine.db.pool.query<{ device: number; channel: VendorChannel | 'native' }>(
      `SELECT r.device, b.channel FROM batch b CROSS JOIN LATERAL unnest(b.recipients) AS r (device) WHERE b.task_id = $1
       UNION ALL SELECT device_id, 'native' FROM inbox WHERE task_id = $1`,
      [taskId],
    )
    const channels = new Map(rows.map(({ device, channel }) => [device, publicName(channel)]))
    expect(channels.size).toBe(rows.length)
    return ids.map((id) => channels.get(id) ?? null)
  }
})
