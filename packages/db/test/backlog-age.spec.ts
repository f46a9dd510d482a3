import { acceptPlan } from '@herald/testkit/accept-plan'
import { expect, it } from '@jest/globals'
import { readBacklog } from '../src/readings/index.ts'
import { makePacedReady, releaseReady } from '../src/tasks/index.ts'
import { addApplication, addCertificate, useDatabase } from './setup.ts'

const db = useDatabase()

it('the age of single pushes is that of the oldest, however many wait', async () => {
  const application = await addApplication(db)
  const certificateId = await addCertificate(db, application, 'fcm')
  const { taskId } = await acceptPlan(db, application, {
    batches: [{ channel: 'fcm', certificateId, recipients: [1], tried: [] }],
  })
  // More than a reading counts, and the oldest is stored last.
  await db.pool.query(
    `INSERT INTO batch (task_id, id, app_id, channel, certificate_id, lane, state, recipients, status, size, deadline, released_at, not_before)
     SELECT b.task_id, b.id + n, b.app_id, b.channel, b.certificate_id, b.lane, b.state, b.recipients, b.status, b.size, b.deadline, at, at
     FROM batch b CROSS JOIN generate_series(1, 45000) n
     CROSS JOIN LATERAL (SELECT now() - CASE WHEN n = 45000 THEN interval '60 seconds' ELSE interval '1 second' END) t (at)
     WHERE b.task_id = $1`,
    [taskId],
  )
  const { open, ages } = await readBacklog(db)
  expect(open).toEqual([{ channel: 'fcm', state: 'released', recipients: 20_000 }])
  expect(ages).toEqual([{ channel: 'fcm', seconds: expect.any(Number) }])
  expect(ages[0]!.seconds).toBeGreaterThanOrEqual(60)
})

it('the age of a batch with a speed limit begins when that allows it', async () => {
  const application = await addApplication(db)
  const certificateId = await addCertificate(db, application, 'oppo')
  const { taskId } = await acceptPlan(
    db,
    application,
    { batches: [{ channel: 'oppo', certificateId, recipients: [1], tried: [] }] },
    { released: false, speed: 10 },
  )
  await db.pool.query(`UPDATE batch SET not_before = now() - interval '10 days' WHERE task_id = $1`, [taskId])
  await db.pool.query('UPDATE task SET speed_tokens = speed WHERE id = $1', [taskId])
  const age = async () =>
    (await readBacklog(db)).ages.find(({ channel }) => channel === 'oppo')?.seconds ?? 'none'
  expect(await age()).toBe('none')
  expect(await makePacedReady(db, taskId)).toBe(1)
  expect(await age()).toBeLessThan(86_400)
  expect(await releaseReady(db, { certificateId }, { recipients: 1000, batches: 400 })).toHaveLength(1)
  expect(await age()).toBeLessThan(86_400)
})
