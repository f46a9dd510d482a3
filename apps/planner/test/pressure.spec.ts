import { listTasks } from '@herald/db/tasks'
import { until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Machine, startMachine } from './machine.ts'

let machine: Machine
beforeAll(async () => {
  machine = await startMachine()
  await machine.startPlanner()
  await machine.startWorkers(['oppo', 'xiaomi'])
}, 60_000)
afterAll(() => machine.stop())

const many = (count: number, channel: 'oppo' | 'xiaomi', step: string) =>
  Array.from({ length: count }, (_, i) => ({ tokens: { [channel]: `${channel}${i}:${step}` } }))

describe('more than goes out', () => {
  it('is accepted, shown as waiting, and expires by its ttl with every device accounted for', async () => {
    const app = await machine.addApplication('flood', { limits: { devicesPerSecond: 20 } })
    await machine.addDevices(app, many(40, 'oppo', 'accepted'))
    const tasks = await Promise.all(Array.from({ length: 30 }, () => machine.notify(app, { ttl: 3 })))
    const waiting = await listTasks(machine.db, { appId: app }, { limit: 100 })
    expect(waiting).toHaveLength(30)
    expect(waiting.reduce((sum, { pending }) => sum + pending, 0)).toBeGreaterThan(600)

    for (const task of tasks) await machine.finished(task, 60)
    let [sent, expired] = [0, 0]
    for (const task of tasks) {
      const { oppo = {} } = await machine.counters(task)
      expect(oppo.target).toBe(40)
      expect((oppo.sent ?? 0) + (oppo.expired ?? 0)).toBe(40)
      sent += oppo.sent ?? 0
      expired += oppo.expired ?? 0
      expect((await machine.ledger(task)).filter(({ accepted }) => accepted > 0)).toHaveLength(oppo.sent ?? 0)
    }
    expect(sent).toBeGreaterThan(0)
    expect(expired).toBeGreaterThan(0)
    expect(await machine.imbalances()).toEqual([])
  }, 90_000)
})

describe('a vendor that is down', () => {
  it('does not slow the others, of the same task or of later ones', async () => {
    const app = await machine.addApplication('half dark')
    await machine.addDevices(app, [...many(1500, 'oppo', 'hang'), ...many(1500, 'xiaomi', 'accepted')])
    const tasks = [await machine.notify(app), await machine.notify(app), await machine.notify(app)]
    const xiaomi = async (task: number) => (await machine.counters(task)).xiaomi?.sent ?? 0
    for (const task of tasks)
      await until(async () => (await xiaomi(task)) === 1500, { seconds: 40, what: 'the vendor that is up' })
    for (const task of tasks) {
      const { oppo } = await machine.counters(task)
      expect(oppo).toEqual({ target: 1500 })
      expect(['planning', 'sending']).toContain(await machine.stateOf(task))
    }
    expect(await machine.imbalances()).toEqual([])
  }, 90_000)
})
