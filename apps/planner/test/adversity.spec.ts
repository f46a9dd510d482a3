import { closeCertificate, removeCertificate, saveCertificate } from '@herald/db/certificates'
import { tendSuspects, unretireWindow } from '@herald/db/devices'
import { cancelTask, claimBatches, feelPulse, pauseTask, releasePaced, resumeTask } from '@herald/db/tasks'
import { pushQueue } from '@herald/queue'
import { until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { feedRound } from '../src/feed-round.ts'
import { planRound } from '../src/plan-round.ts'
import { sweepRound } from '../src/sweep-round.ts'
import { type Machine, plainMessage, startMachine } from './machine.ts'

const certificateOf = async (machine: Machine, app: string, channel: string) =>
  (
    await machine.db.pool.query(
      'SELECT id, state, version FROM certificate WHERE app_id = $1 AND channel = $2',
      [app, channel],
    )
  ).rows[0] as { id: number; state: string; version: number }

describe('what was planned before things went wrong', () => {
  let machine: Machine
  beforeAll(async () => {
    machine = await startMachine({ stub: { latencyMs: 300 } })
    await machine.startPlanner()
    await machine.startWorkers()
  })
  afterAll(() => machine.stop())

  it('moves on to the next channel when its certificate is closed, paced or not, and stays where there is none', async () => {
    const app = await machine.addApplication('closed behind them')
    await machine.addDevices(app, [
      ...Array.from({ length: 100 }, (_, i) => ({
        tokens: { fcm: `f${i}:accepted`, huawei: `h${i}:misconfigured` },
      })),
      { tokens: { huawei: 'alone:misconfigured' } },
    ])
    const paced = await machine.notify(app, { speed: 100 })
    await until(async () => (await machine.counters(paced)).fcm?.sent === 100, {
      seconds: 15,
      what: 'the way round for all',
    })
    expect((await machine.counters(paced)).huawei).toEqual({ target: 101, moved: 100 })
    // Offered once, it is left alone: nothing spins while the certificate stays closed.
    const offered = async () =>
      (
        await machine.db.pool.query(
          `SELECT b.state, b.released_at >= c.last_error_at AS since FROM batch b JOIN certificate c ON c.id = b.certificate_id
           WHERE b.task_id = $1 AND b.channel = 'huawei' AND b.state <> 'settled'`,
          [paced],
        )
      ).rows
    await until(async () => JSON.stringify(await offered()) === '[{"state":"paced","since":true}]', {
      what: 'the offer',
    })
    expect(await releasePaced(machine.db, paced)).toEqual([])
    expect(await machine.imbalances()).toEqual([])
  })

  it('moves on when the batch was still waiting as the certificate was closed', async () => {
    const app = await machine.addApplication('closed before them')
    await machine.addDevices(
      app,
      Array.from({ length: 1500 }, (_, i) => ({
        tokens: { fcm: `f${i}:accepted`, huawei: `h${i}:accepted` },
      })),
    )
    const task = await machine.notify(app, {
      message: { ...plainMessage, showBegin: Math.floor(Date.now() / 1000) + 2 },
    })
    await pauseTask(machine.db, { appId: app }, task)
    await until(async () => (await machine.counters(task)).huawei?.target === 1500, {
      seconds: 10,
      what: 'the plan',
    })
    await closeCertificate(machine.db, (await certificateOf(machine, app, 'huawei')).id, 'refused')
    machine.certificates.forget(app)
    await resumeTask(machine.db, { appId: app }, task)
    await machine.finished(task)
    expect(await machine.counters(task)).toEqual({
      huawei: { target: 1500, moved: 1500 },
      fcm: { target: 1500, sent: 1500 },
    })
  })

  it('does not wait for the end of its time when its certificate is removed', async () => {
    const app = await machine.addApplication('removed')
    await machine.addDevices(
      app,
      Array.from({ length: 1500 }, (_, i) => ({ tokens: { vivo: `v${i}:accepted` } })),
    )
    const task = await machine.notify(app, {
      message: { ...plainMessage, showBegin: Math.floor(Date.now() / 1000) + 2 },
    })
    await pauseTask(machine.db, { appId: app }, task)
    await until(async () => (await machine.counters(task)).vivo?.target === 1500, {
      seconds: 10,
      what: 'the plan',
    })
    await removeCertificate(machine.db, { application: app, channel: 'vivo', environment: 'production' })
    await resumeTask(machine.db, { appId: app }, task)
    await machine.finished(task)
    expect(await machine.counters(task)).toEqual({ vivo: { target: 1500, failed: 1500 } })
  })

  it('leaves a certificate open that was mended while the refusal was on its way', async () => {
    const app = await machine.addApplication('mended')
    await machine.addDevices(app, [{ tokens: { oppo: 'a:misconfigured,accepted' } }])
    const task = await machine.notify(app)
    await until(async () => (await machine.ledger(task)).length === 1, { seconds: 5, what: 'the call' })
    await saveCertificate(machine.db, machine.sealer, {
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
    await machine.finished(task)
    expect((await certificateOf(machine, app, 'oppo')).state).toBe('open')
    expect(await machine.counters(task)).toEqual({ oppo: { target: 1, sent: 1 } })
  })
})

describe('time and haste', () => {
  let machine: Machine
  let app: string
  beforeAll(async () => {
    machine = await startMachine()
    app = await machine.addApplication('haste')
    await machine.addDevices(app, [{ tokens: { xiaomi: 'a:accepted' } }])
  })
  afterAll(() => machine.stop())

  const quiet = { onQueueFailure() {}, onEnded() {} }
  const states = async () =>
    (await machine.db.pool.query('SELECT DISTINCT state FROM batch ORDER BY 1')).rows.map((row) => row.state)

  it('leaves batches to their workers until Postgres has been back for a while', async () => {
    const taskId = await machine.notify(app)
    const { rows } = await machine.db.pool.query('SELECT id FROM batch WHERE task_id = $1', [taskId])
    const { id } = rows[0] as { id: number }
    await claimBatches(machine.db.pool, [{ taskId, id }], { seconds: 0, worker: 'away' })
    await sweepRound({ ...machine, ...quiet, isSteady: () => false })
    expect(await states()).toEqual(['sending'])
    await sweepRound({ ...machine, ...quiet, isSteady: () => true })
    expect(await states()).toEqual(['ready'])
  })

  it('knows how much it fed, although several releases are under way at once', async () => {
    const fed = await machine.addApplication('fed')
    const channels = ['vivo', 'oppo', 'fcm', 'honor']
    await machine.addDevices(
      fed,
      channels.map((channel) => ({ tokens: { [channel]: `${channel}:accepted` } })),
    )
    const task = await machine.notify(fed)
    await machine.db.pool.query(`UPDATE batch SET state = 'settled' WHERE task_id <> $1`, [task])
    await machine.db.pool.query(`UPDATE batch SET state = 'ready', not_before = now() WHERE task_id = $1`, [
      task,
    ])
    expect(await feedRound({ ...machine, ...quiet })).toBe(4)
  })

  it('sends a small audience without a round of the feeder', async () => {
    const small = await machine.addApplication('small')
    await machine.addDevices(small, [{ tokens: { vivo: 'a:accepted' } }])
    await machine.startWorkers(['vivo'])
    const task = await machine.notify(small)
    await until(async () => (await machine.counters(task)).vivo?.sent === 1, { what: 'the push' })
  })

  it('sends at once what was paused and resumed before any feeder looked', async () => {
    const task = await machine.notify(app)
    await pauseTask(machine.db, { appId: app }, task)
    await machine.startWorkers(['xiaomi'])
    // The job comes and goes; what it left released must not wait to be missed.
    await until(async () => (await machine.queues.depth(pushQueue('xiaomi'))) === 0, {
      seconds: 10,
      what: 'the job',
    })
    await resumeTask(machine.db, { appId: app }, task)
    const { rows } = await machine.db.pool.query('SELECT state FROM batch WHERE task_id = $1', [task])
    expect(rows).toEqual([{ state: 'held' }])
    await machine.startPlanner()
    await machine.finished(task)
    expect(await machine.counters(task)).toEqual({ xiaomi: { target: 1, sent: 1 } })
  })

  it('accepts a task although the clock was set back and its first id is taken', async () => {
    const taken = await machine.notify(app)
    await machine.db.pool.query(
      `CREATE SEQUENCE repeated START ${taken};
       ALTER FUNCTION next_task_id RENAME TO next_task_id_kept;
       CREATE FUNCTION next_task_id() RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT nextval('repeated') $$`,
    )
    const next = await machine.notify(app)
    await machine.db.pool.query(
      'DROP FUNCTION next_task_id; ALTER FUNCTION next_task_id_kept RENAME TO next_task_id',
    )
    expect(next).toBe(taken + 1)
  })
})

describe('a tenant whose rows are broken', () => {
  let machine: Machine
  beforeAll(async () => {
    machine = await startMachine()
  })
  afterAll(() => machine.stop())

  it('does not keep the planner from others, and is planned when they are mended', async () => {
    const broken = await machine.addApplication('broken')
    const fine = await machine.addApplication('fine')
    const many = (channel: string) =>
      Array.from({ length: 1200 }, (_, i) => ({ tokens: { [channel]: `${i}:accepted` } }))
    await machine.addDevices(broken, many('xiaomi'))
    await machine.addDevices(fine, many('xiaomi'))
    const first = await machine.notify(broken, { lane: 'high' })
    const second = await machine.notify(fine)
    const kept = await machine.db.pool.query('SELECT id, sealed FROM certificate WHERE app_id = $1', [broken])
    await machine.db.pool.query(`UPDATE certificate SET sealed = '\\x00' WHERE app_id = $1`, [broken])
    await machine.startPlanner()
    await machine.startWorkers(['xiaomi'])
    await machine.finished(second)
    expect(await machine.counters(second)).toEqual({ xiaomi: { target: 1200, sent: 1200 } })
    for (const { id, sealed } of kept.rows)
      await machine.db.pool.query('UPDATE certificate SET sealed = $2 WHERE id = $1', [id, sealed])
    await machine.finished(first, 30)
    expect(await machine.counters(first)).toEqual({ xiaomi: { target: 1200, sent: 1200 } })
  }, 60_000)
})

describe('two broadcasts', () => {
  let machine: Machine
  beforeAll(async () => {
    machine = await startMachine()
  })
  afterAll(() => machine.stop())

  it('are each planned for themselves: one is done while the other is not, and half a plan is not kept', async () => {
    const tasks: number[] = []
    for (const name of ['one', 'another']) {
      const app = await machine.addApplication(name)
      const devices = Array.from({ length: 1001 }, (_, i) => ({ tokens: { oppo: `${i}:accepted` } }))
      await machine.addDevices(app, devices)
      tasks.push(await machine.notify(app))
    }
    const deps = { ...machine, shunned: new Map(), onFailure() {}, onBegun() {}, onPlanned() {} }
    const states = () => Promise.all(tasks.map(machine.stateOf))
    while (!(await states()).includes('sending')) await planRound(deps)
    expect((await states()).sort()).toEqual(['planning', 'sending'])
    expect((await feelPulse(machine.db)).plan).toBe(true)

    const half = tasks[(await states()).indexOf('planning')]!
    const { rows } = await machine.db.pool.query('SELECT app_id FROM task WHERE id = $1', [half])
    await cancelTask(machine.db, { appId: rows[0].app_id }, half)
    const sweep = { ...machine, onQueueFailure() {}, onEnded() {}, isSteady: () => true }
    await until(async () => !(await sweepRound(sweep)) && (await machine.stateOf(half)) === 'cancelled', {
      seconds: 10,
      what: 'the end of the cancelled one',
    })
    await planRound(deps)
    expect((await feelPulse(machine.db)).plan).toBe(false)
  })
})

describe('the governor over several workers', () => {
  let machine: Machine
  beforeAll(async () => {
    machine = await startMachine()
    await machine.startPlanner()
    for (let n = 0; n < 3; n++) await machine.startWorkers(['oppo'])
  })
  afterAll(() => machine.stop())

  it('lets no second see more than two seconds of its limit, however large the batches', async () => {
    const app = await machine.addApplication('governed', { limits: { devicesPerSecond: 50 } })
    await machine.addDevices(
      app,
      Array.from({ length: 200 }, (_, i) => ({ tokens: { oppo: `${i}:accepted` } })),
    )
    const began = Date.now()
    const task = await machine.notify(app)
    let most = 0
    await until(
      async () => {
        const accepted = (await machine.ledger(task)).filter((entry) => entry.accepted > 0).length
        most = Math.max(most, accepted - 50 * ((Date.now() - began) / 1000))
        return accepted === 200
      },
      { seconds: 30, what: 'the last device' },
    )
    expect(most).toBeLessThanOrEqual(100)
    await machine.finished(task)
    expect(await machine.counters(task)).toEqual({ oppo: { target: 200, sent: 200 } })
  }, 60_000)
})

describe('suspicion', () => {
  let machine: Machine
  let app: string
  beforeAll(async () => {
    machine = await startMachine()
    app = await machine.addApplication('suspicion')
  })
  afterAll(() => machine.stop())

  const retire = (devices: number[]) =>
    machine.db.pool.query(
      `WITH gone AS (DELETE FROM binding WHERE device_id = ANY($1) RETURNING *)
       INSERT INTO retired_token (app_id, channel, token, device_id, environment, registered_at, reason)
       SELECT app_id, channel, token, device_id, environment, registered_at, 'gone' FROM gone`,
      [devices],
    )

  it('is made up for when the worker died before it could give the tokens back, and ends after ten quiet minutes', async () => {
    const devices = await machine.addDevices(
      app,
      Array.from({ length: 30 }, (_, i) => ({ tokens: { xiaomi: `s${i}:gone` } })),
    )
    const { id } = await certificateOf(machine, app, 'xiaomi')
    await retire(devices)
    await machine.db.pool.query(`INSERT INTO token_window VALUES ($1, date_trunc('minute', now()), 30, 30)`, [
      id,
    ])
    expect(await tendSuspects(machine.db)).toEqual([id])
    expect((await certificateOf(machine, app, 'xiaomi')).state).toBe('suspect')
    const { rowCount } = await machine.db.pool.query('SELECT 1 FROM binding WHERE device_id = ANY($1)', [
      devices,
    ])
    expect(rowCount).toBe(30)

    await tendSuspects(machine.db)
    expect((await certificateOf(machine, app, 'xiaomi')).state).toBe('suspect')
    await machine.db.pool.query(`UPDATE token_window SET minute = minute - interval '11 minutes'`)
    await machine.db.pool.query(
      `UPDATE certificate SET last_error_at = now() - interval '11 minutes' WHERE id = $1`,
      [id],
    )
    expect(await tendSuspects(machine.db)).toEqual([])
    expect((await certificateOf(machine, app, 'xiaomi')).state).toBe('open')
  })

  it('gives no token back to a device that has a newer one or is gone, and keeps the old one resolvable', async () => {
    const devices = await machine.addDevices(app, [
      { tokens: { vivo: 'back:x' } },
      { tokens: { vivo: 'old:x' } },
      { tokens: { vivo: 'orphan:x' } },
    ])
    await retire(devices)
    await machine.db.pool.query(
      `INSERT INTO binding (device_id, channel, app_id, token) VALUES ($1, 'vivo', $2, 'new:x')`,
      [devices[1], app],
    )
    await machine.db.pool.query('DELETE FROM device WHERE id = $1', [devices[2]])
    const { id } = await certificateOf(machine, app, 'vivo')
    expect(await unretireWindow(machine.db, id)).toBe(1)
    const tokens = await machine.db.pool.query(
      `SELECT token FROM binding WHERE app_id = $1 AND channel = 'vivo' ORDER BY token`,
      [app],
    )
    expect(tokens.rows.map((row) => row.token)).toEqual(['back:x', 'new:x'])
    const retired = await machine.db.pool.query(
      `SELECT token FROM retired_token WHERE app_id = $1 AND channel = 'vivo' ORDER BY token`,
      [app],
    )
    expect(retired.rows.map((row) => row.token)).toEqual(['old:x', 'orphan:x'])
  })
})
