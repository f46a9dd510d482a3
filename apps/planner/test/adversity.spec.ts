import { closeCertificate, removeCertificate, saveCertificate } from '@herald/db/certificates'
import { markSuspect, updateSuspects } from '@herald/db/devices'
import {
  cancelTask,
  claimBatches,
  claimBundles,
  findDueWork,
  makePacedReady,
  pauseTask,
  resumeTask,
} from '@herald/db/tasks'
import { pushQueue } from '@herald/queue'
import { until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { beginRound } from '../src/begin-round.ts'
import { feedRound } from '../src/feed-round.ts'
import { planRound } from '../src/plan-round.ts'
import { sweepRound } from '../src/sweep-round.ts'
import { type Harness, plainMessage, planningDeps, startHarness } from './harness.ts'

const certificateOf = async (harness: Harness, app: string, channel: string) =>
  (
    await harness.db.pool.query(
      'SELECT id, state, version FROM certificate WHERE app_id = $1 AND channel = $2',
      [app, channel],
    )
  ).rows[0] as { id: number; state: string; version: number }

const inAnHour = () => ({ ...plainMessage, showBegin: Math.floor(Date.now() / 1000) + 3600 })

describe('a batch planned before its certificate failed', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await startHarness({ stub: { latencyMs: 300 } })
    await harness.startPlanner()
    await harness.startWorkers()
  })
  afterAll(() => harness.stop())

  it('moves to the next channel when its certificate is closed, paced or not, and waits where there is none', async () => {
    const app = await harness.addApplication('closed behind them', { check: 'refused' })
    await harness.addDevices(app, [
      ...Array.from({ length: 100 }, (_, i) => ({
        tokens: { fcm: `f${i}:accepted`, huawei: `h${i}:misconfigured` },
      })),
      { tokens: { huawei: 'alone:misconfigured' } },
    ])
    const paced = await harness.notify(app, { speed: 100 })
    await until(async () => (await harness.counters(paced)).fcm?.sent === 100, {
      what: 'the fallback of all',
    })
    expect((await harness.counters(paced)).huawei).toEqual({ target: 101, moved: 100 })
    // It is offered once only: nothing is repeated while the certificate stays closed.
    const offered = async () =>
      (
        await harness.db.pool.query(
          `SELECT state, not_before = 'infinity' AS waits FROM batch
           WHERE task_id = $1 AND channel = 'huawei' AND state <> 'settled'`,
          [paced],
        )
      ).rows
    await until(async () => JSON.stringify(await offered()) === '[{"state":"paced","waits":true}]', {
      what: 'the offer',
    })
    expect(await makePacedReady(harness.db, paced)).toBe(0)
    expect(await harness.imbalances()).toEqual([])
  })

  it('moves when the batch was still waiting as the certificate was closed', async () => {
    const app = await harness.addApplication('closed before them')
    await harness.addDevices(
      app,
      Array.from({ length: 1500 }, (_, i) => ({
        tokens: { fcm: `f${i}:accepted`, huawei: `h${i}:accepted` },
      })),
    )
    const task = await harness.notify(app, { message: inAnHour() })
    await pauseTask(harness.db, { appId: app }, task)
    await harness.begin(task)
    await until(async () => (await harness.counters(task)).huawei?.target === 1500, {
      what: 'the plan',
    })
    await closeCertificate(harness.db, (await certificateOf(harness, app, 'huawei')).id, {
      code: 'test',
      text: 'refused',
    })
    harness.certificates.forget(app)
    await resumeTask(harness.db, { appId: app }, task)
    await harness.finished(task)
    expect(await harness.counters(task)).toEqual({
      huawei: { target: 1500, moved: 1500 },
      fcm: { target: 1500, sent: 1500 },
    })
  })

  it('does not wait for its deadline when its certificate is removed', async () => {
    const app = await harness.addApplication('removed')
    await harness.addDevices(
      app,
      Array.from({ length: 1500 }, (_, i) => ({ tokens: { vivo: `v${i}:accepted` } })),
    )
    const task = await harness.notify(app, { message: inAnHour() })
    await pauseTask(harness.db, { appId: app }, task)
    await harness.begin(task)
    await until(async () => (await harness.counters(task)).vivo?.target === 1500, {
      what: 'the plan',
    })
    await removeCertificate(harness.db, harness.sealer, {
      application: app,
      channel: 'vivo',
      environment: 'production',
    })
    // Processes may use it for another second.
    await until(async () => !('stored' in (await harness.certificates.of(app)).serving('vivo', 1)), {
      what: 'the removal',
    })
    await resumeTask(harness.db, { appId: app }, task)
    await harness.finished(task)
    expect(await harness.counters(task)).toEqual({ vivo: { target: 1500, failed: 1500 } })
  })

  it('leaves a certificate open that was fixed while the refusal was in flight', async () => {
    const app = await harness.addApplication('fixed')
    await harness.addDevices(app, [{ tokens: { oppo: 'a:misconfigured,accepted' } }])
    const answer = harness.stub.hold('oppo')
    const task = await harness.notify(app)
    await until(async () => (await harness.ledger(task)).length === 1, { what: 'the call' })
    await saveCertificate(harness.db, harness.sealer, {
      application: app,
      channel: 'oppo',
      environment: 'production',
      name: 'new',
      appId: 'a',
      appKey: 'k',
      appSecret: 'right',
      certificate: '',
      extra: {},
    })
    answer()
    await harness.finished(task)
    expect((await certificateOf(harness, app, 'oppo')).state).toBe('open')
    expect(await harness.counters(task)).toEqual({ oppo: { target: 1, sent: 1 } })
  })
})

describe('timing', () => {
  let harness: Harness
  let app: string
  beforeAll(async () => {
    harness = await startHarness()
    app = await harness.addApplication('haste')
    await harness.addDevices(app, [{ tokens: { xiaomi: 'a:accepted' } }])
  })
  afterAll(() => harness.stop())

  const callbacks = { onQueueFailure() {}, onEnded() {}, onLoopError() {} }
  const states = async () =>
    (await harness.db.pool.query('SELECT DISTINCT state FROM batch ORDER BY 1')).rows.map((row) => row.state)

  it('leaves expired leases to their workers until Postgres has been back for a while', async () => {
    const two = await harness.addApplication('two')
    await harness.addDevices(two, [
      { tokens: { xiaomi: 'b:accepted' } },
      { tokens: { xiaomi: 'c:accepted' } },
    ])
    const taskId = await harness.notify(two)
    const { rows } = await harness.db.pool.query(
      'SELECT id, channel, certificate_id AS "certificateId" FROM batch WHERE task_id = $1',
      [taskId],
    )
    const { id, channel, certificateId } = rows[0]
    const of = { channel, certificateIds: [certificateId] }
    await claimBatches(harness.db.pool, { ...of, batches: [{ taskId, id }] }, { seconds: 0, worker: 'lost' })
    const single = await harness.notify(app)
    const bundle = await harness.db.pool.query('SELECT bundle AS id FROM task WHERE id = $1', [single])
    const lease = { seconds: 0, worker: 'lost' }
    expect(await claimBundles(harness.db.pool, 'xiaomi', [bundle.rows[0].id], lease)).toHaveLength(1)
    await sweepRound({ ...harness, ...callbacks, isSteady: () => false })
    expect(await states()).toEqual(['sending'])
    expect((await harness.db.pool.query('SELECT 1 FROM batch WHERE task_id = $1', [single])).rowCount).toBe(0)
    await sweepRound({ ...harness, ...callbacks, isSteady: () => true })
    expect(await states()).toEqual(['ready'])
    expect((await harness.db.pool.query('SELECT 1 FROM batch WHERE task_id = $1', [single])).rowCount).toBe(1)
  })

  it('counts the released batches of concurrent releases', async () => {
    const fed = await harness.addApplication('fed')
    const channels = ['vivo', 'oppo', 'fcm', 'honor']
    await harness.addDevices(
      fed,
      channels.map((channel) => ({ tokens: { [channel]: `${channel}:accepted` } })),
    )
    const task = await harness.notify(fed)
    await harness.db.pool.query(`UPDATE batch SET state = 'settled' WHERE task_id <> $1`, [task])
    await harness.db.pool.query(`UPDATE batch SET state = 'ready', not_before = now() WHERE task_id = $1`, [
      task,
    ])
    expect(await feedRound({ ...harness, ...callbacks })).toEqual({ batches: 4, recipients: 4 })
  })

  it('sends a small audience without a round of the feeder', async () => {
    const small = await harness.addApplication('small')
    await harness.addDevices(small, [{ tokens: { vivo: 'a:accepted' } }])
    await harness.startWorkers(['vivo'])
    const task = await harness.notify(small)
    await until(async () => (await harness.counters(task)).vivo?.sent === 1, { what: 'the push' })
  })

  it('sends a task at once that was paused and resumed before a feed round', async () => {
    const task = await harness.notify(app)
    await pauseTask(harness.db, { appId: app }, task)
    await harness.startWorkers(['xiaomi'])
    // The job finds nothing to claim; the push must not wait until it counts as lost.
    await until(async () => (await harness.queues.depth(pushQueue('xiaomi'))) === 0, {
      what: 'the job',
    })
    await resumeTask(harness.db, { appId: app }, task)
    const { rows } = await harness.db.pool.query('SELECT state FROM batch WHERE task_id = $1', [task])
    expect(rows).toEqual([{ state: 'ready' }])
    await harness.startPlanner()
    await harness.finished(task)
    expect(await harness.counters(task)).toEqual({ xiaomi: { target: 1, sent: 1 } })
  })

  it('accepts a task although the clock was set back and its first id is taken', async () => {
    const taken = await harness.notify(app)
    await harness.db.pool.query(
      `CREATE SEQUENCE repeated START ${taken};
       ALTER FUNCTION next_task_id RENAME TO next_task_id_kept;
       CREATE FUNCTION next_task_id() RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT nextval('repeated') $$`,
    )
    const next = await harness.notify(app)
    await harness.db.pool.query(
      'DROP FUNCTION next_task_id; ALTER FUNCTION next_task_id_kept RENAME TO next_task_id',
    )
    expect(next).toBe(taken + 1)
  })
})

describe('a tenant whose rows are broken', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await startHarness()
  })
  afterAll(() => harness.stop())

  it('does not keep the planner from others, and is planned when they are repaired', async () => {
    const broken = await harness.addApplication('broken')
    const fine = await harness.addApplication('fine')
    const many = (channel: string) =>
      Array.from({ length: 1200 }, (_, i) => ({ tokens: { [channel]: `${i}:accepted` } }))
    await harness.addDevices(broken, many('xiaomi'))
    await harness.addDevices(fine, many('xiaomi'))
    const first = await harness.notify(broken, { lane: 'high' })
    const second = await harness.notify(fine)
    const kept = await harness.db.pool.query('SELECT id, sealed FROM certificate WHERE app_id = $1', [broken])
    await harness.db.pool.query(`UPDATE certificate SET sealed = '\\x00' WHERE app_id = $1`, [broken])
    await harness.startPlanner()
    await harness.startWorkers(['xiaomi'])
    await harness.finished(second)
    expect(await harness.counters(second)).toEqual({ xiaomi: { target: 1200, sent: 1200 } })
    for (const { id, sealed } of kept.rows)
      await harness.db.pool.query('UPDATE certificate SET sealed = $2 WHERE id = $1', [id, sealed])
    // Instead of waiting for the next attempt: workers try a certificate that no key opens once per minute.
    const retry = () =>
      harness.db.pool.query(`UPDATE batch SET not_before = now() WHERE task_id = $1 AND state = 'ready'`, [
        first,
      ])
    await until(async () => (await retry()) && (await harness.stateOf(first)) === 'finished')
    expect(await harness.counters(first)).toEqual({ xiaomi: { target: 1200, sent: 1200 } })
  })
})

describe('two broadcasts', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await startHarness()
  })
  afterAll(() => harness.stop())

  it('are planned independently: one is complete while the other is not, and half a plan is not kept', async () => {
    const tasks: number[] = []
    for (const name of ['one', 'another']) {
      const app = await harness.addApplication(name)
      const devices = Array.from({ length: 1001 }, (_, i) => ({ tokens: { oppo: `${i}:accepted` } }))
      await harness.addDevices(app, devices)
      tasks.push(await harness.notify(app))
    }
    const deps = planningDeps(harness)
    await beginRound(deps)
    const states = () => Promise.all(tasks.map(harness.stateOf))
    while (!(await states()).includes('sending')) await planRound(deps)
    expect((await states()).sort()).toEqual(['planning', 'sending'])
    expect((await findDueWork(harness.db)).plan).toBe(true)

    const half = tasks[(await states()).indexOf('planning')]!
    const { rows } = await harness.db.pool.query('SELECT app_id FROM task WHERE id = $1', [half])
    await cancelTask(harness.db, { appId: rows[0].app_id }, half)
    const sweep = { ...harness, onQueueFailure() {}, onEnded() {}, onLoopError() {}, isSteady: () => true }
    await until(async () => !(await sweepRound(sweep)) && (await harness.stateOf(half)) === 'cancelled', {
      what: 'the end of the cancelled task',
    })
    await planRound(deps)
    expect((await findDueWork(harness.db)).plan).toBe(false)
  })
})

describe('the governor over several workers', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await startHarness()
    await harness.startPlanner()
    for (let n = 0; n < 3; n++) await harness.startWorkers(['oppo'])
  })
  afterAll(() => harness.stop())

  it('never sends more than twice its limit in a second, however large the batches are', async () => {
    const app = await harness.addApplication('governed', { limits: { devicesPerSecond: 50 } })
    await harness.addDevices(
      app,
      Array.from({ length: 200 }, (_, i) => ({ tokens: { oppo: `${i}:accepted` } })),
    )
    const began = Date.now()
    const task = await harness.notify(app)
    let ahead = 0
    await until(
      async () => {
        const accepted = (await harness.ledger(task)).filter((entry) => entry.accepted > 0).length
        ahead = Math.max(ahead, accepted - 50 * ((Date.now() - began) / 1000))
        return accepted === 200
      },
      { what: 'the last device' },
    )
    expect(ahead).toBeLessThanOrEqual(100)
    await harness.finished(task)
    expect(await harness.counters(task)).toEqual({ oppo: { target: 200, sent: 200 } })
  })
})

describe('a suspect certificate', () => {
  let harness: Harness
  let app: string
  beforeAll(async () => {
    harness = await startHarness()
    app = await harness.addApplication('suspect')
  })
  afterAll(() => harness.stop())

  const retire = (devices: number[]) =>
    harness.db.pool.query(
      `WITH gone AS (DELETE FROM binding WHERE device_id = ANY($1) RETURNING *)
       INSERT INTO retired_token (app_id, channel, token, device_id, environment, registered_at, reason)
       SELECT app_id, channel, token, device_id, environment, registered_at, 'gone' FROM gone`,
      [devices],
    )

  it('gets its tokens back when the worker died before it restored them, and opens after ten minutes', async () => {
    const devices = await harness.addDevices(
      app,
      Array.from({ length: 30 }, (_, i) => ({ tokens: { xiaomi: `s${i}:gone` } })),
    )
    const { id } = await certificateOf(harness, app, 'xiaomi')
    await retire(devices)
    await harness.db.pool.query(`INSERT INTO token_window VALUES ($1, date_trunc('minute', now()), 30, 30)`, [
      id,
    ])
    expect(await updateSuspects(harness.db)).toEqual([id])
    expect((await certificateOf(harness, app, 'xiaomi')).state).toBe('suspect')
    const { rowCount } = await harness.db.pool.query('SELECT 1 FROM binding WHERE device_id = ANY($1)', [
      devices,
    ])
    expect(rowCount).toBe(30)

    await updateSuspects(harness.db)
    expect((await certificateOf(harness, app, 'xiaomi')).state).toBe('suspect')
    await harness.db.pool.query(`UPDATE token_window SET minute = minute - interval '11 minutes'`)
    await harness.db.pool.query(
      `UPDATE certificate SET last_error_at = now() - interval '11 minutes' WHERE id = $1`,
      [id],
    )
    expect(await updateSuspects(harness.db)).toEqual([])
    expect((await certificateOf(harness, app, 'xiaomi')).state).toBe('open')
  })

  it('restores no token to a device that has a newer one or is gone, and keeps the old one resolvable', async () => {
    const devices = await harness.addDevices(app, [
      { tokens: { vivo: 'back:x' } },
      { tokens: { vivo: 'old:x' } },
      { tokens: { vivo: 'orphan:x' } },
    ])
    await retire(devices)
    await harness.db.pool.query(
      `INSERT INTO binding (device_id, channel, app_id, token) VALUES ($1, 'vivo', $2, 'new:x')`,
      [devices[1], app],
    )
    await harness.db.pool.query('DELETE FROM device WHERE id = $1', [devices[2]])
    const { id } = await certificateOf(harness, app, 'vivo')
    expect(await markSuspect(harness.db, id)).toBe(1)
    const tokens = await harness.db.pool.query(
      `SELECT token FROM binding WHERE app_id = $1 AND channel = 'vivo' ORDER BY token`,
      [app],
    )
    expect(tokens.rows.map((row) => row.token)).toEqual(['back:x', 'new:x'])
    const retired = await harness.db.pool.query(
      `SELECT token FROM retired_token WHERE app_id = $1 AND channel = 'vivo' ORDER BY token`,
      [app],
    )
    expect(retired.rows.map((row) => row.token)).toEqual(['old:x', 'orphan:x'])
  })
})
