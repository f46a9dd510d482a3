import { cancelTask, listTasks, pauseTask, resumeTask, taskFailures } from '@herald/db/tasks'
import { until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Machine, plainMessage, startMachine } from './machine.ts'

describe('scheduling and control', () => {
  let machine: Machine
  beforeAll(async () => {
    machine = await startMachine({ stub: { latencyMs: 20 } })
    await machine.startPlanner()
    await machine.startWorkers()
  })
  afterAll(() => machine.stop())

  const many = (count: number, step = 'accepted', channel = 'oppo') =>
    Array.from({ length: count }, (_, i) => ({ tokens: { [channel]: `${i}:${step}` } }))
  const accepted = async (task: number) =>
    (await machine.ledger(task)).filter((entry) => entry.accepted > 0).length
  const waitUntilAccepted = (task: number, count: number) =>
    until(async () => (await accepted(task)) >= count, { seconds: 20, what: `${count} accepted` })
  const failures = async (app: string, task: number) =>
    (await taskFailures(machine.db, { appId: app }, task))!.map(({ fate, reason, count, samples }) => ({
      fate,
      reason,
      count,
      samples: samples.length,
    }))
  const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds

  it('pauses a running broadcast, survives it, and resumes without a burst', async () => {
    const app = await machine.addApplication('pause')
    await machine.addDevices(app, many(1500))
    const task = await machine.notify(app, { speed: 300 })
    await waitUntilAccepted(task, 300)
    expect(await pauseTask(machine.db, { appId: app }, task)).toBe('ok')
    const states = async () =>
      (
        await machine.db.pool.query(
          `SELECT DISTINCT state FROM batch WHERE task_id = $1 AND state <> 'settled'`,
          [task],
        )
      ).rows.map(({ state }) => state)
    await until(async () => (await states()).join() === 'held', { what: 'the rest' })
    const atRest = await accepted(task)
    expect(atRest).toBeLessThan(1500)
    // Every round passes meanwhile.
    const other = await machine.addApplication('not paused')
    await machine.addDevices(other, many(1))
    await machine.finished(await machine.notify(other, { speed: 300 }))
    expect([await states(), await accepted(task)]).toEqual([['held'], atRest])
    expect(await machine.imbalances()).toEqual([])
    expect((await listTasks(machine.db, { appId: app }, { limit: 1 }))[0]).toMatchObject({ state: 'paused' })

    const resumed = performance.now()
    await resumeTask(machine.db, { appId: app }, task)
    let ahead = 0
    await until(
      async () => {
        const since = (await accepted(task)) - atRest
        ahead = Math.max(ahead, since - (300 * (performance.now() - resumed)) / 1000)
        return atRest + since === 1500
      },
      { seconds: 30, what: 'the last device' },
    )
    expect(ahead).toBe(0)
    await machine.finished(task)
    expect(await machine.counters(task)).toEqual({ oppo: { target: 1500, sent: 1500 } })
  })

  it('cancels a running broadcast: what was sent stays sent, the rest is cancelled', async () => {
    const app = await machine.addApplication('cancel')
    await machine.addDevices(app, many(5000))
    const task = await machine.notify(app, { speed: 500 })
    await waitUntilAccepted(task, 500)
    expect(await cancelTask(machine.db, { appId: app }, task)).toBe('ok')
    await machine.finished(task)
    expect(await machine.stateOf(task)).toBe('cancelled')
    const { oppo } = await machine.counters(task)
    expect(oppo!.sent).toBe(await accepted(task))
    expect(oppo!.sent! + oppo!.cancelled!).toBe(oppo!.target)
    expect(oppo!.cancelled).toBeGreaterThan(0)
    expect(await failures(app, task)).toEqual([
      { fate: 'cancelled', reason: 'its task was cancelled', count: oppo!.cancelled, samples: 10 },
    ])
    expect(await cancelTask(machine.db, { appId: app }, task)).toBe('finished')
    expect(await cancelTask(machine.db, { appId: 'another' }, task)).toBe('unknown')
  })

  it('holds a task until its time and resolves the audience then', async () => {
    const app = await machine.addApplication('later')
    const task = await machine.notify(app, { message: { ...plainMessage, showBegin: inSeconds(2) } })
    expect(await machine.stateOf(task)).toBe('accepted')
    await machine.addDevices(app, many(3))
    expect(await machine.counters(task)).toEqual({})
    await machine.finished(task)
    expect(await machine.counters(task)).toEqual({ oppo: { target: 3, sent: 3 } })
  })

  it('cancels a task that has not begun', async () => {
    const app = await machine.addApplication('never')
    const task = await machine.notify(app, { message: { ...plainMessage, showBegin: inSeconds(3600) } })
    await cancelTask(machine.db, { appId: app }, task)
    await machine.finished(task)
    expect(await machine.stateOf(task)).toBe('cancelled')
  })

  it('expires what could not be handed over within the ttl', async () => {
    const app = await machine.addApplication('expiry')
    await machine.addDevices(app, [...many(2, 'unavailable'), ...many(1, 'accepted', 'vivo')])
    const task = await machine.notify(app, { ttl: 2 })
    await machine.finished(task, 20)
    expect(await machine.counters(task)).toEqual({
      oppo: { target: 2, expired: 2 },
      vivo: { target: 1, sent: 1 },
    })
    expect(await failures(app, task)).toEqual([
      { fate: 'expired', reason: 'its time ran out while the vendor was in trouble', count: 2, samples: 2 },
    ])
    const counted = await machine.registry.getSingleMetric('herald_recipients_total')!.get()
    expect(counted.values).toContainEqual({ labels: { channel: 'oppo', fate: 'expired' }, value: 2 })
  })

  it('expires at the end of the show window even when the ttl is longer', async () => {
    const app = await machine.addApplication('window')
    await machine.addDevices(app, many(1, 'throttled'))
    const task = await machine.notify(app, { message: { ...plainMessage, showEnd: inSeconds(2) } })
    await machine.finished(task, 20)
    expect(await machine.counters(task)).toEqual({ oppo: { target: 1, expired: 1 } })
  })

  it('drops a recipient whose device was given to another user after planning', async () => {
    const app = await machine.addApplication('moved')
    const [moved] = await machine.addDevices(app, [
      { tokens: { meizu: 'm:unavailable,accepted' } },
      ...many(1),
    ])
    const task = await machine.notify(app)
    await machine.db.pool.query(`UPDATE device SET moved_at = now() + interval '1 second' WHERE id = $1`, [
      moved,
    ])
    await machine.finished(task)
    expect((await machine.counters(task)).meizu).toEqual({ target: 1, expired: 1 })
  })

  it('pushes a request id once under a thousand concurrent copies, and every copy gets its id', async () => {
    const app = await machine.addApplication('dedup')
    await machine.addDevices(app, many(2))
    const ids = await Promise.all(
      Array.from({ length: 1000 }, () => machine.notify(app, { requestId: 'same' })),
    )
    expect(new Set(ids).size).toBe(1)
    await machine.finished(ids[0]!)
    expect((await machine.ledger(ids[0]!)).map((entry) => entry.attempts)).toEqual([1, 1])
    const { rows } = await machine.db.pool.query(
      'SELECT count(*)::int AS tasks FROM task WHERE app_id = $1',
      [app],
    )
    expect(rows[0].tasks).toBe(1)
  })
})

describe('a broadcast under way', () => {
  let machine: Machine
  beforeAll(async () => {
    machine = await startMachine({ stub: { latencyMs: 250 } })
    await machine.startPlanner()
    await machine.startWorkers(['oppo'])
  })
  afterAll(() => machine.stop())

  it('is overtaken by a targeted push and does not starve a second tenant', async () => {
    const devices = Array.from({ length: 60_000 }, (_, i) => ({ tokens: { oppo: `${i}:accepted` } }))
    const app = await machine.addApplication('broadcaster')
    await machine.addDevices(app, devices)
    await machine.addDevices(app, [{ tokens: { oppo: 'urgent:accepted' }, alias: 'urgent' }])
    const second = await machine.addApplication('second tenant')
    await machine.addDevices(second, devices.slice(0, 2500))
    const sent = async (task: number) => (await machine.counters(task)).oppo?.sent ?? 0

    const broadcast = await machine.notify(app)
    await until(async () => (await sent(broadcast)) > 0, { seconds: 20, what: 'the broadcast' })
    const targeted = await machine.notify(app, { audience: { kind: 'alias', aliases: ['urgent'] } })
    const neighbour = await machine.notify(second)
    await until(async () => (await sent(targeted)) === 1, { seconds: 10, what: 'the targeted push' })
    const atTargeted = await sent(broadcast)
    await until(async () => (await sent(neighbour)) === 2500, {
      seconds: 20,
      what: "the neighbour's broadcast",
    })
    const atNeighbour = await sent(broadcast)
    expect(atTargeted).toBeLessThan(30_000)
    expect(atNeighbour).toBeLessThan(60_001)
    await machine.finished(broadcast, 60)
    expect(await machine.counters(broadcast)).toEqual({ oppo: { target: 60_001, sent: 60_001 } })
    expect(await machine.imbalances()).toEqual([])
  }, 120_000)
})
