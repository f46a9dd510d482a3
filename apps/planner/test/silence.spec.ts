import { type Database, openDatabase } from '@herald/db/store'
import { type SilentProxy, startSilentProxy, until } from '@herald/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { beginRound } from '../src/begin-round.ts'
import { planRound } from '../src/plan-round.ts'
import { type Harness, plainMessage, planningDeps, startHarness } from './harness.ts'

const DEVICES = 1001

describe('a planner whose connection goes silent', () => {
  let harness: Harness
  let app: string
  let proxy: SilentProxy
  let lost: Database
  beforeAll(async () => {
    harness = await startHarness()
    app = await harness.addApplication('broadcasts')
    const devices = Array.from({ length: DEVICES }, (_, i) => ({
      tokens: { xiaomi: `${i}:accepted` },
      alias: `alias${i}`,
    }))
    await harness.addDevices(app, devices)
  })
  afterAll(() => harness.stop())
  beforeEach(async () => {
    // Without the planner of the test before.
    await harness.stopServices()
    await harness.startWorkers(['xiaomi'])
    const url = new URL(harness.db.url)
    proxy = await startSilentProxy(Number(url.port || 5432))
    lost = openDatabase(Object.assign(url, { port: String(proxy.port) }).href)
  })
  afterEach(async () => {
    await proxy.close()
    await lost.close()
  })

  it.each(['lose', 'loseReply'] as const)(
    'with the commit of a page (%s) holds up no other task, and the broadcast ends with each device planned once',
    async (loss) => {
      const broadcast = await harness.notify(app)
      const deps = planningDeps({ ...harness, db: lost })
      await beginRound(deps)
      const silent = proxy[loss](/commit-page/)
      const hanging = planRound(deps).catch((error: unknown) => error)
      await silent
      // Longer than the other planner needs for the rest.
      await harness.db.pool.query(
        `UPDATE slice SET planning_until = now() + interval '1 hour' WHERE task_id = $1 AND planning_until IS NOT NULL AND cursor < hi`,
        [broadcast],
      )
      await harness.startPlanner()
      const small = await harness.notify(app, { audience: { kind: 'alias', aliases: ['alias7'] } })
      await harness.finished(small)
      await until(async () => (await open(broadcast)) === (loss === 'lose' ? 1 : 0), {
        what: 'all other pages',
      })
      // Instead of waiting for the end of the lease.
      await harness.db.pool.query('UPDATE slice SET planning_until = now() WHERE planning_until > now()')
      await harness.finished(broadcast)
      expect(await harness.counters(broadcast)).toEqual({ xiaomi: { target: DEVICES, sent: DEVICES } })
      const ledger = await harness.ledger(broadcast)
      expect(ledger).toHaveLength(DEVICES)
      expect(ledger.filter(({ attempts }) => attempts !== 1)).toEqual([])
      await proxy.close()
      expect(await hanging).toBeInstanceOf(Error)
      expect(await harness.imbalances()).toEqual([])
      expect(await open(broadcast)).toBe(0)
    },
  )

  it('with the commit of due tasks holds up no other task, and each begins once', async () => {
    const remind = (i: number) =>
      harness.notify(app, {
        audience: { kind: 'alias', aliases: [`alias${i}`] },
        message: { ...plainMessage, showBegin: Math.floor(Date.now() / 1000) },
      })
    const reminders = [await remind(0), await remind(1)]
    const deps = planningDeps({ ...harness, db: lost })
    const silent = proxy.loseReply(/begin-tasks/)
    const hanging = beginRound(deps).catch((error: unknown) => error)
    await silent
    await harness.startPlanner()
    for (const reminder of reminders) {
      await harness.finished(reminder)
      expect(await harness.counters(reminder)).toEqual({ xiaomi: { target: 1, sent: 1 } })
    }
    // The other planner takes due tasks of the application again after the end of the lease.
    const later = await remind(2)
    await harness.db.pool.query('UPDATE begin_lease SET until = now()')
    await harness.finished(later)
    await proxy.close()
    expect(await hanging).toBeInstanceOf(Error)
    expect(await harness.imbalances()).toEqual([])
  })

  /** Number of slices of the task that are not planned to their end. */
  const open = async (task: number) =>
    (
      await harness.db.pool.query(
        'SELECT count(*)::int AS open FROM slice WHERE task_id = $1 AND cursor < hi',
        [task],
      )
    ).rows[0].open as number
})
