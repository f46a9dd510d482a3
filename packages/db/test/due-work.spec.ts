import { sampleMessage } from '@herald/testkit'
import { expect, it } from '@jest/globals'
import { acceptTasks, findDueWork } from '../src/tasks/index.ts'
import { useDatabase } from './setup.ts'

const db = useDatabase()

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
