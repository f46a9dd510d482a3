import { until } from '@herald/testkit'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { createPushTokens } from '../src/devices/push-tokens.ts'
import { erase } from '../src/erasure/index.ts'
import { deviceMessages, isBeforeOldestTask, readStats, sumStats } from '../src/history/index.ts'
import { acknowledge } from '../src/native/index.ts'
import { countBalanced, findImbalances, listAudit } from '../src/readings/index.ts'
import { type Database, ensurePartitions, openDatabase } from '../src/store/index.ts'
import { firstTaskIdAt } from '../src/store/partitions.ts'
import {
  beginTasks,
  findReceipts,
  findRecipients,
  finishTasks,
  listTasks,
  recordReceipts,
  taskDetails,
  walkOpenTasks,
} from '../src/tasks/index.ts'
import { locksTaken } from './locks-taken.ts'
import { addApplication, useDatabase } from './setup.ts'

const DAY = 86_400_000
/** Days before today that have partitions; a week ahead has them too. */
const MANY = 54
/** Of one statement; with the coming week. */
const MOST = 32 + 9

const db = useDatabase({ max: 8 })

/** Each statement of a day that a connection prepares stays in the memory of the server and of the process. */
it('ids of any number of days leave few prepared statements', async () => {
  const one = openDatabase(db.url, { max: 1 })
  try {
    const count = async () => {
      const { rows } = await one.pool.query<{ n: number }>(
        'SELECT count(*)::int AS n FROM pg_prepared_statements',
      )
      return rows[0]!.n
    }
    const appId = await addApplication(db)
    const receiptAt = (ms: number) =>
      recordReceipts(one, [{ appId, taskId: firstTaskIdAt(ms), deviceId: 1, event: 'received' }])
    await receiptAt(Date.now())
    const before = await count()
    for (let days = 1; days <= 100; days++) await receiptAt(Date.now() + days * 30 * DAY)
    expect(await count()).toBeLessThanOrEqual(before + 32)
  } finally {
    await one.close()
  }
})

/** What reads all days, or any of them, takes locks of some at a time: with 400 days Postgres would have no room for them. */
describe('statements that may read every day', () => {
  const tokens = createPushTokens(Buffer.alloc(32))
  const ids: number[] = []
  let app: string
  let device: number
  const lastDay = Math.floor(Date.now() / DAY) * DAY
  const idAgo = (days: number) => firstTaskIdAt(Date.now() - days * DAY)

  beforeAll(async () => {
    app = await addApplication(db)
    for (let ago = 9; ago <= MANY; ago += 9) await ensurePartitions(db, Date.now() - ago * DAY)
    const { rows } = await db.pool.query(
      `INSERT INTO device (app_id, guid, alias, push_token, moved_at, created_at)
       VALUES ($1, 'g', 'carol', 'p', now() - interval '1 year', now() - interval '1 year') RETURNING id`,
      [app],
    )
    device = Number(rows[0].id)
    // A push per day for two months, to the device, by its alias; of the last two days none.
    for (let ago = MANY - 1; ago >= 2; ago--) ids.push(idAgo(ago))
    await db.pool.query(
      `INSERT INTO task (id, app_id, state, audience, strategy, sequence, message, lane, ttl, begin_at, created_at, finished_at, planned_at, actor)
       SELECT id, $1, 'finished', '{"kind":"alias","aliases":["carol"]}', 'combined', '{}', '{"title":"for Carol"}', 'high', 100, at, at, at, at, 'app'
       FROM (SELECT id, to_timestamp((id / 4096 + 1735689600000) / 1000) AS at FROM unnest($2::bigint[]) AS t (id)) t`,
      [app, ids],
    )
    await db.pool.query(
      `INSERT INTO batch (task_id, app_id, channel, certificate_id, lane, state, size, recipients, status, deadline, settled_at)
       SELECT id, $1, 'fcm', 1, 'high', 'settled', 1, ARRAY[$3::bigint], 's', now(), now() FROM unnest($2::bigint[]) AS t (id)`,
      [app, ids, device],
    )
    await db.pool.query(
      `INSERT INTO counter (task_id, channel, target, ranged, sent) SELECT id, 'fcm', 1, 1, 1 FROM unnest($1::bigint[]) AS t (id)`,
      [ids],
    )
  })

  async function daysLocked(work: (db: Database) => Promise<unknown>): Promise<number> {
    const locks = Object.values(await locksTaken(db, work))
    return locks.reduce((most, { days }) => Math.max(most, days), 0)
  }

  it('list the tasks and the audit of all days', async () => {
    const newestFirst = ids.toReversed()
    let list: number[] = []
    const listing = async (on: Database) => {
      list = (await listTasks(on, { appId: app }, { limit: 100 })).map(({ taskId }) => taskId)
    }
    expect(await daysLocked(listing)).toBeLessThanOrEqual(MOST)
    expect(list).toEqual(newestFirst)
    expect(await listTasks(db, { appId: app }, { limit: 100, state: 'paused' })).toEqual([])
    const after = await listTasks(db, { appId: app }, { limit: 3, before: ids[4]!, campaign: undefined })
    expect(after.map(({ taskId }) => taskId)).toEqual(ids.slice(1, 4).toReversed())
    const picking = async (on: Database) => {
      const picked = await listTasks(on, { appId: app }, { limit: 100, taskIds: ids })
      list = picked.map(({ taskId }) => taskId)
    }
    expect(await daysLocked(picking)).toBeLessThanOrEqual(8)
    expect(list).toEqual(newestFirst)
    const audit = async (on: Database) => {
      const page = await listAudit(on, app, { limit: 100, action: 'push.notify' })
      list = page.list.map(({ detail }) => detail.task_id as number)
    }
    expect(await daysLocked(audit)).toBeLessThanOrEqual(MOST)
    expect(list).toEqual(newestFirst)
  })

  it('leave out the coming week, which has no tasks unless a clock was wrong', async () => {
    const clock = await addApplication(db)
    const accept = (id: number) =>
      db.pool.query(
        `INSERT INTO task (id, app_id, state, audience, strategy, sequence, message, lane, ttl, finished_at)
         VALUES ($2, $1, 'finished', '{}', 'combined', '{}', '{}', 'high', 100, now())`,
        [clock, id],
      )
    const now = firstTaskIdAt(Date.now())
    await accept(now)
    let list: number[] = []
    const listing = async (on: Database) => {
      list = (await listTasks(on, { appId: clock }, { limit: 1 })).map(({ taskId }) => taskId)
    }
    const balancing = (on: Database) => findImbalances(on)
    const daysOf = async (work: (on: Database) => Promise<unknown>) => {
      const { 'later-tasks': _tasks, 'later-rows': _rows, ...others } = await locksTaken(db, work)
      return Object.values(others).reduce((most, { days }) => Math.max(most, days), 0)
    }
    // Yesterday, today and tomorrow; more days than these have tasks.
    expect(await daysOf(listing)).toBe(3)
    expect(list).toEqual([now])
    const balanced = await daysOf(balancing)

    const later = firstTaskIdAt(Date.now() + 3 * DAY)
    await accept(later)
    await db.pool.query(
      `INSERT INTO counter (task_id, channel, target, ranged, sent) VALUES ($1, 'fcm', 2, 2, 1)`,
      [later],
    )
    expect(await daysOf(listing)).toBe(9)
    expect(list).toEqual([later])
    expect((await findImbalances(db)).map(({ taskId }) => taskId)).toEqual([later])
    expect(await daysOf(balancing)).toBeGreaterThanOrEqual(balanced)
    await db.pool.query('DELETE FROM counter WHERE task_id = $1', [later])
    await db.pool.query('DELETE FROM task WHERE id = $1', [later])
  })

  it('read the messages of a device, and know the oldest task', async () => {
    const devices = [{ deviceId: device, guid: 'g', userId: null, alias: 'carol', since: 0 }]
    const reading = async (on: Database) => {
      const found: number[] = []
      for (let before: number | undefined; ; ) {
        const { messages, next } = await deviceMessages(on, { appId: app }, devices, { before, limit: 20 })
        found.push(...messages.map(({ taskId }) => taskId))
        if (next === null) return expect(found).toEqual(ids.toReversed())
        before = next
      }
    }
    expect(await daysLocked(reading)).toBeLessThanOrEqual(2 * 20 + 1)
    const asking = async (on: Database) => {
      expect(await isBeforeOldestTask(on, ids[0]! - 1)).toBe(true)
      expect(await isBeforeOldestTask(on, ids[0]!)).toBe(false)
      expect(await isBeforeOldestTask(on, ids[0]! + 1)).toBe(false)
    }
    expect(await daysLocked(asking)).toBeLessThanOrEqual(16)
    const [first, second] = ids as [number, number]
    await db.pool.query('UPDATE task SET id = id + 1 WHERE id = $1', [first])
    expect(await isBeforeOldestTask(db, first)).toBe(true)
    await db.pool.query('UPDATE task SET id = id - 1 WHERE id = $1', [first + 1])
    expect(second).toBeGreaterThan(first)
  })

  it('sum the statistics of all days, and what changes in any of them', async () => {
    // Other programs of the server may have transactions that have to end first.
    const sums = (on: Database) =>
      until(async () => {
        while (await sumStats(on));
        const { rowCount } = await db.pool.query(
          'SELECT 1 FROM stat_head WHERE summed > $1 AND NOT EXISTS (SELECT 1 FROM stat_change)',
          [ids.at(-1)],
        )
        return rowCount === 1
      })
    const total = async (on: Database) => {
      const query = { from: lastDay - 60 * DAY, to: lastDay + DAY, length: DAY }
      return (await readStats(on, { appId: app }, query)).total
    }
    expect(await total(db)).toMatchObject({ target: ids.length, sent: ids.length, received: 0 })
    expect(await daysLocked(sums)).toBeLessThanOrEqual(17)
    expect(await total(db)).toMatchObject({ target: ids.length, sent: ids.length, received: 0 })
    // A receipt for every third push.
    const some = ids.filter((_, n) => n % 3 === 0)
    await db.pool.query('UPDATE counter SET received = 1 WHERE task_id = ANY($1::bigint[])', [some])
    const counted = async (on: Database) =>
      expect(await total(on)).toMatchObject({ sent: ids.length, received: some.length })
    expect(await daysLocked(counted)).toBeLessThanOrEqual(some.length + 4)
    expect(await daysLocked(sums)).toBeLessThanOrEqual(17)
    expect(await daysLocked(counted)).toBeLessThanOrEqual(4)
  })

  it('compare the counters of all days', async () => {
    const comparing = async (on: Database) => {
      expect(await findImbalances(on)).toEqual([])
      expect(await countBalanced(on)).toEqual({
        tasks: ids.length,
        rows: ids.length,
        targets: ids.length,
        pending: 0,
      })
    }
    expect(await daysLocked(comparing)).toBeLessThanOrEqual(16 + 16)
    const wrong = [ids[1]!, ids[30]!]
    await db.pool.query('UPDATE counter SET failed = 1 WHERE task_id = ANY($1::bigint[])', [wrong])
    expect((await findImbalances(db)).map(({ taskId }) => taskId)).toEqual(wrong)
    expect((await findImbalances(db, ids.slice(2))).map(({ taskId }) => taskId)).toEqual(wrong.slice(1))
    await db.pool.query('UPDATE counter SET failed = 0 WHERE task_id = ANY($1::bigint[])', [wrong])
  })

  it('look up the tasks that a caller names, and record receipts and acknowledgements of them', async () => {
    const keys = ids.toReversed().map((taskId) => ({ taskId, deviceId: device }))
    // Another device, of which nothing is known; of days that do not exist too.
    const invented = [...ids, ...Array.from({ length: 60 }, (_, n) => idAgo(-10 - n))]
    const acknowledging = async (on: Database) => {
      const all = invented.map((taskId) => ({ appId: app, taskId, deviceId: device + 1 }))
      expect(await acknowledge(on, all)).toBe(0)
    }
    expect(await daysLocked(acknowledging)).toBeLessThanOrEqual(8)
    const finding = async (on: Database) => {
      expect((await findRecipients(on.pool, app, 'fcm', keys)).size).toBe(ids.length)
    }
    expect(await daysLocked(finding)).toBeLessThanOrEqual(8)
    let counted = 0
    const recording = async (on: Database) => {
      const receipts = keys.map((key) => ({ ...key, appId: app, event: 'received' as const }))
      const count = (_: string, added: number) => {
        counted += added
      }
      expect(await recordReceipts(on, receipts, count)).toBe(ids.length)
      expect(await recordReceipts(on, receipts, count)).toBe(0)
    }
    expect(await daysLocked(recording)).toBeLessThanOrEqual(8)
    expect(counted).toBe(ids.length)
    const found = async (on: Database) => expect((await findReceipts(on.pool, keys)).size).toBe(ids.length)
    expect(await daysLocked(found)).toBeLessThanOrEqual(8)
    const asked = invented.toReversed()
    const reading = async (on: Database) => {
      const details = await taskDetails(on, { appId: app }, asked)
      expect(details.map(({ taskId }) => taskId)).toEqual(ids.toReversed())
      expect(details[0]!.counters).toMatchObject({ fcm: { target: 1, sent: 1 } })
    }
    expect(await daysLocked(reading)).toBeLessThanOrEqual(8)
  })

  it('erase a person from the tasks of all days, and from recalls of any', async () => {
    const recall = idAgo(1)
    await db.pool.query(
      `INSERT INTO task (id, app_id, state, audience, strategy, sequence, message, lane, ttl, finished_at)
       VALUES ($1, $2, 'finished', $3, 'combined', '{}', '{"title":"Carol again"}', 'high', 100, now())`,
      [recall, app, JSON.stringify({ kind: 'recall', taskId: ids[3] })],
    )
    expect(
      await daysLocked(async (on) => expect(await erase(on, tokens, app, { alias: 'carol' })).toBe(1)),
    ).toBeLessThanOrEqual(MOST)
    const { rows } = await db.pool.query(
      `SELECT id FROM task WHERE message::text || audience::text ~* 'carol'`,
    )
    expect(rows).toEqual([])
  })

  it('begin, check and finish tasks of days that are far from each other', async () => {
    const some = Array.from({ length: 10 }, (_, n) => idAgo(MANY - 1 - 5 * n) + 1)
    await db.pool.query(
      `INSERT INTO task (id, app_id, state, audience, strategy, sequence, message, lane, ttl)
       SELECT id, 'far', 'accepted', '{"kind":"all"}', 'combined', '{}', '{}', 'high', 100 FROM unnest($1::bigint[]) AS t (id)`,
      [some],
    )
    const batch = { channel: 'fcm' as const, certificateId: 1, recipients: [5], tried: [] }
    const plan = { batches: [batch], inbox: [], unreachable: 0 }
    const beginning = async (on: Database) => {
      const begun = await beginTasks(
        on,
        some.map((taskId) => ({ taskId, plan })),
      )
      expect([...begun]).toEqual(some)
    }
    expect(await daysLocked(beginning)).toBeLessThanOrEqual(8)
    await db.pool.query('DELETE FROM task_check')
    await db.pool.query(
      `UPDATE batch SET state = 'settled', status = 's', settled_at = now() WHERE app_id = 'far'`,
    )
    // A process that has not looked for the days with open tasks yet.
    await db.pool.query('DELETE FROM open_days')
    const fresh = openDatabase(db.url, { max: 2, waitMs: 60_000 })
    const walk = await locksTaken(fresh, (on) => walkOpenTasks(on, 0)).finally(() => fresh.close())
    const checking = Object.entries(walk).filter(([key]) => key.startsWith('INSERT INTO task_check'))
    expect(checking.map(([, { days }]) => days)).toEqual([8])
    const finishing = async (on: Database) => expect(await finishTasks(on)).toBe(some.length)
    expect(await daysLocked(finishing)).toBeLessThanOrEqual(8)
    const { rows } = await db.pool.query(`SELECT DISTINCT state FROM task WHERE app_id = 'far'`)
    expect(rows).toEqual([{ state: 'finished' }])
  })
})
