import { until } from '@herald/testkit'
import { acceptPlan } from '@herald/testkit/accept-plan'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { courierFigures } from '../src/events/index.ts'
import { readStats, sumStats } from '../src/history/index.ts'
import { clearInboxesOf } from '../src/ledger/inbox-clearing.ts'
import {
  acknowledge,
  fallBackDue,
  sendFromInbox,
  settleNative,
  settleOrphans,
  waitingInbox,
} from '../src/native/index.ts'
import { readBacklog } from '../src/readings/index.ts'
import {
  byDays,
  daysBetween,
  daysFrom,
  daysOf,
  groupByKeptDays,
  runWithin,
  textWithin,
} from '../src/store/days.ts'
import { type Database, ensurePartitions } from '../src/store/index.ts'
import { openDays } from '../src/store/open-days.ts'
import { firstTaskIdAt, IDS_PER_DAY } from '../src/store/partitions.ts'
import {
  alignPausedBatches,
  assignBadges,
  certificatesToWake,
  claimBatches,
  countDaily,
  findDueWork,
  finishTasks,
  lanesWithUnclaimed,
  leaseTime,
  pacedTasks,
  pauseTask,
  putBackReleased,
  readyCertificates,
  readyNodes,
  reclaimExpiredLeases,
  recordReceipts,
  releaseReady,
  renewLeases,
  settleBatches,
  settleEnded,
  takeDueTasks,
  takeUnclaimed,
  taskDetails,
  taskFailures,
  tasksById,
} from '../src/tasks/index.ts'
import { type Locks, locksTaken } from './locks-taken.ts'
import { addApplication, addCertificate, settlementOf, useDatabase } from './setup.ts'

const DAY = 86_400_000
/** Enough to see what grows with them; 400 take minutes to create. */
const MANY = 50
const tables = ['task', 'counter', 'failure', 'batch', 'receipt', 'inbox']

describe('days of task ids', () => {
  const text = (ids: number[]) => textWithin(daysOf(ids), 'in_days(b.task_id)')
  const day = (n: number) => n * IDS_PER_DAY

  it('are written as ranges, one per run of days', () => {
    expect(text([day(3) + 1, day(3) + 9])).toBe(`b.task_id >= ${day(3)} AND b.task_id < ${day(4)}`)
    expect(text([day(4), day(3)])).toBe(`b.task_id >= ${day(3)} AND b.task_id < ${day(5)}`)
    expect(text([day(3), day(9)])).toBe(
      `(b.task_id >= ${day(3)} AND b.task_id < ${day(4)} OR b.task_id >= ${day(9)} AND b.task_id < ${day(10)})`,
    )
    expect(text([])).toBe(`b.task_id >= ${day(-1)} AND b.task_id < 0`)
    expect(textWithin(daysFrom(day(5) + 7), 'in_days(id)')).toBe(
      `(id >= ${day(5)} AND id < ${day(6)} OR id >= ${day(6)})`,
    )
    expect(textWithin(daysBetween(day(5) + 7, day(7) - 1), 'in_days(id)')).toBe(
      `(id >= ${day(5)} AND id < ${day(5.5)} OR id >= ${day(5.5)} AND id < ${day(7)})`,
    )
  })

  it('are part of the name of a statement only if they are few', () => {
    expect(daysOf([day(3)]).name).toBe('3')
    expect(daysOf([day(3), day(4)]).name).toBe('3-4')
    expect(daysOf([day(3), day(9)]).name).toBe('3,9')
    expect(daysOf([1, 4, 7].map(day)).name).toBeUndefined()
    expect(daysFrom(day(3)).name).toBe('3+')
    expect(daysBetween(day(3), day(3)).name).toBe('3-3+')
    expect(daysBetween(day(3), day(9)).name).toBe('3-9+')
  })

  it('are few in each of the lists into which tasks are divided', () => {
    const ids = Array.from({ length: 40 }, (_, i) => day(3 * (i % 20)) + i)
    const lists = byDays(ids)
    expect(lists.flat()).toEqual(ids.toSorted((a, b) => a - b))
    expect(lists.map((list) => text(list).split(' OR ').length)).toEqual([8, 8, 4])
    expect(byDays([])).toEqual([])
  })

  it('have none in between, however many there are, and take any number', () => {
    const many = Array.from({ length: 20 }, (_, i) => day(40 * i))
    const ranges = many.map((id) => `b.task_id >= ${id} AND b.task_id < ${id + day(1)}`)
    expect(text(many)).toBe(`(${ranges.join(' OR ')})`)
    expect(() => text([-1, 2 ** 63])).not.toThrow()
  })
})

describe('a database with partitions for many days', () => {
  const db = useDatabase({ max: 8 })
  let appId: string
  let certificateId: number
  let device: number
  const ttl = 100_000
  beforeAll(async () => {
    appId = await addApplication(db)
    certificateId = await addCertificate(db, appId, 'fcm')
    const { rows } = await db.pool.query(
      `INSERT INTO device (app_id, guid, push_token, moved_at) VALUES ($1, 'g', 'p', now() - interval '1 day') RETURNING id`,
      [appId],
    )
    device = Number(rows[0].id)
  })

  /** Every statement that runs per push, per round of a planner or per receipt. */
  async function pipeline(measured: Database): Promise<void> {
    const plan = { batches: [{ channel: 'fcm' as const, certificateId, recipients: [1, 2], tried: [] }] }
    const { taskId, released } = await acceptPlan(measured, appId, plan, {
      requestId: `r${Math.random()}`,
      ttl,
    })
    await acceptPlan(measured, appId, { inbox: [device] }, { ttl })
    const key = { taskId, id: released[0]!.id }
    const waiting = await acceptPlan(measured, appId, plan, { released: false, ttl })
    const lease = { seconds: 30, worker: 'w' }
    const jobs = { channel: 'fcm' as const, certificateIds: [certificateId], batches: [key] }
    await putBackReleased(measured, { certificateIds: [certificateId], batches: [{ taskId, id: -1 }] }, 1)
    const [batch] = await claimBatches(measured.pool, jobs, lease)
    await tasksById(measured.pool, [taskId])
    await assignBadges(measured.pool, [
      { ...key, version: batch!.version, recipients: [1, 2], badge: { kind: 'add', count: 1 } },
    ])
    await countDaily(
      measured,
      'fcm' as never,
      [{ ...key, version: batch!.version, devices: [1, 2] }],
      5,
      'UTC',
    )
    await renewLeases(measured, [{ ...key, version: batch!.version }], 30)
    await settleBatches(measured, [settlementOf(batch!, { status: 'ss', sent: 2 })])
    const again = await acceptPlan(measured, appId, plan, { ttl })
    const [failing] = await claimBatches(
      measured.pool,
      { ...jobs, batches: [{ taskId: again.taskId, id: again.released[0]!.id }] },
      lease,
    )
    await settleBatches(measured, [
      {
        ...settlementOf(failing!, { status: 'sf', sent: 1, failed: 1 }),
        reasons: [{ fate: 'failed', code: 'x', text: 'x', count: 1, samples: [2] }],
      },
    ])
    await recordReceipts(measured, [{ appId, taskId, deviceId: 1, channel: 'fcm', event: 'clicked' }])
    await taskDetails(measured, { appId }, [taskId])
    await taskFailures(measured, { appId }, again.taskId)
    await pauseTask(measured, { appId }, waiting.taskId)
    // Of the planner.
    await findDueWork(measured)
    await takeDueTasks(measured, { lane: 'high', after: '', max: 64, except: [] })
    await readyCertificates(measured, 0)
    await readyNodes(measured)
    await releaseReady(measured, { certificateId }, { recipients: 20_000, batches: 400 })
    await pacedTasks(measured, 0)
    await certificatesToWake(measured, 0)
    await lanesWithUnclaimed(measured, 3)
    await takeUnclaimed(measured, { channel: 'fcm', lane: 'high' }, 0, 10)
    await reclaimExpiredLeases(measured, new Date(0).toISOString())
    await alignPausedBatches(measured)
    await settleEnded(measured)
    await finishTasks(measured)
    await readBacklog(measured)
    // Of the gateways.
    const inbox = await waitingInbox(measured, [device])
    expect(inbox.waiting).toHaveLength(1)
    await sendFromInbox(measured, inbox.waiting, 30, (messages) => messages)
    await acknowledge(
      measured,
      inbox.waiting.map((message) => ({ appId, ...message })),
    )
    const native = await acceptPlan(
      measured,
      appId,
      { batches: [{ channel: 'native', node: 'n', recipients: [device], tried: [] }] },
      { ttl },
    )
    const nativeJob = { channel: 'native' as const, certificateIds: [], batches: native.released }
    const [written] = await claimBatches(measured.pool, nativeJob, lease)
    const outcome = {
      status: 's',
      sent: 1,
      moved: 0,
      expired: 0,
      acknowledged: [],
      inbox: [],
      fallback: [],
      reasons: [],
      whys: [],
    }
    await settleNative(measured.pool, [{ ...written!, ...outcome }])
    await settleOrphans(measured, await leaseTime(db), 10, async () => [])
    await fallBackDue(measured, 10, async () => undefined)
    // Of devices, statistics and the courier.
    await clearInboxesOf(measured.pool, await openDays(measured), [device])
    await db.pool.query('UPDATE stat_head SET noted = $1, summed = $1', [
      firstTaskIdAt(Date.now() - 3_700_000),
    ])
    await sumStats(measured)
    const today = Math.floor(Date.now() / DAY) * DAY
    await readStats(measured, { appId }, { from: today, to: today + DAY, length: DAY })
    await courierFigures(measured)
  }

  /** Searches read the day of an hour ahead, too. None may begin between two measurements, which take seconds. */
  const noDayBegins = () =>
    [0, DAY / 24].every((ahead) => {
      const at = Date.now() + ahead
      return Math.floor(at / DAY) === Math.floor((at + 60_000) / DAY)
    })

  async function pipelineLocks(): Promise<Record<string, Locks>> {
    await db.pool.query('DELETE FROM open_days')
    const locks = Object.entries(await locksTaken(db, pipeline))
    return Object.fromEntries(
      locks.map(([key, taken]) => [
        key.startsWith('SELECT EXISTS (SELECT # FROM task') ? 'firstLook' : key,
        taken,
      ]),
    )
  }

  it('prepares a statement of many days under a name of its own, which Postgres does not shorten', async () => {
    const runs = Array.from({ length: 8 }, (_, n) => `${1000 + 20 * n}-${1009 + 20 * n}`).join(',')
    const client = await db.pool.connect()
    try {
      for (const last of [2, 1, 2]) {
        const days = { name: `${runs},${last}+`, of: (column: string) => `${column} = ${last}` }
        const text = 'SELECT n FROM generate_series(1, 3) n WHERE in_days(n)'
        expect(await runWithin(client, days, 'of-many-days', text, [])).toEqual([[last]])
      }
      const { rows } = await client.query(
        `SELECT length(name) AS length FROM pg_prepared_statements WHERE name LIKE 'of-many-days@%'`,
      )
      expect(rows).toEqual([{ length: 29 }, { length: 29 }])
    } finally {
      client.release()
    }
  })

  it('leaves out ids of days that do not exist if they are of many days', async () => {
    const daysAhead = (from: number) =>
      Array.from({ length: 20 }, (_, n) => firstTaskIdAt(Date.now() + (from + n) * DAY))
    const now = firstTaskIdAt(Date.now())
    const ids = [...daysAhead(-40), now, ...daysAhead(20), now + 1]
    expect(await groupByKeptDays(db.pool, ids, Number)).toEqual([[now, now + 1]])
    // Few days are one list, and no statement.
    const few = [now, ...daysAhead(20).slice(0, 7)]
    expect(await groupByKeptDays(undefined as never, few, Number)).toEqual([few])
  })

  it('locks as many tables per statement as one with partitions for nine', async () => {
    await until(noDayBegins, { what: 'the end of the minute before a day' })
    await pipeline(db)
    const { firstLook: _, ...few } = await pipelineLocks()
    expect(Object.keys(few).length).toBeGreaterThan(30)
    for (let ago = 9; ago < MANY; ago += 9) await ensurePartitions(db, Date.now() - ago * DAY)
    const { rows } = await db.pool.query(
      `SELECT inhparent::regclass::text AS name, count(*)::int AS n FROM pg_inherits WHERE inhparent = ANY($1::regclass[]) GROUP BY 1`,
      [tables],
    )
    for (const { name, n } of rows) expect([name, n >= MANY]).toEqual([name, true])
    const { firstLook, ...many } = await pipelineLocks()
    expect(many).toEqual(few)
    // At the days with open work, some at a time.
    expect(firstLook!.days).toBe(16)
    // Also when every statement is planned for its call.
    const { rows: plans } = await db.pool.query<{ 'QUERY PLAN': string }>(
      textWithin(
        daysOf([firstTaskIdAt(Date.now())]),
        `EXPLAIN (FORMAT TEXT) SELECT 1 FROM batch b JOIN task t ON t.id = b.task_id WHERE in_days(b.task_id) AND in_days(t.id) AND b.id = 1`,
      ),
    )
    expect(plans.filter((row) => / on (batch|task)_\d{8}/.test(row['QUERY PLAN']))).toHaveLength(2)
  })
})
