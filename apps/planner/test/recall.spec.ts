import { addRecall, beginRecall, cancelTask, recallable } from '@herald/db/tasks'
import type { Message } from '@herald/domain'
import { startApp, until } from '@herald/testkit'
import { sampleMessage } from '@herald/testkit/sample-message'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { type DeviceSeed, type Harness, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
  await harness.startPlanner()
  await harness.startWorkers()
})
afterAll(() => harness.stop())
afterEach(async () => expect(await harness.imbalances()).toEqual([]))

let number = 0
async function sendTo(seeds: DeviceSeed[]): Promise<{ app: string; ids: number[]; task: number }> {
  const app = await harness.addApplication(`recall ${number++}`)
  const ids = await harness.addDevices(app, seeds)
  const task = await harness.notify(app)
  await harness.finished(task)
  return { app, ids, task }
}

async function recall(app: string, task: number, message: Partial<Message> = {}): Promise<number> {
  const first = await recallable(harness.db, { appId: app }, task)
  const stored = { ...sampleMessage(), ...message, recall: { taskId: task, ...message.recall } }
  const { taskId } = await addRecall(harness.db, { appId: app }, first!, stored, {
    actor: 'spec',
    detail: {},
  })
  return taskId
}
const withdraw = (app: string, task: number) =>
  recall(app, task, { recall: { taskId: task, withdraw: true } })

const xiaomi = (name: string): DeviceSeed => ({ tokens: { xiaomi: `${name}:accepted` } })
const tokensOf = async (task: number) => (await harness.ledger(task)).map(({ token }) => token).sort()
const unreachableOf = async (task: number) =>
  (await harness.db.pool.query('SELECT unreachable FROM task WHERE id = $1', [task])).rows[0].unreachable

describe('a recall', () => {
  it('withdraws on the channels that can, from the devices that the task was sent to', async () => {
    const { app, task } = await sendTo([
      xiaomi('w1'),
      xiaomi('w2'),
      { tokens: { xiaomi: 'w3:rejected' } },
      { tokens: { fcm: 'w4:accepted' } },
      { platform: 'ios', tokens: { apns: 'w5:accepted' } },
    ])
    const id = await withdraw(app, task)
    await harness.finished(id)
    expect(await harness.counters(id)).toEqual({ xiaomi: { target: 2, sent: 2 } })
    expect(await tokensOf(id)).toEqual(['w1:accepted', 'w2:accepted'])
    expect(await unreachableOf(id)).toBe(2)
    expect(await harness.stateOf(task)).toBe('finished')
  })

  it('replaces on every channel that sent, each device on its own channel', async () => {
    const { app, task } = await sendTo([
      xiaomi('r1'),
      { tokens: { fcm: 'r2:accepted' } },
      { platform: 'ios', tokens: { apns: 'r3:accepted' } },
      { tokens: { oppo: 'r4:rejected', vivo: 'r4v:accepted' } },
    ])
    const id = await recall(app, task)
    await harness.finished(id)
    expect(await harness.counters(id)).toEqual({
      xiaomi: { target: 1, sent: 1 },
      fcm: { target: 1, sent: 1 },
      apns: { target: 1, sent: 1 },
      vivo: { target: 1, sent: 1 },
    })
  })

  it('does not move to another channel, nor to the inbox, when the vendor refuses', async () => {
    const { app, task } = await sendTo([{ tokens: { xiaomi: 'm1:accepted,rejected', fcm: 'm1f:accepted' } }])
    const sent = Object.keys(await harness.counters(task))
    expect(sent).toHaveLength(1)
    // The stub accepted the first message and refuses the second.
    const id = await recall(app, task)
    await harness.finished(id)
    const counters = await harness.counters(id)
    expect(Object.keys(counters)).toEqual(sent)
    const { rows } = await harness.db.pool.query('SELECT 1 FROM inbox WHERE task_id = $1', [id])
    expect(rows).toEqual([])
  })

  it('waits for the end of the first task, and cancels what that has not sent', async () => {
    const app = await harness.addApplication(`recall ${number++}`)
    await harness.addDevices(
      app,
      Array.from({ length: 40 }, (_, i) => xiaomi(`p${i}`)),
    )
    const task = await harness.notify(app, { speed: 1 })
    await until(async () => (await tokensOf(task)).length >= 2, { what: 'two deliveries' })
    const id = await withdraw(app, task)
    await harness.finished(id)
    const first = (await harness.counters(task)).xiaomi!
    expect(await harness.stateOf(task)).toBe('cancelled')
    expect(first.cancelled).toBe(40 - first.sent!)
    expect((await harness.counters(id)).xiaomi).toEqual({ target: first.sent, sent: first.sent })
    expect(await tokensOf(id)).toEqual(await tokensOf(task))
  })

  it('replaces nothing on devices that belong to somebody else by now, but withdraws there', async () => {
    const { app, ids, task } = await sendTo([xiaomi('o1'), xiaomi('o2'), xiaomi('o3'), xiaomi('o4')])
    await harness.db.pool.query('UPDATE device SET moved_at = now() WHERE id = $1', [ids[0]])
    await harness.db.pool.query('UPDATE device SET enabled = false WHERE id = $1', [ids[1]])
    await harness.db.pool.query('DELETE FROM device WHERE id = $1', [ids[2]])
    const replaced = await recall(app, task)
    const withdrawn = await withdraw(app, task)
    await harness.finished(replaced)
    await harness.finished(withdrawn)
    expect(await tokensOf(replaced)).toEqual(['o4:accepted'])
    expect(await tokensOf(withdrawn)).toEqual(['o1:accepted', 'o4:accepted'])
  })

  it('reaches devices that got the message on the native channel, through their inboxes', async () => {
    const app = await harness.addApplication(`recall ${number++}`)
    const ids = await harness.addDevices(app, [{}, {}, {}])
    const task = await harness.notify(app, { strategy: 'nativepush_only' })
    const { pool } = harness.db
    // The first acknowledged it, the second got it, the third has a copy only.
    await pool.query(`INSERT INTO receipt (task_id, device_id, channel) VALUES ($1, $2, 'native')`, [
      task,
      ids[0],
    ])
    await pool.query('DELETE FROM inbox WHERE task_id = $1 AND device_id = $2', [task, ids[0]])
    await pool.query('UPDATE inbox SET sent_at = now(), is_copy = device_id = $2 WHERE task_id = $1', [
      task,
      ids[2],
    ])
    await pool.query('UPDATE counter SET target = 2, sent = 2, received = 1 WHERE task_id = $1', [task])
    await pool.query('INSERT INTO task_check (task_id) VALUES ($1)', [task])
    await harness.finished(task)
    const id = await withdraw(app, task)
    const inboxOf = async (of: number) =>
      (
        await pool.query<{ device_id: number }>(
          'SELECT device_id FROM inbox WHERE task_id = $1 ORDER BY device_id',
          [of],
        )
      ).rows.map(({ device_id }) => device_id)
    await until(async () => (await inboxOf(id)).length === 2, { what: 'the inboxes' })
    expect(await inboxOf(id)).toEqual([ids[0], ids[1]])
    // The copy was deleted.
    expect(await inboxOf(task)).toEqual([ids[1]])
    expect(await harness.counters(id)).toEqual({ native: { target: 2 } })
  })

  it('takes messages out of the inboxes in which they wait, and ends', async () => {
    const app = await harness.addApplication(`recall ${number++}`)
    await harness.addDevices(app, [{}, {}])
    const task = await harness.notify(app, { strategy: 'nativepush_only' })
    const waiting = async () =>
      (await harness.db.pool.query('SELECT 1 FROM inbox WHERE task_id = $1', [task])).rowCount
    await until(async () => (await waiting()) === 2, { what: 'the inboxes' })
    const id = await withdraw(app, task)
    await harness.finished(id)
    expect(await waiting()).toBe(0)
    expect(await harness.counters(task)).toEqual({ native: { target: 2, cancelled: 2 } })
    expect(await harness.counters(id)).toEqual({})
  })

  it('finds the device of a task in a bundle', async () => {
    const { app, ids, task } = await sendTo([xiaomi('u1')])
    const { rows } = await harness.db.pool.query('SELECT state FROM task WHERE id = $1', [task])
    expect(rows).toEqual([{ state: 'bundled' }])
    const certificateIds = [expect.any(Number)]
    expect((await recallable(harness.db, { appId: app }, task))!.sent).toEqual([
      { channel: 'xiaomi', devices: 1, waiting: 0, certificateIds },
    ])
    const id = await withdraw(app, task)
    await harness.finished(id)
    expect(await tokensOf(id)).toEqual(['u1:accepted'])
    // A replacement is not for the next user of the device.
    await harness.db.pool.query('UPDATE device SET moved_at = now() WHERE id = $1', [ids[0]])
    const replaced = await recall(app, task)
    await harness.finished(replaced)
    expect(await harness.counters(replaced)).toEqual({})
  })

  it('goes on, with exact counters, after a planner was killed between two pages', async () => {
    const seeds = Array.from({ length: 200 }, (_, i) => xiaomi(`k${i}`))
    const { app, task } = await sendTo(seeds)
    const { pool } = harness.db
    // A batch per device, so that the recall has several pages.
    await pool.query(
      `WITH whole AS (DELETE FROM batch WHERE task_id = $1 RETURNING *)
       INSERT INTO batch (task_id, app_id, channel, certificate_id, lane, state, size, recipients, status, tried, deadline, planned_at)
       SELECT task_id, app_id, channel, certificate_id, lane, state, 1, ARRAY[r.id], 's', tried, deadline, planned_at
       FROM whole, unnest(recipients) AS r (id)`,
      [task],
    )
    await harness.stopServices()
    const id = await withdraw(app, task)
    const holder = await pool.connect()
    try {
      // The commit of the second page waits for this lock.
      await holder.query('SELECT pg_advisory_lock(4713, 1)')
      await pool.query(
        `CREATE FUNCTION hold_page() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
           IF EXISTS (SELECT FROM batch WHERE task_id = NEW.task_id) THEN PERFORM pg_advisory_xact_lock(4713, 1); END IF;
           RETURN NEW;
         END $$;
         CREATE TRIGGER hold_page BEFORE UPDATE OF cursor ON slice FOR EACH ROW EXECUTE FUNCTION hold_page()`,
      )
      const killed = startApp('apps/planner/src/main.ts', {
        DATABASE_URL: harness.db.url,
        QUEUE_URL: harness.db.url,
        HERALD_MASTER_KEY: Buffer.from(harness.settings.masterKey!).toString('hex'),
        HERALD_METRICS_PORT: '0',
      })
      const waiting = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = 4713 AND NOT granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
      await until(async () => (await pool.query(waiting)).rowCount === 1, {
        what: 'the second page',
      })
      await killed.stop('SIGKILL')
      // Postgres ends the session of a client that is gone within seconds.
      await until(async () => (await pool.query(waiting)).rowCount === 0, {
        what: 'the session of the planner to end',
      })
    } finally {
      await holder.query('SELECT pg_advisory_unlock_all()')
      holder.release()
      await pool.query('DROP TRIGGER IF EXISTS hold_page ON slice; DROP FUNCTION IF EXISTS hold_page()')
    }
    const planned = (await harness.counters(id)).xiaomi!
    expect(planned.target).toBeGreaterThan(0)
    expect(planned.target).toBeLessThan(200)
    await harness.startPlanner()
    await harness.startWorkers()
    await harness.finished(id)
    expect(await harness.counters(id)).toEqual({ xiaomi: { target: 200, sent: 200 } })
    expect(await tokensOf(id)).toEqual(seeds.map(({ tokens }) => tokens!.xiaomi!).sort())
  })

  it('is begun once, and not after it was cancelled', async () => {
    const { app, task } = await sendTo([xiaomi('b1')])
    await harness.stopServices()
    const one = await withdraw(app, task)
    const both = await Promise.all([beginRecall(harness.db, one, task), beginRecall(harness.db, one, task)])
    expect(both.filter(Boolean)).toHaveLength(1)
    const two = await withdraw(app, task)
    await cancelTask(harness.db, { appId: app }, two)
    expect(await beginRecall(harness.db, two, task)).toBe(false)
    await harness.startPlanner()
    await harness.startWorkers()
    await harness.finished(one)
    await harness.finished(two)
    expect(await harness.counters(one)).toEqual({ xiaomi: { target: 1, sent: 1 } })
    expect(await harness.counters(two)).toEqual({})
    const { rows } = await harness.db.pool.query(
      `SELECT action, detail->>'recall_id' AS recall FROM audit WHERE app_id = $1 ORDER BY id`,
      [app],
    )
    expect(rows).toEqual([
      { action: 'task.recall', recall: String(one) },
      { action: 'task.recall', recall: String(two) },
    ])
  })
})
