import { cancelTask, listTasks, pauseTask, resumeTask, taskFailures } from '@herald/db/tasks'
import { until } from '@herald/testkit'
import type { StubEntry } from '@herald/testkit/stub-server'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Harness, plainMessage, startHarness } from './harness.ts'

describe('scheduling and control', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await startHarness({ stub: { latencyMs: 20 } })
    await harness.startPlanner()
    await harness.startWorkers()
  })
  afterAll(() => harness.stop())

  const many = (count: number, step = 'accepted', channel = 'oppo') =>
    Array.from({ length: count }, (_, i) => ({ tokens: { [channel]: `${i}:${step}` } }))
  const accepted = async (task: number) =>
    (await harness.ledger(task)).filter((entry) => entry.accepted > 0).length
  const waitUntilAccepted = (task: number, count: number) =>
    until(async () => (await accepted(task)) >= count, { what: `${count} accepted` })
  const waitUntilCalled = (task: number, token: string) =>
    until(async () => (await harness.ledger(task)).some((entry) => entry.token.startsWith(token)), {
      what: 'the call',
    })
  const failures = async (app: string, task: number) =>
    (await taskFailures(harness.db, { appId: app }, task))!.map(({ fate, reason, count, samples }) => ({
      fate,
      reason,
      count,
      samples: samples.length,
    }))
  const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds

  it('pauses a running broadcast and resumes it without a burst', async () => {
    const app = await harness.addApplication('pause')
    await harness.addDevices(app, many(1500))
    // So slow that it cannot end before it is paused.
    const task = await harness.notify(app, { speed: 10 })
    await waitUntilAccepted(task, 10)
    expect(await pauseTask(harness.db, { appId: app }, task)).toBe('ok')
    const states = async () =>
      (
        await harness.db.pool.query(
          `SELECT DISTINCT state FROM batch WHERE task_id = $1 AND state <> 'settled'`,
          [task],
        )
      ).rows.map(({ state }) => state)
    await until(async () => (await states()).join() === 'held', { what: 'the pause' })
    const atPause = await accepted(task)
    expect(atPause).toBeLessThan(1500)
    // Another task runs through every round while this one is paused.
    const other = await harness.addApplication('not paused')
    await harness.addDevices(other, many(1))
    await harness.finished(await harness.notify(other, { speed: 300 }))
    expect([await states(), await accepted(task)]).toEqual([['held'], atPause])
    expect(await harness.imbalances()).toEqual([])
    expect((await listTasks(harness.db, { appId: app }, { limit: 1 }))[0]).toMatchObject({ state: 'paused' })

    await harness.db.pool.query('UPDATE task SET speed = 300, speed_tokens = 0 WHERE id = $1', [task])
    const resumed = performance.now()
    await resumeTask(harness.db, { appId: app }, task)
    let ahead = 0
    await until(
      async () => {
        const since = (await accepted(task)) - atPause
        ahead = Math.max(ahead, since - (300 * (performance.now() - resumed)) / 1000)
        return atPause + since === 1500
      },
      { what: 'the last device' },
    )
    expect(ahead).toBe(0)
    await harness.finished(task)
    expect(await harness.counters(task)).toEqual({ oppo: { target: 1500, sent: 1500 } })
  })

  it('cancels a running broadcast: recipients that were sent to stay sent, the others are cancelled', async () => {
    const app = await harness.addApplication('cancel')
    await harness.addDevices(app, many(5000))
    const task = await harness.notify(app, { speed: 50 })
    await waitUntilAccepted(task, 50)
    expect(await cancelTask(harness.db, { appId: app }, task)).toBe('ok')
    await harness.finished(task)
    expect(await harness.stateOf(task)).toBe('cancelled')
    const { oppo } = await harness.counters(task)
    expect(oppo!.sent).toBe(await accepted(task))
    expect(oppo!.sent! + oppo!.cancelled!).toBe(oppo!.target)
    expect(oppo!.cancelled).toBeGreaterThan(0)
    expect(await failures(app, task)).toEqual([
      { fate: 'cancelled', reason: 'the task was cancelled', count: oppo!.cancelled, samples: 10 },
    ])
    expect(await cancelTask(harness.db, { appId: app }, task)).toBe('finished')
    expect(await cancelTask(harness.db, { appId: 'another' }, task)).toBe('unknown')
  })

  it('keeps a task until its begin time and resolves the audience then', async () => {
    const app = await harness.addApplication('later')
    const task = await harness.notify(app, { message: { ...plainMessage, showBegin: inSeconds(3600) } })
    const begun = await harness.notify(app, { message: { ...plainMessage, showBegin: inSeconds(1) } })
    await harness.finished(begun)
    expect(await harness.stateOf(task)).toBe('accepted')
    await harness.addDevices(app, many(3))
    expect(await harness.counters(task)).toEqual({})
    await harness.begin(task)
    await harness.finished(task)
    expect(await harness.counters(task)).toEqual({ oppo: { target: 3, sent: 3 } })
  })

  it('cancels a task that has not begun', async () => {
    const app = await harness.addApplication('never')
    const task = await harness.notify(app, { message: { ...plainMessage, showBegin: inSeconds(3600) } })
    await cancelTask(harness.db, { appId: app }, task)
    await harness.finished(task)
    expect(await harness.stateOf(task)).toBe('cancelled')
  })

  it('expires recipients that could not be sent to within the ttl', async () => {
    const app = await harness.addApplication('expiry')
    await harness.addDevices(app, [...many(2, 'unavailable'), ...many(1, 'accepted', 'vivo')])
    const task = await harness.notify(app)
    await waitUntilAccepted(task, 1)
    const isRetried = async () =>
      (await harness.ledger(task)).filter(({ channel, attempts }) => channel === 'oppo' && attempts > 1)
        .length === 2
    await until(isRetried, { what: 'a second attempt' })
    await harness.expire([task])
    await harness.finished(task)
    expect(await harness.counters(task)).toEqual({
      oppo: { target: 2, expired: 2 },
      vivo: { target: 1, sent: 1 },
    })
    expect(await failures(app, task)).toEqual([
      {
        fate: 'expired',
        reason: 'expired while the vendor was throttling or unavailable',
        count: 2,
        samples: 2,
      },
    ])
    const counted = await harness.registry.getSingleMetric('herald_recipients_total')!.get()
    expect(counted.values).toContainEqual({ labels: { channel: 'oppo', fate: 'expired' }, value: 2 })
  })

  it('expires at the end of the show window even when the ttl is longer', async () => {
    const app = await harness.addApplication('window')
    await harness.addDevices(app, many(1, 'throttled'))
    const task = await harness.notify(app, { message: { ...plainMessage, showEnd: inSeconds(2) } })
    await harness.finished(task)
    expect(await harness.counters(task)).toEqual({ oppo: { target: 1, expired: 1 } })
  })

  it('drops a recipient whose device changed its user after planning', async () => {
    const app = await harness.addApplication('moved')
    const [moved] = await harness.addDevices(app, [
      { tokens: { meizu: 'm:unavailable,accepted' } },
      ...many(1),
    ])
    const answer = harness.stub.hold('meizu')
    const task = await harness.notify(app)
    await waitUntilCalled(task, 'm:')
    await harness.db.pool.query(`UPDATE device SET moved_at = now() + interval '1 second' WHERE id = $1`, [
      moved,
    ])
    answer()
    await harness.finished(task)
    expect((await harness.counters(task)).meizu).toEqual({ target: 1, expired: 1 })
  })

  it('pushes a request id once under a thousand concurrent copies, and every copy gets its id', async () => {
    const app = await harness.addApplication('dedup')
    await harness.addDevices(app, many(2))
    const ids = await Promise.all(
      Array.from({ length: 1000 }, () => harness.notify(app, { requestId: 'same' })),
    )
    expect(new Set(ids).size).toBe(1)
    await harness.finished(ids[0]!)
    expect((await harness.ledger(ids[0]!)).map((entry) => entry.attempts)).toEqual([1, 1])
    const { rows } = await harness.db.pool.query(
      'SELECT count(*)::int AS tasks FROM task WHERE app_id = $1',
      [app],
    )
    expect(rows[0].tasks).toBe(1)
  })
})

describe('a broadcast in progress', () => {
  let harness: Harness
  beforeAll(async () => {
    // No call ends while the vendor is held, however long that takes here: it would make room for more of the broadcast.
    harness = await startHarness({
      stub: { latencyMs: 250 },
      settings: { HERALD_SEND_TIMEOUT_SECONDS: '300' },
    })
    await harness.startPlanner()
    await harness.startWorkers(['oppo'])
  })
  afterAll(() => harness.stop())

  it('is overtaken by a targeted push and does not starve a second tenant', async () => {
    const devices = Array.from({ length: 60_000 }, (_, i) => ({ tokens: { oppo: `${i}:accepted` } }))
    const app = await harness.addApplication('broadcaster')
    await harness.addDevices(app, devices)
    await harness.addDevices(app, [{ tokens: { oppo: 'urgent:accepted' }, alias: 'urgent' }])
    const second = await harness.addApplication('second tenant')
    await harness.addDevices(second, devices.slice(0, 2500))
    const sent = async (task: number) => (await harness.counters(task)).oppo?.sent ?? 0

    // The vendor answers nothing until the other two are planned, so that only what the workers have taken by then
    // can be ahead of them, however slow the machine is.
    const answer = harness.stub.hold('oppo')
    const broadcast = await harness.notify(app)
    await until(async () => (await harness.ledger(broadcast)).length > 0, { what: 'the broadcast' })
    const targeted = await harness.notify(app, { audience: { kind: 'alias', aliases: ['urgent'] } })
    const neighbour = await harness.notify(second)
    const targets = async (task: number) => (await harness.counters(task)).oppo?.target
    await until(async () => (await targets(targeted)) === 1 && (await targets(neighbour)) === 2500, {
      what: 'the plans',
    })
    answer()
    for (const task of [targeted, neighbour, broadcast]) await harness.finished(task)
    expect(await harness.counters(broadcast)).toEqual({ oppo: { target: 60_001, sent: 60_001 } })
    expect([await sent(targeted), await sent(neighbour)]).toEqual([1, 2500])
    // In the order in which the vendor got them.
    const ledger = (await (await fetch(`${harness.stub.url}/ledger`)).json()) as StubEntry[]
    const broadcastBefore = (last: number) =>
      ledger.slice(0, last).filter(({ task }) => task === broadcast).length
    expect(broadcastBefore(ledger.findIndex(({ task }) => task === targeted))).toBeLessThan(30_000)
    expect(broadcastBefore(ledger.findLastIndex(({ task }) => task === neighbour))).toBeLessThan(60_001)
    expect(await harness.imbalances()).toEqual([])
  })
})
