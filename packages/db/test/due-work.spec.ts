import { sampleMessage } from '@herald/testkit/sample-message'
import { afterEach, expect, it, jest } from '@jest/globals'
import { ensurePartitions } from '../src/store/index.ts'
import { acceptTasks, findDueWork, giveBackDue, takeDueTasks } from '../src/tasks/index.ts'
import { useDatabase } from './setup.ts'

const db = useDatabase()
afterEach(() => void jest.restoreAllMocks())

it('says what is due, and when the first of the rest becomes due by itself', async () => {
  expect(await findDueWork(db)).toEqual({
    plan: false,
    send: false,
    native: false,
    probe: false,
    wake: false,
    change: undefined,
    nextMs: undefined,
  })
  const [accepted] = await acceptTasks(db, [
    {
      task: {
        appId: 'app',
        audience: { kind: 'all' },
        strategy: 'nativepush_only',
        sequence: [],
        message: { ...sampleMessage(), showBegin: Math.floor(Date.now() / 1000) + 40_000 },
        ttl: 100,
      },
      mayRelease: () => false,
    },
  ])
  const { taskId } = accepted!
  const at = (seconds: number) => `now() + interval '${seconds} seconds'`
  /** The time until then, of which a part has passed. */
  const inLessThan = async (seconds: number) => {
    const { nextMs } = await findDueWork(db)
    expect(nextMs).toBeLessThanOrEqual(seconds * 1000)
    expect(nextMs).toBeGreaterThan((seconds - 5000) * 1000)
  }
  await inLessThan(40_001)
  await db.pool.query(
    `INSERT INTO inbox (task_id, device_id, app_id, expires_at) VALUES ($1, 1, 'app', ${at(30_000)})`,
    [taskId],
  )
  await inLessThan(30_000)
  await db.pool.query(`UPDATE inbox SET fallback_at = ${at(20_000)}`)
  await inLessThan(20_000)
  await db.pool.query(`INSERT INTO pause_change (task_id, align_at) VALUES ($1, ${at(10_000)})`, [taskId])
  await inLessThan(10_000)
  expect(await findDueWork(db)).toMatchObject({ plan: false, send: false, native: false })
  await db.pool.query('UPDATE pause_change SET align_at = now()')
  expect(await findDueWork(db)).toMatchObject({ plan: false, send: true, native: false })
  await db.pool.query('UPDATE inbox SET fallback_at = now()')
  expect(await findDueWork(db)).toMatchObject({ native: true })
  await db.pool.query('UPDATE task SET begin_at = now()')
  expect(await findDueWork(db)).toMatchObject({ plan: true })
})

const DAY = 86_400_000
const begins = (beginAt: string) =>
  db.pool.query(`UPDATE task SET state = 'accepted', begin_at = ${beginAt} WHERE app_id = 'older'`)
const addTask = (appId: string, daysAgo: number) =>
  db.pool.query(
    `INSERT INTO task (id, app_id, state, audience, strategy, sequence, message, lane, ttl, begin_at)
     VALUES (next_task_id() - ${daysAgo * DAY * 4096}::bigint, $1, 'accepted', '{"kind":"all"}', 'combined', '{}', '{}', 'normal', 100,
       now() + interval '1 hour')`,
    [appId],
  )

/** A task of an older day, and a process of its own, the first that looks for work, with a clock. */
async function withOlderTask() {
  await ensurePartitions(db, Date.now() - 5 * DAY)
  await db.pool.query(
    'DELETE FROM inbox; DELETE FROM pause_change; DELETE FROM task; DELETE FROM task_check; DELETE FROM open_days',
  )
  await addTask('older', 5)
  const clock = { now: 0 }
  jest.spyOn(performance, 'now').mockImplementation(() => clock.now)
  return { clock, fresh: { ...db, pool: new Proxy(db.pool, { get: (pool, key) => bound(pool, key) }) } }
}

it('looks at older days every five seconds, and when a task of them begins', async () => {
  const { clock, fresh } = await withOlderTask()
  expect(await findDueWork(fresh)).toMatchObject({ plan: false })
  // Begin times do not change, so this stands for whatever a look at the present days does not see.
  await begins('now()')
  expect(await findDueWork(fresh)).toMatchObject({ plan: false })
  clock.now += 5000
  expect(await findDueWork(fresh)).toMatchObject({ plan: true })
  expect(await findDueWork(fresh)).toMatchObject({ plan: true })

  await begins(`now() + interval '300 milliseconds'`)
  const { nextMs } = await findDueWork(fresh)
  expect(nextMs).toBeLessThanOrEqual(300)
  await db.pool.query(`UPDATE task SET begin_at = now()`)
  clock.now += 300
  expect(await findDueWork(fresh)).toMatchObject({ plan: true })
})

it('takes tasks of older days when the first of them is due, or has been for five seconds at most', async () => {
  const { clock, fresh } = await withOlderTask()
  await addTask('present', 0)
  await db.pool.query(`UPDATE task SET begin_at = now() WHERE app_id = 'present'`)
  const taken = async () => {
    const due = await takeDueTasks(fresh, { lane: 'normal', after: '', max: 64, except: [] })
    if (due) await giveBackDue(fresh, due.lease)
    return due?.tasks.map(({ appId }) => appId).sort()
  }
  expect(await taken()).toEqual(['present'])
  await begins('now()')
  expect(await taken()).toEqual(['present'])
  clock.now += 5000
  expect(await taken()).toEqual(['older', 'present'])
  expect(await taken()).toEqual(['older', 'present'])

  await begins(`now() + interval '1 hour'`)
  clock.now += 5000
  expect(await taken()).toEqual(['present'])
  clock.now += 3_600_000
  await begins('now()')
  expect(await taken()).toEqual(['older', 'present'])
})

function bound(pool: object, key: PropertyKey): unknown {
  const value = Reflect.get(pool, key)
  return typeof value === 'function' ? value.bind(pool) : value
}
