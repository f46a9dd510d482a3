import { listTasks } from '@herald/db/tasks'
import { until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Harness, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
  await harness.startPlanner()
  await harness.startWorkers(['oppo', 'xiaomi'])
})
afterAll(() => harness.stop())

const many = (count: number, channel: 'oppo' | 'xiaomi', step: string) =>
  Array.from({ length: count }, (_, i) => ({ tokens: { [channel]: `${channel}${i}:${step}` } }))

describe('more pushes than the limit allows', () => {
  it('are accepted, shown as waiting, and expire by their ttl with every device accounted for', async () => {
    // More than two minutes for half of them.
    const app = await harness.addApplication('flood', { limits: { devicesPerSecond: 4 } })
    await harness.addDevices(app, many(40, 'oppo', 'accepted'))
    const tasks = await Promise.all(Array.from({ length: 30 }, () => harness.notify(app)))
    const waiting = await listTasks(harness.db, { appId: app }, { limit: 100 })
    expect(waiting).toHaveLength(30)
    expect(waiting.reduce((sum, { pending }) => sum + pending, 0)).toBeGreaterThan(600)

    const someSent = async () =>
      (await Promise.all(tasks.map(harness.counters))).some(({ oppo }) => (oppo?.sent ?? 0) > 0)
    await until(someSent, { what: 'the first device' })
    await harness.expire(tasks)
    for (const task of tasks) await harness.finished(task)
    let [sent, expired] = [0, 0]
    for (const task of tasks) {
      const { oppo = {} } = await harness.counters(task)
      expect(oppo.target).toBe(40)
      expect((oppo.sent ?? 0) + (oppo.expired ?? 0)).toBe(40)
      sent += oppo.sent ?? 0
      expired += oppo.expired ?? 0
      expect((await harness.ledger(task)).filter(({ accepted }) => accepted > 0)).toHaveLength(oppo.sent ?? 0)
    }
    expect(sent).toBeGreaterThan(0)
    expect(expired).toBeGreaterThan(0)
    expect(await harness.imbalances()).toEqual([])
  })
})

describe('a vendor that is down', () => {
  it('does not slow down other vendors, in the same task or in later ones', async () => {
    const app = await harness.addApplication('half dark')
    await harness.addDevices(app, [...many(1500, 'oppo', 'hang'), ...many(1500, 'xiaomi', 'accepted')])
    const tasks = [await harness.notify(app), await harness.notify(app), await harness.notify(app)]
    for (const task of tasks) {
      const what = 'the vendor that is up, and the planning of the other'
      const both = async () => {
        const { xiaomi, oppo } = await harness.counters(task)
        return xiaomi?.sent === 1500 && oppo?.target === 1500
      }
      await until(both, { what })
      expect((await harness.counters(task)).oppo).toEqual({ target: 1500 })
      expect(['planning', 'sending']).toContain(await harness.stateOf(task))
    }
    expect(await harness.imbalances()).toEqual([])
  })
})
