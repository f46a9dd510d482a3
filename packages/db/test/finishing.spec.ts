import { acceptPlan } from '@herald/testkit/accept-plan'
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { clearInboxesOf } from '../src/ledger/inbox-clearing.ts'
import { cancelInbox, expireInbox, trimInboxes } from '../src/ledger/index.ts'
import {
  acknowledge,
  fallBackDue,
  sendFromInbox,
  settleNative,
  settleOrphans,
  waitingInbox,
} from '../src/native/index.ts'
import { findImbalances, readBacklog, readOverview, readSettledTotal } from '../src/readings/index.ts'
import { openDays } from '../src/store/open-days.ts'
import { inTransaction } from '../src/store/statement.ts'
import {
  beginTasks,
  cancelAccepted,
  cancelTask,
  checkLateTasks,
  claimBatches,
  expireUnplanned,
  failLost,
  findDueWork,
  finishPlanned,
  finishPlanning,
  finishTasks,
  leaseTime,
  listTasks,
  pauseTask,
  recordReceipts,
  resumeTask,
  settleBatches,
  settleEnded,
  walkOpenTasks,
} from '../src/tasks/index.ts'
import { blocksRead } from './blocks-read.ts'
import { addApplication, addCertificate, settlementOf, stopAutovacuum, useDatabase } from './setup.ts'

const db = useDatabase({ max: 8 })
let app: string
let certificateId: number
beforeAll(async () => {
  app = await addApplication(db)
  certificateId = await addCertificate(db, app, 'fcm')
})
afterEach(async () => expect(await findImbalances(db)).toEqual([]))

const recipients = [1]
const batch = () => ({ channel: 'fcm' as const, certificateId, recipients, tried: [] })
const stateOf = async (taskId: number) =>
  (await db.pool.query('SELECT state FROM task WHERE id = $1', [taskId])).rows[0].state
const checks = async () =>
  (await db.pool.query<{ task_id: number }>('SELECT task_id FROM task_check')).rows.map((row) => row.task_id)
const finishAll = async () => {
  while ((await finishTasks(db)) > 0) {}
}
const claim = async (batches: { taskId: number; id: number }[]) =>
  claimBatches(
    db.pool,
    { channel: 'fcm', certificateIds: batches.map(() => certificateId), batches },
    { seconds: 30, worker: crypto.randomUUID() },
  )
const sent = { status: 's', sent: 1, answered: 1 }

describe('a task is finished', () => {
  it('after the settle of its last batch, in the same commit as which a check is enqueued', async () => {
    const { taskId, released } = await acceptPlan(db, app, { batches: [batch(), batch()] })
    const [first, second] = await claim(released)
    await settleBatches(db, [settlementOf(first!, sent)])
    expect(await checks()).toEqual([])
    await finishAll()
    await settleBatches(db, [settlementOf(second!, sent)])
    expect(await checks()).toEqual([taskId])
    expect((await findDueWork(db)).send).toBe(true)
    await finishAll()
    expect(await stateOf(taskId)).toBe('finished')
    expect(await checks()).toEqual([])
  })

  it('after the settles of its last two batches, also if neither sees the other', async () => {
    const { taskId, released } = await acceptPlan(db, app, { batches: [batch(), batch()] })
    const claimed = await claim(released)
    // Both wait for the counter and have read the batches before.
    const settled = await inTransaction(db, async (runner) => {
      await runner.query('SELECT 1 FROM counter WHERE task_id = $1 FOR UPDATE', [taskId])
      const both = claimed.map((one) => settleBatches(db, [settlementOf(one, sent)]))
      for (let waiting = 0; waiting < 2; ) {
        const { rows } = await db.pool.query(
          `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        )
        waiting = rows[0].n
      }
      return both
    })
    await Promise.all(settled)
    expect(await checks()).toEqual([taskId])
    await finishAll()
    expect(await stateOf(taskId)).toBe('finished')
  })

  it('if it has nobody to send to, whether it was accepted or begun so', async () => {
    const { taskId } = await acceptPlan(db, app, { unreachable: 3 })
    const { taskId: begun } = await acceptPlan(db, app, { inbox: [1] })
    await db.pool.query(`DELETE FROM inbox WHERE task_id = $1`, [begun])
    await db.pool.query(`DELETE FROM counter WHERE task_id = $1`, [begun])
    await db.pool.query(`UPDATE task SET state = 'accepted', planned_at = NULL WHERE id = $1`, [begun])
    await beginTasks(db, [{ taskId: begun, plan: { batches: [], inbox: [], unreachable: 1 } }])
    await finishAll()
    expect([await stateOf(taskId), await stateOf(begun)]).toEqual(['finished', 'finished'])
  })

  it('after its batches expired or were cancelled', async () => {
    const expired = await acceptPlan(db, app, { batches: [batch()] }, { released: false })
    const cancelled = await acceptPlan(db, app, { batches: [batch()] }, { released: false })
    await db.pool.query('UPDATE batch SET deadline = now() WHERE task_id = $1', [expired.taskId])
    await cancelTask(db, { appId: app }, cancelled.taskId)
    await settleEnded(db)
    await finishAll()
    expect([await stateOf(expired.taskId), await stateOf(cancelled.taskId)]).toEqual([
      'finished',
      'cancelled',
    ])
  })

  it('after its last message was sent, acknowledged, expired or cancelled', async () => {
    const { rows } = await db.pool.query<{ id: number }>(
      `INSERT INTO device (app_id, guid, push_token) SELECT $1, 'f' || n, 'f' || n FROM generate_series(1, 4) n RETURNING id`,
      [app],
    )
    const [a, b, c, d] = rows.map(({ id }) => id) as [number, number, number, number]
    const inbox = (device: number) => acceptPlan(db, app, { inbox: [device] }, { strategy: 'combined' })
    const [acked, expired, cancelled] = [await inbox(a), await inbox(b), await inbox(c)]
    const written = await acceptPlan(db, app, { inbox: [d] }, { strategy: 'nativepush_only' })
    for (const device of [a, d])
      await sendFromInbox(db, (await waitingInbox(db, [device])).waiting, 10, (locked) => locked)
    await finishAll()
    // One waits for its acknowledgement, because another channel is next.
    expect([await stateOf(acked.taskId), await stateOf(written.taskId)]).toEqual(['sending', 'finished'])
    await acknowledge(db, [{ appId: app, taskId: acked.taskId, deviceId: a }])
    await db.pool.query('UPDATE inbox SET expires_at = now() WHERE task_id = $1', [expired.taskId])
    await expireInbox(db, 100)
    await cancelTask(db, { appId: app }, cancelled.taskId)
    await finishAll()
    expect(await stateOf(cancelled.taskId)).toBe('sending')
    await cancelInbox(db, 100)
    await finishAll()
    expect(await Promise.all([acked, expired, cancelled].map(({ taskId }) => stateOf(taskId)))).toEqual([
      'finished',
      'finished',
      'cancelled',
    ])
  })

  it('after its last attempt was lost, or its gateway ended', async () => {
    const { taskId: lost, released } = await acceptPlan(db, app, { batches: [batch()] })
    await claim(released)
    await db.pool.query(
      `UPDATE batch SET lost = 9, lease_until = now() - interval '1 minute' WHERE task_id = $1`,
      [lost],
    )
    const native = { channel: 'native' as const, node: 'ended', recipients, tried: [] }
    const { taskId: orphaned } = await acceptPlan(db, app, { batches: [native] })
    await failLost(db, await leaseTime(db))
    const none = { acknowledged: [], inbox: [], fallback: [], reasons: [], whys: [] }
    await settleOrphans(db, await leaseTime(db), 10, async (orphans) =>
      orphans.map(({ batch }) => ({ ...batch, status: 's', sent: 1, moved: 0, expired: 0, ...none })),
    )
    await finishAll()
    expect([await stateOf(lost), await stateOf(orphaned)]).toEqual(['finished', 'finished'])
  })

  it('after its device was removed, its inbox was full, a receipt came, or no channel is left to fall back to', async () => {
    const { rows } = await db.pool.query<{ id: number }>(
      `INSERT INTO device (app_id, guid, push_token, moved_at) SELECT $1, 'r' || n, 'r' || n, now() - interval '1 day'
       FROM generate_series(1, 4) n RETURNING id`,
      [app],
    )
    const devices = rows.map(({ id }) => id) as [number, number, number, number]
    const tasks: number[] = []
    for (const device of devices)
      tasks.push((await acceptPlan(db, app, { inbox: [device] }, { strategy: 'combined' })).taskId)
    const states = () => Promise.all(tasks.map(stateOf))
    await sendFromInbox(db, (await waitingInbox(db, devices.slice(2))).waiting, 10, (locked) => locked)
    await finishAll()
    expect(await states()).toEqual(['sending', 'sending', 'sending', 'sending'])
    await clearInboxesOf(db.pool, await openDays(db), [devices[0]])
    for (let n = 0; n < 100; n++) await acceptPlan(db, app, { inbox: [devices[1]] }, { strategy: 'combined' })
    await trimInboxes(db, [devices[1]])
    await recordReceipts(db, [{ appId: app, taskId: tasks[2]!, deviceId: devices[2], event: 'clicked' }])
    await db.pool.query('UPDATE inbox SET fallback_at = now() WHERE task_id = $1', [tasks[3]])
    await fallBackDue(db, 10, async () => ({ plan: { batches: [], inbox: [], unreachable: 0 }, reasons: [] }))
    await finishAll()
    expect(await states()).toEqual(['finished', 'finished', 'finished', 'finished'])
  })

  it('after its planning ended, or was cancelled: its slices are deleted too', async () => {
    const tasks: number[] = []
    for (let n = 0; n < 3; n++) tasks.push((await acceptPlan(db, app, {})).taskId)
    await db.pool.query('DELETE FROM task_check')
    await db.pool.query(`UPDATE task SET state = 'planning', planned_at = NULL WHERE id = ANY($1)`, [tasks])
    await db.pool.query(
      `INSERT INTO slice (task_id, no, hi, cursor, width) SELECT unnest($1::bigint[]), 1, 9, 9, 1`,
      [tasks],
    )
    const [planned, cancelled, expired] = tasks as [number, number, number]
    await finishAll()
    expect(await stateOf(planned)).toBe('planning')
    await finishPlanning(db, [planned])
    await cancelTask(db, { appId: app }, cancelled)
    await db.pool.query('UPDATE task SET deadline = now() WHERE id = $1', [expired])
    await expireUnplanned(db, expired)
    await finishAll()
    expect(await Promise.all(tasks.map(stateOf))).toEqual(['finished', 'cancelled', 'finished'])
    expect((await db.pool.query('SELECT 1 FROM slice')).rows).toEqual([])
  })

  it('without the walk, if its planner died after the last page', async () => {
    const [planned, open] = [
      await acceptPlan(db, app, { unreachable: 1 }),
      await acceptPlan(db, app, { unreachable: 1 }),
    ]
    const ids = [planned.taskId, open.taskId]
    await db.pool.query(`UPDATE task SET state = 'planning' WHERE id = ANY($1)`, [ids])
    await db.pool.query(
      `INSERT INTO slice (task_id, no, hi, cursor, width)
       SELECT id, no, 9, CASE WHEN id = $2 AND no = 1 THEN 8 ELSE 9 END, 1 FROM unnest($1::bigint[]) AS t (id), generate_series(0, 1) AS n (no)`,
      [ids, open.taskId],
    )
    await finishPlanned(db)
    await finishAll()
    expect([await stateOf(planned.taskId), await stateOf(open.taskId)]).toEqual(['finished', 'planning'])
    await db.pool.query('UPDATE slice SET cursor = hi')
    await finishPlanned(db)
    await finishAll()
    expect(await stateOf(open.taskId)).toBe('finished')
  })

  it('later if somebody else has locked it: its check is kept', async () => {
    const { taskId } = await acceptPlan(db, app, { unreachable: 1 })
    await inTransaction(db, async (runner) => {
      await runner.query('SELECT 1 FROM task WHERE id = $1 FOR KEY SHARE', [taskId])
      expect(await finishTasks(db)).toBe(0)
    })
    await finishAll()
    expect(await stateOf(taskId)).toBe('finished')
  })

  it('by the walk, if a program of the previous release settled it, or its planner died after the last page', async () => {
    const settled = await acceptPlan(db, app, { unreachable: 1 })
    const planned = await acceptPlan(db, app, { unreachable: 1 })
    const waiting = await acceptPlan(db, app, { batches: [batch()] })
    await db.pool.query(`UPDATE task SET state = 'planning' WHERE id = $1`, [planned.taskId])
    await db.pool.query('DELETE FROM task_check')
    await finishAll()
    expect(await stateOf(settled.taskId)).toBe('sending')
    expect(await walkOpenTasks(db, settled.taskId - 1)).toBeUndefined()
    await finishAll()
    expect(await Promise.all([settled, planned, waiting].map(({ taskId }) => stateOf(taskId)))).toEqual([
      'finished',
      'finished',
      'sending',
    ])
  })
})

describe('a task of which only messages in inboxes are left', () => {
  const scope = () => ({ appId: app })
  async function devices(count: number): Promise<number[]> {
    const { rows } = await db.pool.query<{ id: number }>(
      `INSERT INTO device (app_id, guid, push_token, moved_at)
       SELECT $1, gen_random_uuid(), gen_random_uuid(), now() - interval '1 day' FROM generate_series(1, $2) RETURNING id`,
      [app, count],
    )
    return rows.map(({ id }) => id)
  }
  const shown = async (taskId: number) => {
    const [task] = await listTasks(db, scope(), { before: taskId + 1, limit: 1 })
    const { state, waiting, finishedAt, eta } = task!
    return { state, waiting, ended: finishedAt !== null, eta }
  }
  const endOf = async (taskId: number) =>
    (await db.pool.query('SELECT finished_at FROM task WHERE id = $1', [taskId])).rows[0].finished_at
  const told = async (taskId: number) =>
    (
      await db.pool.query(
        'SELECT kind, detail FROM outbox WHERE task_id = $1 AND devices IS NULL ORDER BY id',
        [taskId],
      )
    ).rows
  const inbox = (recipients: number[], strategy: 'combined' | 'nativepush_only' = 'nativepush_only') =>
    acceptPlan(db, app, { inbox: recipients, unreachable: 3 }, { strategy, events: 1 }).then(
      ({ taskId }) => taskId,
    )
  const send = async (device: number) =>
    sendFromInbox(db, (await waitingInbox(db, [device])).waiting, 10, (locked) => locked)
  const counts = { received: 0, clicked: 0, failed: 0, expired: 0, cancelled: 0, unreachable: 3 }

  it('is shown as finished at once, and its end is told once', async () => {
    const [a, b] = (await devices(2)) as [number, number]
    const taskId = await inbox([a, b])
    expect(await shown(taskId)).toMatchObject({ state: 'sending', waiting: 0, ended: false })
    await finishAll()
    expect(await shown(taskId)).toEqual({ state: 'finished', waiting: 2, ended: true, eta: null })
    expect(await stateOf(taskId)).toBe('sending')
    const finishedAt = await endOf(taskId)
    expect(await told(taskId)).toEqual([
      { kind: 'task.finished', detail: { ...counts, target: 2, sent: 0, waiting: 2 } },
    ])
    const pages = await Promise.all(
      (['finished', 'sending'] as const).map((state) => listTasks(db, scope(), { limit: 500, state })),
    )
    expect(pages.map((page) => page.some((task) => task.taskId === taskId))).toEqual([true, false])
    await send(a)
    await finishAll()
    expect([await stateOf(taskId), await shown(taskId)]).toMatchObject(['sending', { waiting: 1 }])
    await send(b)
    await finishAll()
    expect([await stateOf(taskId), await shown(taskId)]).toEqual([
      'finished',
      { state: 'finished', waiting: 0, ended: true, eta: 0 },
    ])
    expect(await endOf(taskId)).toEqual(finishedAt)
    const { rows } = await db.pool.query('SELECT ended_at > finished_at AS later FROM task WHERE id = $1', [
      taskId,
    ])
    expect(rows).toEqual([{ later: true }])
    expect(await told(taskId)).toHaveLength(1)
  })

  it('is found by the settle of its native batch, whose channel still has messages that wait', async () => {
    const [online, offline] = (await devices(2)) as [number, number]
    const { taskId, released } = await acceptPlan(
      db,
      app,
      { batches: [{ channel: 'native', node: 'n', recipients: [online], tried: [] }], inbox: [offline] },
      { strategy: 'nativepush_only' },
    )
    await finishAll()
    expect(await shown(taskId)).toMatchObject({ state: 'sending', ended: false })
    const [claimed] = await claimBatches(
      db.pool,
      { channel: 'native', certificateIds: [], batches: [{ taskId, id: released[0]!.id }] },
      { seconds: 30, worker: 'w' },
    )
    const none = { moved: 0, expired: 0, inbox: [], fallback: [], reasons: [], whys: [] }
    const { id, version } = claimed!
    await settleNative(db.pool, [
      { taskId, id, version, status: 's', sent: 1, acknowledged: [online], ...none },
    ])
    await finishAll()
    expect(await shown(taskId)).toMatchObject({ state: 'finished', waiting: 1 })
  })

  it('is not finished while a message waits for its turn on another channel', async () => {
    const [a, b] = (await devices(2)) as [number, number]
    const taskId = await inbox([a, b], 'combined')
    await db.pool.query('DELETE FROM task_check')
    await send(a)
    await walkOpenTasks(db, taskId - 1)
    await finishAll()
    expect(await shown(taskId)).toMatchObject({ state: 'sending', waiting: 0, ended: false })
    await acknowledge(db, [{ appId: app, taskId, deviceId: a }])
    await finishAll()
    expect(await shown(taskId)).toMatchObject({ state: 'finished', waiting: 1 })
  })

  it('can be cancelled: its inboxes are emptied, and that is told too', async () => {
    const [a] = (await devices(1)) as [number]
    const taskId = await inbox([a])
    await finishAll()
    expect(await cancelTask(db, scope(), taskId)).toBe('ok')
    expect(await shown(taskId)).toMatchObject({ state: 'cancelling', waiting: 0 })
    await finishAll()
    expect(await stateOf(taskId)).toBe('sending')
    await cancelInbox(db, 100)
    await finishAll()
    expect(await shown(taskId)).toMatchObject({ state: 'cancelled', waiting: 0 })
    expect((await db.pool.query('SELECT 1 FROM inbox WHERE task_id = $1', [taskId])).rows).toEqual([])
    expect(await told(taskId)).toEqual([
      { kind: 'task.finished', detail: { ...counts, target: 1, sent: 0, waiting: 1 } },
      { kind: 'task.cancelled', detail: { ...counts, target: 1, sent: 0, cancelled: 1, waiting: 0 } },
    ])
    expect(await cancelTask(db, scope(), taskId)).toBe('finished')
  })

  it('can be paused: nothing is delivered until it is resumed', async () => {
    const [a] = (await devices(1)) as [number]
    const taskId = await inbox([a])
    await finishAll()
    expect(await pauseTask(db, scope(), taskId)).toBe('ok')
    expect(await shown(taskId)).toMatchObject({ state: 'paused', waiting: 1 })
    await send(a)
    expect((await waitingInbox(db, [a])).waiting).toEqual([])
    expect(await resumeTask(db, scope(), taskId)).toBe('ok')
    expect(await shown(taskId)).toMatchObject({ state: 'finished', waiting: 1 })
    await send(a)
    await finishAll()
    expect([await stateOf(taskId), await shown(taskId)]).toMatchObject(['finished', { waiting: 0 }])
  })

  it('is not counted as open: nothing of it is being sent', async () => {
    const count = async () => ({
      backlog: (await readBacklog(db)).tasks.sending,
      overview: (await readOverview(db, app, await readSettledTotal(db, app))).tasksOpen,
    })
    const before = await count()
    const [a] = (await devices(1)) as [number]
    const taskId = await inbox([a])
    expect(await count()).toEqual({ backlog: before.backlog + 1, overview: before.overview + 1 })
    await finishAll()
    expect(await count()).toEqual(before)
    await send(a)
    await finishAll()
    expect(await stateOf(taskId)).toBe('finished')
  })

  it('is told as cancelled if it was cancelled before it began', async () => {
    const taskId = await inbox([])
    await db.pool.query(`UPDATE task SET state = 'accepted', planned_at = NULL WHERE id = $1`, [taskId])
    await cancelTask(db, scope(), taskId)
    expect(await cancelAccepted(db)).toBe(1)
    expect(await told(taskId)).toEqual([
      { kind: 'task.cancelled', detail: { ...counts, target: 0, sent: 0, waiting: 0 } },
    ])
  })
})

describe('a task that is open after its deadline', () => {
  it('is checked without waiting for the walk, unless something of it is left', async () => {
    const late = await acceptPlan(db, app, { unreachable: 1 })
    const open = await acceptPlan(db, app, { batches: [batch()] })
    const young = await acceptPlan(db, app, { unreachable: 1 })
    await db.pool.query('DELETE FROM task_check')
    await db.pool.query(`UPDATE task SET deadline = now() - interval '2 minutes' WHERE id = ANY($1)`, [
      [late.taskId, open.taskId],
    ])
    await checkLateTasks(db)
    expect(await checks()).toEqual([late.taskId])
    await finishAll()
    expect(await Promise.all([late, open, young].map(({ taskId }) => stateOf(taskId)))).toEqual([
      'finished',
      'sending',
      'sending',
    ])
    await walkOpenTasks(db, late.taskId)
    await finishAll()
    expect(await stateOf(young.taskId)).toBe('finished')
  })
})

describe('20,000 tasks that wait', () => {
  const rounds = async (on: typeof db) => {
    await findDueWork(on)
    await finishTasks(on)
    await walkOpenTasks(on, 0)
    await checkLateTasks(on)
    await settleEnded(on)
  }

  it('are neither written nor read, except by the walk, which reads a thousand at a time', async () => {
    const few = await blocksRead(db, rounds)
    await stopAutovacuum(db, 'task')
    await db.pool.query(
      `WITH waiting AS (
         INSERT INTO task (id, app_id, state, audience, strategy, sequence, message, lane, ttl, deadline, paused)
         SELECT next_task_id(), $1, 'sending', '{"kind":"all"}', 'combined', '{}', '{}', 'high', 100, now() + interval '1 day',
           n % 2 = 0 FROM generate_series(1, 20000) n RETURNING id, app_id, paused, deadline
       ), counted AS (
         INSERT INTO counter (task_id, channel, target, ranged) SELECT id, 'fcm', 1, 1 FROM waiting
       )
       INSERT INTO batch (task_id, app_id, channel, certificate_id, lane, state, size, recipients, status, deadline, not_before)
       SELECT id, app_id, 'fcm', $2, 'high', CASE WHEN paused THEN 'held' ELSE 'ready' END, 1, '{1}', '.', deadline, 'infinity'
       FROM waiting`,
      [app, certificateId],
    )
    await db.pool.query('ANALYZE')
    const versions = async () =>
      (
        await db.pool.query(
          `SELECT count(*)::int AS open, sum(hashtext(ctid::text || id)) AS versions FROM task WHERE state = 'sending'`,
        )
      ).rows[0]
    const before = await versions()
    const { taskId } = await acceptPlan(db, app, { unreachable: 1 })
    let walked: number | undefined = 0
    let steps = 0
    while (walked !== undefined) {
      walked = await walkOpenTasks(db, walked)
      steps++
    }
    expect(steps).toBeGreaterThanOrEqual(20)
    const many = await blocksRead(db, rounds)
    await finishAll()
    expect(await stateOf(taskId)).toBe('finished')
    expect(await versions()).toEqual(before)
    for (const name of ['due-work', 'take-checks', 'settle-ended', 'late-tasks'])
      expect([name, many[name]! - few[name]! < 60]).toEqual([name, true])
    expect(many['walk-open-tasks']! + many['check-open-tasks']!).toBeLessThan(20_000)
  })
})
