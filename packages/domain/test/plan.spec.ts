import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import {
  type DeviceGroup,
  type PlanDevice,
  planDevices,
  planGroups,
  type RouteRules,
  targetsOf,
} from '../src/index.ts'

const rules: RouteRules = {
  strategy: 'combined',
  sequence: ['ups', 'fcm'],
  tried: new Set(),
  statusOf: (channel) => ({ certificateId: channel.length }),
  mayStore: true,
}
const device = (
  id: number,
  channel?: 'xiaomi' | 'fcm' | 'apns',
  extra: Partial<PlanDevice> = {},
): PlanDevice => ({
  id,
  bindings: channel ? [{ channel, environment: 1, registeredAt: 1 }] : [],
  ...extra,
})

describe('planDevices', () => {
  it('groups by channel, certificate, topic and node', () => {
    const plan = planDevices(
      [
        device(1, 'xiaomi'),
        device(2, 'fcm'),
        device(3, 'xiaomi'),
        device(4, undefined, { node: 'n1' }),
        device(5, undefined, { node: 'n2' }),
        device(6),
        { id: 7, bindings: [{ channel: 'apns', environment: 1, registeredAt: 1, bundleId: 'a' }] },
        { id: 8, bindings: [{ channel: 'apns', environment: 1, registeredAt: 1, bundleId: 'b' }] },
      ],
      rules,
    )
    expect(
      plan.batches.map(({ channel, topic, node, recipients }) => ({ channel, topic, node, recipients })),
    ).toEqual([
      { channel: 'xiaomi', recipients: [1, 3] },
      { channel: 'fcm', recipients: [2] },
      { channel: 'native', node: 'n1', recipients: [4] },
      { channel: 'native', node: 'n2', recipients: [5] },
      { channel: 'apns', topic: 'a', recipients: [7] },
      { channel: 'apns', topic: 'b', recipients: [8] },
    ])
    expect(plan.inbox).toEqual([6])
    expect(Object.fromEntries(targetsOf(plan))).toEqual({ xiaomi: 2, fcm: 1, native: 3, apns: 2 })
  })

  it('limits a batch to 1000 recipients and to one second of the speed', () => {
    const many = Array.from({ length: 2500 }, (_, i) => device(i, 'fcm'))
    expect(planDevices(many, rules).batches.map((batch) => batch.recipients.length)).toEqual([
      1000, 1000, 500,
    ])
    expect(planDevices(many, rules, 900).batches.map((batch) => batch.recipients.length)).toEqual([
      900, 900, 700,
    ])
  })

  it('plans one device as a group of one', () => {
    const states: Partial<PlanDevice>[] = [{}, { node: 'n1' }, { away: true }]
    const strategies = ['combined', 'nativepush_only', 'ospush_only'] as const
    for (const channel of ['xiaomi', 'fcm', 'apns', undefined] as const)
      for (const state of states)
        for (const strategy of strategies)
          for (const mayStore of [true, false])
            for (const tried of [new Set<'native'>(), new Set(['native' as const])]) {
              const { id, ...rest } = device(5, channel, state)
              const wanted: RouteRules = { ...rules, strategy, mayStore, tried }
              expect(planDevices([{ id, ...rest }], wanted)).toEqual(
                planGroups([{ ...rest, ids: [id] }], wanted),
              )
            }
  })

  it('routes every device exactly once, for any mixture', () => {
    const channel = fc.constantFrom('xiaomi' as const, 'fcm' as const, 'apns' as const, undefined)
    fc.assert(
      fc.property(
        fc.array(fc.tuple(channel, fc.option(fc.constantFrom('n1', 'n2'), { nil: undefined }))),
        fc.constantFrom('combined' as const, 'nativepush_only' as const, 'ospush_only' as const),
        (seeds, strategy) => {
          const devices = seeds.map(([binding, node], id) => device(id, binding, { node }))
          const plan = planDevices(devices, { ...rules, strategy })
          const routed = [...plan.batches.flatMap((batch) => batch.recipients), ...plan.inbox]
          expect(new Set(routed).size).toBe(routed.length)
          expect(routed.length + plan.unreachable).toBe(devices.length)
          for (const { recipients } of plan.batches)
            expect(recipients).toEqual([...recipients].sort((a, b) => a - b))
        },
      ),
    )
  })
})

describe('planGroups', () => {
  it('plans groups in any order as their devices one by one', () => {
    const kind = fc.record({
      channel: fc.constantFrom('xiaomi' as const, 'fcm' as const, 'apns' as const, undefined),
      node: fc.option(fc.constantFrom('n1', 'n2'), { nil: undefined }),
      environment: fc.constantFrom(0, 1),
      away: fc.boolean(),
    })
    fc.assert(
      fc.property(
        fc.array(kind),
        fc.constantFrom(1, 3, undefined),
        fc.infiniteStream(fc.nat()),
        (kinds, speed, random) => {
          const devices = kinds.map(
            ({ channel, node, environment, away }, id): PlanDevice => ({
              id,
              bindings: channel ? [{ channel, environment, registeredAt: 0 }] : [],
              ...(away ? { away } : { node }),
            }),
          )
          const groups = new Map<string, DeviceGroup & { ids: number[] }>()
          for (const { id, ...kind } of devices) {
            const key = JSON.stringify(kind)
            const known = groups.get(key)
            if (known) known.ids.push(id)
            else groups.set(key, { ...kind, ids: [id] })
          }
          const shuffled = [...groups.values()]
            .map((group) => ({ group, at: random.next().value as number }))
            .sort((a, b) => a.at - b.at)
            .map(({ group }) => group)
          const byKey = (plan: ReturnType<typeof planGroups>) => ({
            ...plan,
            batches: plan.batches.map((batch) => JSON.stringify(batch)).sort(),
          })
          expect(byKey(planGroups(shuffled, rules, speed))).toEqual(byKey(planDevices(devices, rules, speed)))
        },
      ),
    )
  })
})
