import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Harness, startHarness } from './harness.ts'

describe('the counters of a task', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await startHarness()
    await harness.startPlanner()
    await harness.startWorkers()
  })
  afterAll(() => harness.stop())

  it('sends a small audience and finishes the task', async () => {
    const app = await harness.addApplication('small')
    await harness.addDevices(app, [
      { tokens: { xiaomi: 'a:accepted' } },
      { tokens: { fcm: 'b:accepted' } },
      { tokens: { huawei: 'c:rejected', fcm: 'c:accepted' } },
      { tokens: { vivo: 'd:rejected' } },
      {},
    ])
    const task = await harness.notify(app)
    await harness.finished(task)
    expect(await harness.counters(task)).toEqual({
      xiaomi: { target: 1, sent: 1 },
      fcm: { target: 2, sent: 2 },
      huawei: { target: 1, moved: 1 },
      vivo: { target: 1, failed: 1 },
    })
    expect(await harness.imbalances()).toEqual([])
  })

  it('retries throttled and unavailable recipients only', async () => {
    const app = await harness.addApplication('retry')
    await harness.addDevices(app, [
      { tokens: { oppo: 'x:throttled,unavailable,accepted' } },
      { tokens: { oppo: 'y:accepted' } },
      { tokens: { oppo: 'z:unavailable,accepted' } },
    ])
    const task = await harness.notify(app)
    await harness.finished(task)
    expect(await harness.counters(task)).toEqual({ oppo: { target: 3, sent: 3 } })
    const attempts = Object.fromEntries(
      (await harness.ledger(task)).map((entry) => [entry.token[0], entry.attempts]),
    )
    expect(attempts).toEqual({ x: 3, y: 1, z: 2 })
  })

  it('plans a large audience in slices and counts every device once', async () => {
    const app = await harness.addApplication('large')
    await harness.addDevices(
      app,
      Array.from({ length: 12_345 }, (_, i) => ({
        tokens:
          i % 3 === 0
            ? { xiaomi: `${i}:accepted` }
            : { huawei: `${i}:${i % 10 === 0 ? 'rejected' : 'accepted'}` },
      })),
    )
    const task = await harness.notify(app)
    await harness.finished(task)
    const rejected = Array.from({ length: 12_345 }, (_, i) => i).filter(
      (i) => i % 3 !== 0 && i % 10 === 0,
    ).length
    expect(await harness.counters(task)).toEqual({
      xiaomi: { target: 4115, sent: 4115 },
      huawei: { target: 8230, sent: 8230 - rejected, failed: rejected },
    })
    const ledger = await harness.ledger(task)
    expect(ledger.length).toBe(12_345)
    expect(ledger.every((entry) => entry.attempts === 1)).toBe(true)
    expect(await harness.imbalances()).toEqual([])
  })
})
