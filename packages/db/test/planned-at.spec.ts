import type { Plan } from '@herald/domain'
import { sampleMessage } from '@herald/testkit/sample-message'
import { expect, it } from '@jest/globals'
import { acceptTasks, beginTasks, planPage, resolveSmallAudiences, takeDueTasks } from '../src/tasks/index.ts'
import { addApplication, addCertificate, useDatabase } from './setup.ts'

const db = useDatabase()

async function application() {
  const appId = await addApplication(db)
  const certificateId = await addCertificate(db, appId, 'fcm')
  const { rows } = await db.pool.query<{ id: number }>(
    `INSERT INTO device (app_id, guid, push_token, alias) VALUES ($1, 'phone', $1, 'alice') RETURNING id`,
    [appId],
  )
  const deviceId = rows[0]!.id
  const batch = { channel: 'fcm' as const, certificateId, recipients: [deviceId], tried: [] }
  return {
    deviceId,
    scope: { appId, audience: { kind: 'alias' as const, aliases: ['alice'] } },
    plans: {
      batch: { batches: [batch, { ...batch, certificateId: undefined }], inbox: [], unreachable: 0 },
      bundle: { batches: [batch], inbox: [], unreachable: 0 },
      inbox: { batches: [], inbox: [deviceId], unreachable: 0 },
    } satisfies Record<string, Plan>,
  }
}
const taskOf = (scope: Awaited<ReturnType<typeof application>>['scope']) => ({
  ...scope,
  strategy: 'combined' as const,
  sequence: [],
  message: sampleMessage(),
  ttl: 100,
})
const move = (deviceId: number) =>
  db.pool.query(`UPDATE device SET alias = 'bob', moved_at = clock_timestamp() WHERE id = $1`, [deviceId])

/** Whether the device got its present owner after the rows of the task were planned, so that workers drop it. */
async function isDropped(table: string, taskId: number, deviceId: number): Promise<boolean[]> {
  const { rows } = await db.pool.query<{ dropped: boolean }>(
    `SELECT DISTINCT d.moved_at > p.planned_at AS dropped FROM ${table} p, device d WHERE p.task_id = $1 AND d.id = $2`,
    [taskId, deviceId],
  )
  return rows.map(({ dropped }) => dropped)
}

const tables = ['batch', 'bundle', 'inbox'] as const

it.each(tables)('a %s of an accepted task is dropped if the owner changes after the read', async (table) => {
  const { scope, deviceId, plans } = await application()
  const { readAt } = await resolveSmallAudiences(db, [scope])
  await move(deviceId)
  const [accepted] = await acceptTasks(db, [
    { task: taskOf(scope), plan: plans[table], mayRelease: () => true, mayBundle: true, readAt },
  ])
  expect(await isDropped(table, accepted!.taskId, deviceId)).toEqual([true])
})

it.each(tables)('a %s of an accepted task is kept if the owner changed before the read', async (table) => {
  const { scope, deviceId, plans } = await application()
  await move(deviceId)
  const { readAt } = await resolveSmallAudiences(db, [
    { ...scope, audience: { kind: 'alias', aliases: ['bob'] } },
  ])
  expect(readAt).toBeDefined()
  const [accepted] = await acceptTasks(db, [
    { task: taskOf(scope), plan: plans[table], mayRelease: () => true, mayBundle: true, readAt },
  ])
  expect(await isDropped(table, accepted!.taskId, deviceId)).toEqual([false])
})

async function accept(scope: Parameters<typeof taskOf>[0]): Promise<number> {
  const [accepted] = await acceptTasks(db, [{ task: taskOf(scope), mayRelease: () => false }])
  return accepted!.taskId
}

it.each(['batch', 'inbox'] as const)(
  'a %s of a task that begins is dropped if the owner changes after the read',
  async (table) => {
    const { scope, deviceId, plans } = await application()
    const taskId = await accept(scope)
    await takeDueTasks(db, { lane: 'normal', after: '', max: 64, except: [] })
    const { readAt } = await resolveSmallAudiences(db, [scope])
    await move(deviceId)
    expect(await beginTasks(db, [{ taskId, plan: plans[table], readAt }])).toEqual(new Set([taskId]))
    expect(await isDropped(table, taskId, deviceId)).toEqual([true])
  },
)

it.each(['batch', 'inbox'] as const)(
  'a %s of a broadcast is dropped if the owner changes after the read',
  async (table) => {
    const { scope, deviceId, plans } = await application()
    const taskId = await accept(scope)
    await beginTasks(db, [{ taskId }])
    await planPage(db, { lane: 'normal', after: '', except: [] }, async () => {
      await move(deviceId)
      return { plan: plans[table], devices: 1 }
    })
    expect(await isDropped(table, taskId, deviceId)).toEqual([true])
    await db.pool.query(`UPDATE task SET state = 'finished' WHERE id = $1`, [taskId])
  },
)
