import { acceptPlan } from '@herald/testkit/accept-plan'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { joinNode, settleOrphans } from '../src/native/index.ts'
import type { Database } from '../src/store/index.ts'
import {
  certificatesToWake,
  dueCertificates,
  duePacedTasks,
  findDueWork,
  leaseTime,
  readyCertificates,
  settleEnded,
} from '../src/tasks/index.ts'
import { blocksRead, vacuumAnalyze } from './blocks-read.ts'
import { addApplication, addCertificate, useDatabase } from './setup.ts'

const db = useDatabase()
let app: string
let certificateId: number
let other: number
beforeAll(async () => {
  app = await addApplication(db)
  certificateId = await addCertificate(db, app, 'fcm')
  other = await addCertificate(db, app, 'oppo')
})
beforeEach(async () => {
  await db.pool.query('TRUNCATE task, batch, counter, pause_change, task_check, breaker, change')
})
afterEach(() => db.pool.query(`UPDATE certificate SET state = 'open', probe_at = NULL`))

const batchOf = (certificate: number) => ({
  channel: 'fcm' as const,
  certificateId: certificate,
  recipients: [1],
  tried: [],
})
/** A task with one batch each of these certificates that waits for the feeder. */
const ready = (certificates: number[], options: { speed?: number } = {}) =>
  acceptPlan(db, app, { batches: certificates.map(batchOf) }, { released: false, ttl: 86_400, ...options })
const dueIn = (notBefore: string, where = 'true') =>
  db.pool.query(`UPDATE batch SET not_before = ${notBefore} WHERE ${where}`)
const soon = `now() + interval '1 hour'`

const openBreakerOf = (id: number, { retryIn = '1 minute', openFor = '10 seconds' } = {}) =>
  db.pool.query(
    `INSERT INTO breaker (certificate_id, opened_at, failures, retry_at, code, text)
     VALUES ($1, now() - $2::interval, 1, now() + $3::interval, '', '')
     ON CONFLICT (certificate_id) DO UPDATE SET opened_at = excluded.opened_at, retry_at = excluded.retry_at`,
    [id, openFor, retryIn],
  )

/** Whether the feeder and the sweep are woken, and what a round of the feeder looks at. */
const look = async () => ({
  send: (await findDueWork(db)).send,
  certificates: await dueCertificates(db),
  tasks: await duePacedTasks(db),
})
const nothing = { send: false, certificates: [], tasks: [] }
/** What a walk finds, which is the whole truth. */
const walk = async () => (await readyCertificates(db, 0)).found

describe('batches that are ready', () => {
  it('are not due before their time, which is the next time that the planner looks', async () => {
    await ready([certificateId, other])
    expect(await look()).toEqual({ ...nothing, send: true, certificates: [certificateId, other] })
    await dueIn(soon)
    expect(await look()).toEqual(nothing)
    const { nextMs } = await findDueWork(db)
    expect(nextMs).toBeLessThanOrEqual(3_600_000)
    expect(nextMs).toBeGreaterThan(3_000_000)
    await dueIn('now()', `certificate_id = ${other}`)
    expect(await look()).toEqual({ ...nothing, send: true, certificates: [other] })
  })

  it('are not due while they wait for their certificate, are held, or are over', async () => {
    const { taskId } = await ready([certificateId])
    await dueIn(`'infinity'`)
    expect(await look()).toEqual(nothing)
    await dueIn('now()')
    await db.pool.query(`UPDATE batch SET state = 'held'`)
    expect(await look()).toEqual(nothing)
    await db.pool.query(`UPDATE batch SET state = 'settled'`)
    expect(await look()).toEqual(nothing)
    // A process that has not looked before: the last look is used for a while.
    const fresh = { ...db, pool: new Proxy(db.pool, {}) }
    expect((await findDueWork(fresh)).nextMs).toBeUndefined()
    await db.pool.query('DELETE FROM counter WHERE task_id = $1', [taskId])
  })

  it.each(['ready', 'held', 'paced'])('or %s are swept when they have expired', async (state) => {
    await ready([certificateId])
    await dueIn(`'infinity'`)
    await db.pool.query(`UPDATE batch SET state = $1, deadline = now() + interval '10 minutes'`, [state])
    expect(await look()).toEqual(nothing)
    expect((await findDueWork(db)).nextMs).toBeLessThanOrEqual(600_000)
    await db.pool.query(`UPDATE batch SET deadline = now()`)
    expect((await look()).send).toBe(true)
  })

  it.each(['released', 'sending', 'awaiting_ack'])('and %s are watched', async (state) => {
    await ready([certificateId])
    await db.pool.query(
      `UPDATE batch SET state = $1, released_at = now(), lease_until = now() + interval '1 hour'`,
      [state],
    )
    expect(await look()).toEqual({ ...nothing, send: true })
  })

  it('for a gateway are released at once, and those that are held are not looked at', async () => {
    await ready([certificateId])
    await db.pool.query(`UPDATE batch SET certificate_id = NULL, node = 'n', channel = 'native'`)
    expect((await look()).send).toBe(true)
    await db.pool.query(`UPDATE batch SET state = 'held'`)
    expect(await look()).toEqual(nothing)
  })

  it('are walked if more are due than one look reads, so that none hides another', async () => {
    await ready(Array(500).fill(certificateId))
    await ready([other])
    expect(await look()).toEqual({ ...nothing, send: true, certificates: undefined })
    expect(await walk()).toEqual([certificateId, other])
  })
})

describe('an open breaker', () => {
  it('lets nothing be due before its time and its patience', async () => {
    await ready([certificateId])
    await openBreakerOf(certificateId)
    expect(await look()).toEqual(nothing)
    expect((await findDueWork(db)).nextMs).toBeLessThanOrEqual(60_000)
    await openBreakerOf(certificateId, { retryIn: '0' })
    expect(await look()).toEqual({ ...nothing, send: true, certificates: [certificateId] })
    await openBreakerOf(certificateId, { openFor: '1 hour' })
    expect(await look()).toEqual({ ...nothing, send: true, certificates: [certificateId] })
    expect(await walk()).toEqual([certificateId])
  })

  it('does not hide what others have behind many batches', async () => {
    await ready(Array(500).fill(certificateId))
    await ready([other])
    await dueIn(`now() - interval '1 hour'`, `certificate_id = ${certificateId}`)
    await openBreakerOf(certificateId)
    expect(await look()).toEqual({ ...nothing, send: true, certificates: undefined })
    await db.pool.query(
      `DELETE FROM batch WHERE id = (SELECT id FROM batch WHERE certificate_id = $1 LIMIT 1)`,
      [certificateId],
    )
    await dueIn(soon, `certificate_id = ${other}`)
    expect(await look()).toEqual(nothing)
  })

  it('gets a probe of what waits for the certificate when its time has come, unless that is closed', async () => {
    await ready([certificateId])
    await dueIn(`'infinity'`)
    await openBreakerOf(certificateId, { openFor: '1 hour' })
    expect(await look()).toEqual(nothing)
    await openBreakerOf(certificateId, { retryIn: '-1 second', openFor: '1 hour' })
    expect(await look()).toEqual({ ...nothing, send: true, certificates: [certificateId] })
    expect(await walk()).toEqual([certificateId])
    await db.pool.query(`UPDATE certificate SET state = 'closed', probe_at = '9999-01-01' WHERE id = $1`, [
      certificateId,
    ])
    expect(await look()).toEqual(nothing)
  })

  it('without anything that waits is not due', async () => {
    await openBreakerOf(certificateId, { retryIn: '-1 second' })
    await ready([other])
    await dueIn(`'infinity'`)
    expect(await look()).toEqual(nothing)
  })
})

describe('batches with a speed limit', () => {
  it('are looked at by task, when they are due and their task may be sent', async () => {
    const { taskId } = await ready([certificateId, other], { speed: 10 })
    await dueIn(soon)
    expect(await look()).toEqual(nothing)
    expect((await findDueWork(db)).nextMs).toBeLessThanOrEqual(3_600_000)
    await dueIn('now()', `certificate_id = ${other}`)
    expect(await look()).toEqual({ ...nothing, send: true, tasks: [taskId] })
    await openBreakerOf(other)
    expect((await look()).send).toBe(false)
    await db.pool.query('UPDATE task SET cancelling = true')
    expect(await look()).toEqual({ ...nothing, send: true })
  })

  it('are woken for a probe when a breaker allows one', async () => {
    await ready([certificateId], { speed: 10 })
    await dueIn(`'infinity'`)
    await openBreakerOf(certificateId)
    expect(await findDueWork(db)).toMatchObject({ send: false, wake: false })
    await openBreakerOf(certificateId, { retryIn: '0' })
    expect(await findDueWork(db)).toMatchObject({ send: false, wake: true })
  })
})

describe('certificates', () => {
  it('that are closed are probed at their time', async () => {
    const close = (probeAt: string) =>
      db.pool.query(`UPDATE certificate SET state = 'closed', probe_at = ${probeAt} WHERE id = $1`, [other])
    await close(soon)
    expect((await findDueWork(db)).probe).toBe(false)
    expect((await findDueWork(db)).nextMs).toBeLessThanOrEqual(3_600_000)
    await close('now()')
    expect((await findDueWork(db)).probe).toBe(true)
  })

  it.each([
    ['opened', () => db.pool.query(`UPDATE certificate SET state = 'open' WHERE id = $1`, [certificateId])],
    ['free of their breaker', () => db.pool.query('DELETE FROM breaker')],
  ])('that are %s are noticed, so that what waits for them is woken', async (_, change) => {
    await openBreakerOf(certificateId)
    const before = (await findDueWork(db)).change
    expect((await findDueWork(db)).change).toBe(before)
    await change()
    expect((await findDueWork(db)).change).not.toBe(before)
  })
})

describe('an upgraded database', () => {
  it('is walked until the indexes by time are built', async () => {
    await ready([certificateId])
    await dueIn(soon)
    await db.pool.query(`INSERT INTO late_index VALUES ('batch_due', 'batch', '')`)
    const fresh = { ...db, pool: new Proxy(db.pool, {}) }
    expect((await findDueWork(fresh)).send).toBe(true)
    expect(await dueCertificates(fresh)).toBeUndefined()
    expect(await duePacedTasks(fresh)).toBeUndefined()
    await db.pool.query('DELETE FROM late_index')
  })
})

describe('work that waits', () => {
  /** Tasks of certificates of their own, with a batch that is ready, with a speed limit and held. */
  async function addWaiting(count: number) {
    for (const state of ['ready', 'paced', 'held'])
      await db.pool.query(
        `WITH added AS (
           INSERT INTO task (id, app_id, state, audience, strategy, sequence, message, lane, ttl, deadline, speed, paused)
           SELECT next_task_id(), $1, 'sending', '{"kind":"all"}', 'combined', '{}', '{}', 'normal', 100, now() + interval '1 day',
             CASE WHEN $2 = 'paced' THEN 10 END, $2 = 'held'
           FROM generate_series(1, $3::int) RETURNING id
         )
         INSERT INTO batch (task_id, app_id, channel, certificate_id, lane, state, size, recipients, status, deadline, not_before, node)
         SELECT id, $1, CASE WHEN $2 = 'held' THEN 'native' ELSE 'fcm' END, CASE WHEN $2 <> 'held' THEN 1000000 + n END, 'normal', $2, 1,
           '{1}', '.', now() + interval '1 day', CASE WHEN n % 2 = 0 THEN now() + interval '1 hour' ELSE 'infinity' END,
           CASE WHEN $2 = 'held' THEN 'there' END
         FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM added) a`,
        [app, state, count],
      )
    await vacuumAnalyze(db, 'batch, task')
  }
  /** What an idle planner does four times per second, and what it does when something else is sent. */
  async function idle(on: Database) {
    await findDueWork(on)
    await dueCertificates(on)
    await duePacedTasks(on)
    await settleEnded(on)
    await settleOrphans(on, await leaseTime(db), 20, async () => [])
  }

  it.each([false, true])('is not read by an idle planner (prepared: %s)', async (prepared) => {
    await joinNode(db, 'there', 3600)
    await addWaiting(10)
    const few = await blocksRead(db, idle, { prepared })
    await addWaiting(3000)
    expect(await look()).toEqual(nothing)
    const many = await blocksRead(db, idle, { prepared })
    const more = Object.entries(many).filter(([name, blocks]) => blocks > few[name]! + 40)
    expect(more.map(([name, blocks]) => [name, few[name], blocks])).toEqual([])
    // A walk looks at every certificate.
    const walked = await blocksRead(db, async (on) => [
      await readyCertificates(on, 0),
      await certificatesToWake(on, 0),
    ])
    expect(walked['ready-certificates']).toBeGreaterThan(many['due-certificates']! + 500)
  })
})
