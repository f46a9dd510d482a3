import type { ChannelAdapter, Limits, Transport } from '@herald/channels'
import { closeCertificate } from '@herald/db/certificates'
import { findImbalances, taskCountersSql, taskStatesSql } from '@herald/db/readings'
import type { Database } from '@herald/db/store'
import { acceptTasks, cancelTask, endLostBundles, taskFailures } from '@herald/db/tasks'
import type { NewTask, Outcome } from '@herald/domain'
import { createCertificateCache } from '@herald/plan'
import { noonZone, until } from '@herald/testkit'
import { sampleMessage } from '@herald/testkit/sample-message'
import { addApplication, addCertificate } from '@herald/testkit/sample-tenant'
import { useDatabase } from '@herald/testkit/use-database'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { createAnswers } from '../src/answers.ts'
import { adapterWith, insertDevice, openWorker, sealer } from './harness.ts'

const db = useDatabase()
const timeZone = noonZone()
afterEach(async () => expect(await findImbalances(db)).toEqual([]))

type Send = Transport<unknown>['send']
type SendEach = NonNullable<Transport<unknown>['sendEach']>
function workerWith(
  send: Send,
  {
    limits = {} as Partial<Limits>,
    on = db,
    sendEach = undefined as SendEach | undefined,
    answers = createAnswers(db, () => {}),
    mapPayload = (({ taskId }) => ({ taskId })) as ChannelAdapter['mapPayload'],
  } = {},
) {
  const adapter = adapterWith({
    absoluteBadge: true,
    limits: () => ({ timeZone, ...limits }),
    mapPayload,
    open: () => ({
      send,
      ...(sendEach && { sendEach }),
      check: async () => ({ ok: true }),
      close: async () => {},
    }),
  })
  const certificates = createCertificateCache({ db, sealer, adapters: { apns: adapter } })
  return openWorker({ db: on, answers, certificates })
}

type Tenant = { appId: string; certificateId: number; device: number; token: string }
let made = 0
async function tenant(): Promise<Tenant> {
  const token = `tenant-${++made}`
  const appId = await addApplication(db, token)
  const certificateId = await addCertificate(db, appId, 'apns', { name: token })
  return { appId, certificateId, device: await insertDevice(db, appId, token), token }
}

/** Accepts one push for each tenant in one commit. */
async function push(tenants: readonly Tenant[], task: Partial<NewTask> = {}) {
  const accepted = await acceptTasks(
    db,
    tenants.map(({ appId, certificateId, device }) => ({
      task: {
        appId,
        audience: { kind: 'all' as const },
        strategy: 'ospush_only' as const,
        sequence: [],
        message: sampleMessage(),
        ttl: 100,
        ...task,
      },
      plan: {
        batches: [{ channel: 'apns' as const, certificateId, recipients: [device], tried: [] }],
        inbox: [],
        unreachable: 0,
      },
      mayRelease: () => true,
      mayBundle: true,
    })),
  )
  const [released] = accepted.flatMap((task) => task.released)
  return {
    tasks: accepted.map(({ taskId }) => taskId),
    job: { certificateIds: released!.certificateIds!.map(String), batches: [], bundle: released!.taskId },
  }
}
const tenants = async (count: number) => {
  const list: Tenant[] = []
  for (let n = 0; n < count; n++) list.push(await tenant())
  return list
}
const countersOf = async (taskId: number) =>
  (
    await db.pool.query(
      `SELECT c.target, c.sent, c.failed, c.moved, t.state FROM ${taskCountersSql} c JOIN ${taskStatesSql} t ON t.id = c.task_id
       WHERE c.task_id = $1`,
      [taskId],
    )
  ).rows[0]
const batchOf = async (taskId: number) =>
  (
    await db.pool.query('SELECT id, state, status, attempts, troubles FROM batch WHERE task_id = $1', [
      taskId,
    ])
  ).rows[0]
const rowOf = async (bundle: number) =>
  (await db.pool.query('SELECT state, status FROM bundle WHERE task_id = $1', [bundle])).rows[0]

/** Records the tokens it was asked to send to, and accepts all. */
function acceptingVendor(): { sent: string[]; send: Send } {
  const sent: string[] = []
  return {
    sent,
    send: async (_payload, targets, { report }) => {
      for (const [index, { token }] of targets.entries()) {
        sent.push(token)
        report(index, { kind: 'accepted' })
      }
    },
  }
}

describe('a job with a bundle', () => {
  it('is claimed, loaded, permitted and settled with one statement each', async () => {
    const list = await tenants(20)
    const { sent, send } = acceptingVendor()
    const run = workerWith(send, { limits: { requestsPerSecond: 1000 } })
    await run((await push(list)).job)
    sent.splice(0)
    const { tasks, job } = await push(list)
    const query = jest.spyOn(db.pool, 'query')
    await run(job)
    const names = (query.mock.calls as unknown as [{ name?: string }][]).map(
      ([statement]) => statement.name?.split('@')[0],
    )
    query.mockRestore()
    const own = ['claim-bundles', 'tokens', 'bundle-badges', 'permits', 'settle-bundles']
    expect(names.filter((name) => own.includes(name!)).sort()).toEqual([...own].sort())
    expect(names).not.toContain('tasks-by-id')
    expect(names).not.toContain('settle-plain')
    expect(sent.sort()).toEqual(list.map(({ token }) => token).sort())
    expect(await rowOf(job.bundle)).toEqual({ state: 'settled', status: 's'.repeat(20) })
    for (const task of tasks)
      expect(await countersOf(task)).toMatchObject({ target: 1, sent: 1, state: 'finished' })
  })

  it('reports what was sent, what the vendor did not decide and its last words', async () => {
    const list = await tenants(4)
    const [good, gone, busy, wrong] = list
    const outcomes: Record<string, Outcome> = {
      [good!.token]: { kind: 'accepted' },
      [gone!.token]: { kind: 'gone', reason: { code: 'apns.Unregistered', text: 'gone' } },
      [busy!.token]: { kind: 'throttled', reason: { code: 'apns.TooMany', text: 'slow' } },
      [wrong!.token]: { kind: 'rejected', reason: { code: 'apns.BadTopic', text: 'no' } },
    }
    const answers = createAnswers(db, () => {})
    const send: Send = async (_payload, targets, { report }) => report(0, outcomes[targets[0]!.token]!)
    await workerWith(send, { answers })((await push(list)).job)
    await answers.flush()
    const figuresOf = async ({ appId, certificateId }: Tenant) =>
      (
        await db.pool.query(
          `SELECT sum(sent)::int AS sent, sum(failed)::int AS failed, sum(answered)::int AS answered, sum(unanswered)::int AS unanswered,
             max(error_code) AS error FROM channel_minute WHERE app_id = $1 AND channel = 'apns' AND certificate_id = $2`,
          [appId, certificateId],
        )
      ).rows[0]
    expect(await figuresOf(good!)).toEqual({ sent: 1, failed: 0, answered: 1, unanswered: 0, error: null })
    // A dead token is an answer and no error of the vendor.
    expect(await figuresOf(gone!)).toEqual({ sent: 0, failed: 1, answered: 1, unanswered: 0, error: null })
    expect(await figuresOf(busy!)).toEqual({
      sent: 0,
      failed: 0,
      answered: 0,
      unanswered: 1,
      error: 'apns.TooMany',
    })
    expect(await figuresOf(wrong!)).toEqual({
      sent: 0,
      failed: 1,
      answered: 1,
      unanswered: 0,
      error: 'apns.BadTopic',
    })
    const query = jest.spyOn(db.pool, 'query')
    await answers.flush()
    expect(query).not.toHaveBeenCalled()
    query.mockRestore()
  })

  it('tells the vendor what is left of the ttl, 0 for a message that must not be stored, and the class', async () => {
    const list = await tenants(1)
    const told: Pick<Parameters<ChannelAdapter['mapPayload']>[0], 'ttl' | 'messageClass'>[] = []
    const run = workerWith(acceptingVendor().send, {
      mapPayload({ ttl, messageClass }) {
        told.push({ ttl, messageClass })
        return {}
      },
    })
    const inAnHour = `now() + interval '1 hour'`
    for (const task of [{ ttl: 86_400, messageClass: 'service' }, { ttl: 0 }] as const) {
      const { tasks, job } = await push(list, task)
      await db.pool.query(`UPDATE task SET deadline = ${inAnHour} WHERE id = ANY($1)`, [tasks])
      await db.pool.query(`UPDATE bundle SET deadline = ${inAnHour} WHERE task_id = $1`, [job.bundle])
      await run(job)
    }
    expect(told).toEqual([
      { ttl: expect.any(Number), messageClass: 'service' },
      { ttl: 0, messageClass: 'marketing' },
    ])
    expect(told[0]!.ttl).toBeGreaterThan(0)
    expect(told[0]!.ttl).toBeLessThanOrEqual(3600)
  })

  it('that is delivered twice, and to two workers, sends once', async () => {
    const { sent, send } = acceptingVendor()
    const { job } = await push(await tenants(3))
    const [one, two] = [workerWith(send), workerWith(send)]
    await Promise.all([one(job), two(job), one(job)])
    await two(job)
    expect(sent).toHaveLength(3)
  })

  it('leaves all that was not accepted to the ordinary code', async () => {
    const list = await tenants(4)
    const [, gone, busy, wrong] = list
    const run = workerWith(async (_payload, targets, { report }) => {
      const { token } = targets[0]!
      if (token === gone!.token)
        report(0, { kind: 'gone', reason: { code: 'apns.Unregistered', text: 'gone' } })
      else if (token === busy!.token)
        report(0, { kind: 'throttled', reason: { code: 'apns.TooMany', text: 'slow' } })
      else if (token === wrong!.token)
        report(0, { kind: 'rejected', reason: { code: 'apns.BadTopic', text: 'no' } })
      else report(0, { kind: 'accepted' })
    })
    const { tasks, job } = await push(list)
    await run(job)
    expect(await rowOf(job.bundle)).toEqual({ state: 'settled', status: 'smmm' })
    expect(await countersOf(tasks[0]!)).toMatchObject({ sent: 1, state: 'finished' })
    expect(await countersOf(tasks[1]!)).toMatchObject({ target: 1, sent: 0, failed: 1 })
    const { rowCount } = await db.pool.query('SELECT 1 FROM binding WHERE device_id = $1', [gone!.device])
    expect(rowCount).toBe(0)
    expect(await batchOf(tasks[2]!)).toMatchObject({
      id: 0,
      state: 'ready',
      status: '.',
      attempts: 1,
      troubles: 1,
    })
    expect(await taskFailures(db, { appId: wrong!.appId }, tasks[3]!)).toMatchObject([
      { fate: 'failed', code: 'apns.BadTopic', count: 1 },
    ])
  })

  it('lets the others be settled while a vendor hangs for one application', async () => {
    const list = await tenants(3)
    const answer = Promise.withResolvers<void>()
    const run = workerWith(async (_payload, targets, { report }) => {
      if (targets[0]!.token === list[1]!.token) await answer.promise
      report(0, { kind: 'accepted' })
    })
    const { tasks, job } = await push(list)
    const ran = run(job)
    await until(async () => (await rowOf(job.bundle)).status === 's.s', { what: 'the others to be settled' })
    expect(await countersOf(tasks[1]!)).toMatchObject({ sent: 0, state: 'sending' })
    // Also one that is cancelled now is written where its task is.
    expect(await cancelTask(db, { appId: list[1]!.appId }, tasks[1]!)).toBe('ok')
    answer.resolve()
    await ran
    expect(await countersOf(tasks[1]!)).toMatchObject({ target: 1, sent: 1 })
    expect(await rowOf(job.bundle)).toEqual({ state: 'settled', status: 'sms' })
  })

  it('of one certificate is sent with one call, each task with its own payload and result', async () => {
    const one = await tenant()
    const list = [one]
    for (let n = 1; n < 5; n++) {
      const token = `${one.token}-${n}`
      list.push({ ...one, device: await insertDevice(db, one.appId, token), token })
    }
    const { tasks, job } = await push(list)
    const calls: unknown[] = []
    const answer = Promise.withResolvers<void>()
    const run = workerWith(() => Promise.reject(new Error('a call for one task')), {
      async sendEach(payloads, recipients, { report }) {
        calls.push({ payloads, tokens: recipients.map(({ token }) => token) })
        for (const at of [0, 2]) report(at, { kind: 'accepted' })
        await answer.promise
        report(1, { kind: 'accepted' })
        report(3, { kind: 'rejected', reason: { code: 'apns.muted', text: 'muted' } })
        report(4, { kind: 'accepted' })
      },
    })
    const ran = run(job)
    await until(async () => (await rowOf(job.bundle)).status === 's.s..', { what: 'a partial settle' })
    // It leaves the bundle, so its result is written as that of a batch.
    expect(await cancelTask(db, one, tasks[1]!)).toBe('ok')
    answer.resolve()
    await ran
    expect(calls).toEqual([
      { payloads: tasks.map((taskId) => ({ taskId })), tokens: list.map(({ token }) => token) },
    ])
    expect(await rowOf(job.bundle)).toEqual({ state: 'settled', status: 'smsms' })
    for (const at of [0, 1, 2, 4])
      expect(await countersOf(tasks[at]!)).toMatchObject({ target: 1, sent: 1, failed: 0 })
    expect(await countersOf(tasks[3]!)).toMatchObject({ target: 1, sent: 0, failed: 1 })
    expect(await batchOf(tasks[1]!)).toMatchObject({ id: 0, state: 'settled', status: 's' })
  })

  it('puts off the tasks of certificates that the job may not run, and of closed ones', async () => {
    const list = await tenants(3)
    const [, waiting, closed] = list
    await closeCertificate(db, closed!.certificateId, { code: 'apns.x', text: 'refused' } as never)
    const { sent, send } = acceptingVendor()
    const { tasks, job } = await push(list)
    const certificateIds = job.certificateIds.filter((id) => id !== String(waiting!.certificateId))
    await workerWith(send)({ ...job, certificateIds })
    expect(sent).toEqual([list[0]!.token])
    expect(await batchOf(tasks[1]!)).toMatchObject({ state: 'ready', status: '.' })
    expect(await batchOf(tasks[2]!)).toMatchObject({ state: 'ready', status: '.' })
  })

  it('whose process dies after the claim is sent again as batches, with the same badge', async () => {
    const list = await tenants(2)
    const { tasks, job } = await push(list)
    const late = Promise.withResolvers<void>()
    const dying = workerWith(async (_payload, _targets, { report }) => {
      await late.promise
      report(0, { kind: 'accepted' })
    })
    const ran = dying(job)
    await until(
      async () =>
        (await db.pool.query('SELECT badges FROM bundle WHERE task_id = $1', [job.bundle])).rows[0].badges !==
        null,
      { what: 'the badges' },
    )
    // After the end of its lease, however late it renews it.
    const { rows } = await db.pool.query<{ at: string }>(`SELECT (now() + interval '1 hour')::text AS at`)
    expect(await endLostBundles(db, rows[0]!.at)).toBe(2)
    const numbers: (number | undefined)[] = []
    const run = workerWith(async (_payload, targets, { report }) => {
      numbers.push(targets[0]!.badge)
      report(0, { kind: 'accepted' })
    })
    await db.pool.query(`UPDATE batch SET state = 'released', released_at = now() WHERE task_id = ANY($1)`, [
      tasks,
    ])
    await run({ certificateIds: job.certificateIds, batches: tasks.map((taskId) => ({ taskId, id: 0 })) })
    expect(numbers).toEqual([1, 1])
    // It was only slow: its results come too late.
    late.resolve()
    await ran
    for (const task of tasks) expect(await countersOf(task)).toMatchObject({ target: 1, sent: 1 })
  })

  it.each(['settle-bundles', 'claim-bundles'])('sends once if the reply of %s is lost', async (lost) => {
    const { sent, send } = acceptingVendor()
    const { tasks, job } = await push(await tenants(2))
    let times = 0
    const query = async (statement: { name?: string }) => {
      const result = await db.pool.query(statement as never)
      if (statement.name?.startsWith(lost) && ++times === 1)
        throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
      return result
    }
    const on = { ...db, pool: { ...db.pool, query, connect: () => db.pool.connect() } } as unknown as Database
    await workerWith(send, { on })(job)
    expect(times).toBeGreaterThan(1)
    expect(sent).toHaveLength(2)
    for (const task of tasks) expect(await countersOf(task)).toMatchObject({ sent: 1, state: 'finished' })
  })

  it('counts messages per device and day in batches of their own', async () => {
    const list = await tenants(2)
    const { sent, send } = acceptingVendor()
    const run = workerWith(send, { limits: { perDevicePerDay: 1 } })
    const first = await push(list)
    await run(first.job)
    expect(sent).toHaveLength(2)
    expect(await rowOf(first.job.bundle)).toEqual({ state: 'settled', status: 'mm' })
    for (const task of first.tasks) expect(await countersOf(task)).toMatchObject({ target: 1, sent: 1 })
    const second = await push(list)
    await run(second.job)
    expect(sent).toHaveLength(2)
    for (const task of second.tasks)
      expect(await countersOf(task)).toMatchObject({ target: 1, sent: 0, failed: 1 })
  })
})
