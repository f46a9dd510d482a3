import type { SequenceWord, Strategy, VendorChannel } from '@herald/domain'
import { publicName, strategies, upsChannels, vendorChannels } from '@herald/domain'
import { countRoutes, explain } from '@herald/plan'
import { until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { type DeviceSeed, type Harness, plainMessage, startHarness } from './harness.ts'

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

describe('explain, count and delivery', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await startHarness()
    await harness.startPlanner()
    await harness.startWorkers()
  })
  afterAll(() => harness.stop())

  it('agree for any device, strategy and sequence', async () => {
    const app = await harness.addApplication('any')
    await harness.db.pool.query(
      `UPDATE certificate SET state = 'closed', last_error = 'refused', last_error_at = now(),
         probe_at = now() + interval '1 day' WHERE app_id = $1 AND channel = 'vivo'`,
      [app],
    )
    let number = 0
    await fc.assert(
      fc.asyncProperty(fc.array(device, { minLength: 1, maxLength: 12 }), request, async (seeds, wish) => {
        const alias = `run ${number++}`
        const ids = await harness.addDevices(
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
        const explained = await Promise.all(
          ids.map((id) => explain(harness, { appId: app, ...task }, id).then(({ channel }) => channel)),
        )
        const counted = await countRoutes(harness, { appId: app, ...task })
        expect(counted).toEqual({
          devices: ids.length,
          byChannel: countBy(explained.filter((channel) => channel !== null)),
          unreachable: explained.filter((channel) => channel === null).length,
          exact: true,
        })
        const taskId = await harness.notify(app, task)
        expect(await assigned(taskId, ids)).toEqual(explained)
        // vivo is closed: devices with no other channel wait, all others are sent to.
        const sendable = explained.filter(
          (channel) => channel !== null && !['vivo', 'nativepush'].includes(channel),
        )
        await until(async () => (await harness.ledger(taskId)).length >= sendable.length, {
          what: 'the deliveries',
        })
        const delivered = (await harness.ledger(taskId)).map(({ channel }) =>
          publicName(channel as VendorChannel),
        )
        expect(delivered.sort()).toEqual(sendable.sort())
        for (const [i, seed] of seeds.entries()) {
          const { channel, others } = await explain(harness, { appId: app, ...task }, ids[i]!)
          // Each channel that the device has is mentioned once.
          const mentioned = [...others.map((other) => other.channel), ...(channel === null ? [] : [channel])]
          expect(new Set(mentioned).size).toBe(mentioned.length)
          expect(mentioned).toEqual(
            expect.arrayContaining([
              'nativepush',
              ...Object.keys(seed.tokens ?? {}).map((name) => publicName(name as VendorChannel)),
            ]),
          )
        }
      }),
      { numRuns: 60, endOnFailure: true },
    )
    expect(await harness.imbalances()).toEqual([])
  })

  function countBy(channels: string[]): Record<string, number> {
    const counts: Record<string, number> = {}
    for (const channel of channels) counts[channel] = (counts[channel] ?? 0) + 1
    return counts
  }

  /** Returns the public name of the channel of each device; null without a channel. */
  async function assigned(taskId: number, ids: number[]): Promise<(string | null)[]> {
    const { rows } = await harness.db.pool.query<{ device: number; channel: VendorChannel | 'native' }>(
      `SELECT r.device, b.channel FROM batch b CROSS JOIN LATERAL unnest(b.recipients) AS r (device) WHERE b.task_id = $1
       UNION ALL SELECT b.recipients[array_position(b.tasks, t.id)], b.channel FROM task t JOIN bundle b ON b.task_id = t.bundle
         WHERE t.id = $1 AND t.state = 'bundled'
       UNION ALL SELECT device_id, 'native' FROM inbox WHERE task_id = $1`,
      [taskId],
    )
    const channels = new Map(rows.map(({ device, channel }) => [device, publicName(channel)]))
    expect(channels.size).toBe(rows.length)
    return ids.map((id) => channels.get(id) ?? null)
  }
})
