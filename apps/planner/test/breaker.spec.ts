import { cancelTask } from '@herald/db/tasks'
import { recoveryPauses } from '@herald/domain'
import { until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { probeRound } from '../src/probe-round.ts'
import { type Harness, startHarness } from './harness.ts'

describe('a vendor that stops answering for a while', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await startHarness({
      pauses: { probe: [0.2], check: 0.2, breaker: { first: 0.2, max: 1 } },
    })
    await harness.startPlanner()
    await harness.startWorkers(['meizu'])
  })
  afterAll(() => harness.stop())

  const breakers = async () => (await harness.db.pool.query('SELECT failures FROM breaker')).rows

  it('is probed, and everything is sent when it answers again, also what waits without a time', async () => {
    const app = await harness.addApplication('outage')
    // Each task has its own batch: the first opens the breaker, the others wait behind it.
    await harness.addDevices(app, [
      { tokens: { meizu: 'a:accepted' }, alias: 'first' },
      { tokens: { meizu: 'b:accepted' }, alias: 'second' },
    ])
    const to = (alias: string) => ({ audience: { kind: 'alias' as const, aliases: [alias] } })
    harness.stub.setDown('meizu', true)
    const first = await harness.notify(app, to('first'))
    await until(async () => (await breakers()).length === 1, { what: 'the breaker' })
    const second = await harness.notify(app, to('second'))
    const waitsWithoutATime = async () =>
      (
        await harness.db.pool.query(
          `UPDATE batch SET not_before = 'infinity' WHERE task_id = $1 AND state = 'ready'`,
          [second],
        )
      ).rowCount === 1
    await until(waitsWithoutATime, { what: 'the second batch to wait' })
    expect(await breakers()).toHaveLength(1)
    harness.stub.setDown('meizu', false)
    for (const task of [first, second]) {
      await harness.finished(task)
      expect(await harness.counters(task)).toEqual({ meizu: { target: 1, sent: 1 } })
    }
    expect(await breakers()).toEqual([])
    expect(await harness.imbalances()).toEqual([])
  })

  it('has its closed certificate checked and opened again by the planner', async () => {
    const app = await harness.addApplication('wave', { check: 'ask' })
    await harness.addDevices(app, [{ tokens: { meizu: 'w:misconfigured,accepted' } }])
    harness.stub.refuseChecks('meizu', true)
    const task = await harness.notify(app)
    const state = async () =>
      (
        await harness.db.pool.query(
          `SELECT state, probes FROM certificate WHERE app_id = $1 AND channel = 'meizu'`,
          [app],
        )
      ).rows[0] as { state: string; probes: number }
    await until(async () => (await state()).probes >= 2, { what: 'two refused probes' })
    expect((await state()).state).toBe('closed')
    expect(await harness.counters(task)).toEqual({ meizu: { target: 1 } })
    harness.stub.refuseChecks('meizu', false)
    await harness.finished(task)
    expect(await harness.counters(task)).toEqual({ meizu: { target: 1, sent: 1 } })
    expect((await state()).state).toBe('open')
  })

  it('has no breaker any more when nothing is left to send as a probe', async () => {
    const app = await harness.addApplication('given up')
    await harness.addDevices(app, [{ tokens: { meizu: 'g:accepted' } }])
    harness.stub.setDown('meizu', true)
    const task = await harness.notify(app)
    await until(async () => (await breakers()).length === 1, { what: 'the breaker' })
    expect(await cancelTask(harness.db, { appId: app }, task)).toBe('ok')
    await harness.finished(task)
    const probing = {
      ...harness,
      pauses: recoveryPauses,
      check: async () => ({ ok: false as const, problem: 'down', temporary: true }),
      onReopened() {},
      onStillClosed() {},
    }
    const hasEnded = async () => {
      // Again, because the worker may still note that the last call failed.
      await harness.db.pool.query(`UPDATE breaker SET retry_at = now() - interval '1 hour'`)
      await probeRound(probing)
      return (await breakers()).length === 0
    }
    await until(hasEnded, { what: 'the end of the breaker' })
    expect(await harness.counters(task)).toEqual({ meizu: { target: 1, cancelled: 1 } })
    harness.stub.setDown('meizu', false)
  })
})
