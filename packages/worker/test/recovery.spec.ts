import type { CheckResult, Limits, SendContext, Transport } from '@herald/channels'
import { findImbalances } from '@herald/db/readings'
import { certificatesToWake, readyCertificates, releaseReady, wakeBatches } from '@herald/db/tasks'
import { type Outcome, PATIENCE_SECONDS, type RecoveryPauses } from '@herald/domain'
import { createCertificateCache } from '@herald/plan'
import { until } from '@herald/testkit'
import { acceptPlan } from '@herald/testkit/accept-plan'
import { addApplication, addCertificate } from '@herald/testkit/sample-tenant'
import { useDatabase } from '@herald/testkit/use-database'
import { afterEach, describe, expect, it } from '@jest/globals'
import { ANSWERS_WRITTEN_MS, createAnswers } from '../src/answers.ts'
import { adapterWith, insertDevice, openWorker, sealer } from './harness.ts'

const db = useDatabase({ max: 8 })
afterEach(async () => expect(await findImbalances(db)).toEqual([]))

// So long that a spec in which a pause matters cannot pass by waiting.
const pauses: RecoveryPauses = { probe: [3600], check: 3600, breaker: { first: 3600, max: 7200 } }
const window = { recipients: 20_000, batches: 400 }
const refused = { kind: 'misconfigured', reason: { code: 'fcm.refused', text: 'key revoked' } } as const
const silent = { kind: 'unavailable', reason: { code: 'fcm.http_503', text: 'HTTP 503' } } as const

type Vendor = {
  /** The outcome of every device; the default of `send`. */
  outcome?: Outcome
  send?: Transport<unknown>['send']
  check?: () => Promise<CheckResult>
  limits?: Partial<Limits>
}

/** A tenant whose vendor is `vendor`, which the spec may change. */
async function tenant(vendor: Vendor, channels: readonly ('fcm' | 'xiaomi')[] = ['fcm']) {
  const appId = await addApplication(db)
  const saved = await Promise.all(channels.map((channel) => addCertificate(db, appId, channel)))
  const id = saved[0]!
  const seen = { sends: 0, checks: 0, opened: 0, closed: 0 }

  const adapter = adapterWith({
    name: 'fcm',
    onePerDevice: false,
    limits: () => ({ timeZone: 'UTC', ...vendor.limits }),
    open() {
      seen.opened++
      return {
        async send(payload, recipients, context: SendContext) {
          seen.sends++
          if (vendor.send) return vendor.send(payload, recipients, context)
          for (const index of recipients.keys()) context.report(index, vendor.outcome!)
        },
        async check() {
          seen.checks++
          return vendor.check ? vendor.check() : { ok: true }
        },
        async close() {
          seen.closed++
        },
      }
    },
  })
  /** A worker process: it has its own cache, connections and counters. */
  const worker = ({
    warn = () => {},
    wait,
  }: {
    warn?: (fields: object, message: string) => void
    wait?: (ms: number) => Promise<void>
  } = {}) => {
    const answers = createAnswers(db, () => {})
    const certificates = createCertificateCache({
      db,
      sealer,
      adapters: { fcm: adapter, xiaomi: { ...adapter, name: 'xiaomi' } },
    })
    const log = { info: () => {}, warn, error: () => {} }
    const run = openWorker({ db, answers, wait, certificates, channel: 'fcm', pauses, log })
    return {
      answers,
      /** With certificates as they are now, unless `cached`: another process would see a change within a second. */
      run(batch: { taskId: number; id: number } | { taskId: number; id: number }[], { cached = false } = {}) {
        if (!cached) certificates.forget(appId)
        const batches = [batch].flat().map(({ taskId, id: batchId }) => ({ taskId, id: batchId }))
        return run({ certificateIds: [String(id)], batches })
      },
    }
  }
  const device = () => insertDevice(db, appId, `t${Math.random()}`, channels)
  return {
    id,
    appId,
    seen,
    worker,
    /** A task with one batch for one device. */
    async batch({ released = true } = {}) {
      const plan = {
        batches: [{ channel: 'fcm' as const, certificateId: id, recipients: [await device()], tried: [] }],
      }
      const { taskId } = await acceptPlan(db, appId, plan, { released, ttl: 86_400 })
      const { rows } = await db.pool.query<{ id: number }>('SELECT id FROM batch WHERE task_id = $1', [
        taskId,
      ])
      return { taskId, id: rows[0]!.id }
    },
    row: async () =>
      (await db.pool.query('SELECT * FROM certificate WHERE id = $1', [id])).rows[0] as Record<
        string,
        unknown
      >,
    breaker: async () =>
      (await db.pool.query('SELECT * FROM breaker WHERE certificate_id = $1', [id])).rows[0] as
        | { failures: number; opened_at: Date; retry_at: Date; text: string }
        | undefined,
    /** The next probe is due. */
    probeNow: () => db.pool.query('UPDATE breaker SET retry_at = now() WHERE certificate_id = $1', [id]),
    openSince: (seconds: number) =>
      db.pool.query(
        `INSERT INTO breaker (certificate_id, opened_at, failures, retry_at, code, text)
         VALUES ($1, now() - make_interval(secs => $2), 1, now() + interval '1 hour', 'fcm.http_503', 'HTTP 503')
         ON CONFLICT (certificate_id) DO UPDATE SET opened_at = excluded.opened_at`,
        [id, seconds],
      ),
    release: () => releaseReady(db, { certificateId: id }, window),
    isFed: async () => (await readyCertificates(db, 0)).found.includes(id),
  }
}
type Tenant = Awaited<ReturnType<typeof tenant>>

const batchRow = async ({ taskId }: { taskId: number }) =>
  (
    await db.pool.query(
      `SELECT state, not_before = 'infinity' AS waits, troubles, attempts FROM batch WHERE task_id = $1 AND channel = 'fcm'`,
      [taskId],
    )
  ).rows[0] as { state: string; waits: boolean; troubles: number; attempts: number }
const auditOf = async ({ appId }: Tenant) =>
  (await db.pool.query('SELECT actor, action, detail FROM audit WHERE app_id = $1 ORDER BY id', [appId])).rows

describe('a certificate whose requests are refused', () => {
  it('is closed when a check on a new connection is refused too, and its batches wait without cost', async () => {
    const a = await tenant({
      outcome: refused,
      check: async () => ({ ok: false, problem: 'revoked', temporary: false }),
    })
    const batch = await a.batch()
    await a.worker().run(batch)
    expect(await a.row()).toMatchObject({ state: 'closed', last_error: 'refused key revoked', probes: 0 })
    expect(await auditOf(a)).toMatchObject([
      {
        actor: 'herald',
        action: 'certificate.closed',
        detail: {
          channel: 'fcm',
          environment: 'production',
          code: 'fcm.refused',
          text: 'refused key revoked',
        },
      },
    ])
    expect(await batchRow(batch)).toMatchObject({ state: 'ready', waits: true })
    expect(await a.isFed()).toBe(false)
    expect(a.seen).toMatchObject({ sends: 1, checks: 1, opened: 2 })

    const later = await a.batch({ released: false })
    expect(await a.release()).toHaveLength(1)
    await a.worker().run(later)
    expect(await batchRow(later)).toMatchObject({ state: 'ready', waits: true })
    expect(a.seen.sends).toBe(1)
    expect((await certificatesToWake(db, 0)).found).not.toContain(a.id)
  })

  it.each<[string, CheckResult]>([
    ['is accepted', { ok: true }],
    ['cannot be made', { ok: false, problem: 'timeout', temporary: true }],
  ])('stays open when the check %s, and an accepted request ends the suspicion', async (_, result) => {
    const vendor: Vendor = { outcome: refused, check: async () => result }
    const a = await tenant(vendor)
    const worker = a.worker()
    const batch = await a.batch()
    await worker.run(batch)
    expect(await a.row()).toMatchObject({ state: 'open', refused_at: expect.any(Date) })
    expect(await batchRow(batch)).toMatchObject({ state: 'ready', waits: false, troubles: 1 })
    // The connections of the refused request are not used again.
    expect(a.seen).toMatchObject({ checks: 1, opened: 2, closed: 2 })

    vendor.outcome = { kind: 'accepted' }
    await worker.run(await a.batch(), { cached: true })
    expect(await a.row()).toMatchObject({ state: 'open', refused_at: null, probe_at: null })
  })

  it('stays open when a request is accepted before the check ends', async () => {
    const answer = Promise.withResolvers<CheckResult>()
    const vendor: Vendor = { outcome: refused, check: () => answer.promise }
    const a = await tenant(vendor)
    const batch = await a.batch()
    const running = a.worker().run(batch)
    await until(() => a.seen.checks === 1, { what: 'the check' })
    vendor.outcome = { kind: 'accepted' }
    await a.worker().run(await a.batch())
    answer.resolve({ ok: false, problem: 'revoked', temporary: false })
    await running
    expect(await a.row()).toMatchObject({ state: 'open', refused_at: null })
    expect(await batchRow(batch)).toMatchObject({ state: 'ready', waits: false })
  })

  it('is not even checked when another request of the same job was accepted', async () => {
    const a = await tenant({
      check: async () => ({ ok: false, problem: 'revoked', temporary: false }),
      send: async (_payload, _recipients, { report }) =>
        report(0, a.seen.sends === 1 ? refused : { kind: 'accepted' }),
    })
    const batches = [await a.batch(), await a.batch()]
    await a.worker().run(batches)
    const states = await Promise.all(batches.map(batchRow))
    expect(states.map(({ state }) => state).sort()).toEqual(['ready', 'settled'])
    expect(a.seen.checks).toBe(0)
    expect((await a.row()).state).toBe('open')
  })

  it('keeps its batches while the other channel of their devices is closed too, and gives them to it later', async () => {
    const a = await tenant({ outcome: refused }, ['fcm', 'xiaomi'])
    await db.pool.query(`UPDATE certificate SET state = 'closed' WHERE app_id = $1`, [a.appId])
    const batch = await a.batch()
    const channels = async () =>
      (await db.pool.query('SELECT channel FROM batch WHERE task_id = $1 ORDER BY 1', [batch.taskId])).rows
    await a.worker().run(batch)
    // Due at a time: nothing wakes it when only the other channel is opened.
    expect(await batchRow(batch)).toMatchObject({ state: 'ready', waits: false })
    expect(await a.isFed()).toBe(false)
    expect(await channels()).toEqual([{ channel: 'fcm' }])

    await db.pool.query(`UPDATE certificate SET state = 'open' WHERE app_id = $1 AND channel = 'xiaomi'`, [
      a.appId,
    ])
    await db.pool.query('UPDATE batch SET not_before = now() WHERE task_id = $1', [batch.taskId])
    await a.worker().run(await a.release())
    expect(await batchRow(batch)).toMatchObject({ state: 'settled' })
    expect(await channels()).toEqual([{ channel: 'fcm' }, { channel: 'xiaomi' }])
  })

  it('is checked by one worker at a time', async () => {
    const answer = Promise.withResolvers<CheckResult>()
    const a = await tenant({ outcome: refused, check: () => answer.promise })
    const running = [a.worker().run(await a.batch()), a.worker().run(await a.batch())]
    await Promise.race(running)
    await until(() => a.seen.checks === 1, { what: 'the check' })
    expect(a.seen).toMatchObject({ sends: 2, checks: 1 })
    answer.resolve({ ok: false, problem: 'revoked', temporary: false })
    await Promise.all(running)
    expect((await a.row()).state).toBe('closed')
  })
})

describe('a vendor that does not answer', () => {
  it('answers a request that was sent before the breaker was opened: it is closed, though nothing is left to send', async () => {
    let answer!: () => void
    const answered = new Promise<void>((resolve) => {
      answer = resolve
    })
    const vendor: Vendor = { outcome: silent }
    const a = await tenant(vendor)
    const worker = a.worker({ wait: async () => {} })
    vendor.send = async (_, recipients, context) => {
      await answered
      for (const index of recipients.keys()) context.report(index, { kind: 'accepted' })
    }
    const running = worker.run(await a.batch())
    await until(() => a.seen.sends === 1, { what: 'the request' })
    vendor.send = undefined
    for (let n = 0; n < 3; n++) await worker.run(await a.batch())
    expect(await a.breaker()).toBeDefined()
    answer()
    await running
    expect(await a.breaker()).toBeUndefined()
  })

  it('opens the breaker after three jobs in a row; an answer in between starts again', async () => {
    const vendor: Vendor = { outcome: silent }
    const a = await tenant(vendor)
    const worker = a.worker()
    const send = async (outcome: Outcome) => {
      vendor.outcome = outcome
      await worker.run(await a.batch())
    }
    await send(silent)
    await send(silent)
    await send({ kind: 'rejected', reason: silent.reason })
    await send(silent)
    await send(silent)
    expect(await a.breaker()).toBeUndefined()
    await send(silent)
    expect(await a.breaker()).toMatchObject({ failures: 1, text: 'HTTP 503' })
    await a.batch({ released: false })
    expect(await a.isFed()).toBe(false)
    expect(await a.release()).toEqual([])
  })

  it('is one warning in the log, with the tasks, however many of its jobs fail', async () => {
    const a = await tenant({ outcome: silent })
    const lines: object[] = []
    const worker = a.worker({ warn: (fields) => void lines.push(fields) })
    const first = await a.batch()
    await worker.run(first)
    for (let job = 0; job < 4; job++) await worker.run(await a.batch())
    expect(lines).toEqual([
      { reason: silent.reason, tasks: [first.taskId], taskCount: 1, certificateCount: 1 },
    ])
  })

  it('opens no breaker while it answers another worker: the silent one has lost its network', async () => {
    const vendor: Vendor = {}
    const a = await tenant(vendor)
    const healthy = a.worker()
    const cutOff = a.worker({
      // By then every other process has written its answers, if it does so in time.
      async wait(ms) {
        expect(ms).toBeGreaterThan(ANSWERS_WRITTEN_MS)
        await healthy.answers.flush()
      },
    })
    for (let round = 0; round < 4; round++) {
      vendor.outcome = silent
      await cutOff.run(await a.batch())
      vendor.outcome = { kind: 'accepted' }
      await healthy.run(await a.batch())
    }
    expect(await a.breaker()).toBeUndefined()
    vendor.outcome = silent
    for (let job = 0; job < 3; job++) await healthy.run(await a.batch())
    expect(await a.breaker()).toBeDefined()
  })

  it('does not open the breaker when it throttles, or answers with an unknown code', async () => {
    const vendor: Vendor = {}
    const a = await tenant(vendor)
    const worker = a.worker()
    for (const outcome of [
      { ...silent, kind: 'throttled' as const },
      { ...silent, maxTries: 9 },
    ]) {
      vendor.outcome = outcome
      for (let job = 0; job < 6; job++) await worker.run(await a.batch())
    }
    expect(await a.breaker()).toBeUndefined()
  })

  it('gets one call at a time from all workers, from any number of jobs that were queued before', async () => {
    const calls: SendContext[] = []
    const hang = Promise.withResolvers<void>()
    const a = await tenant({
      async send(_payload, _recipients, context) {
        calls.push(context)
        await hang.promise
        context.report(0, { kind: 'accepted' })
      },
    })
    const queued = await Promise.all(Array.from({ length: 8 }, () => a.batch()))
    await a.openSince(30)
    await a.probeNow()
    const workers = [a.worker(), a.worker()]
    const running = [workers[0]!.run(queued.slice(0, 3))]
    await until(() => calls.length === 1, { what: 'the probe' })
    running.push(
      workers[1]!.run(queued.slice(3, 6)),
      ...queued.slice(6).map((batch, n) => workers[n]!.run(batch)),
    )
    await until(
      async () =>
        (await Promise.all(queued.map(batchRow))).filter(({ state }) => state === 'ready').length === 7,
      {
        what: 'the others to be put back',
      },
    )
    expect(calls).toHaveLength(1)
    // Nothing more is released while the probe is in flight.
    expect(await a.release()).toEqual([])
    hang.resolve()
    await Promise.all(running)
    expect(calls).toHaveLength(1)
    expect(await a.breaker()).toBeUndefined()
    await db.pool.query(`UPDATE batch SET not_before = now() WHERE certificate_id = $1 AND state = 'ready'`, [
      a.id,
    ])
    expect(await a.release()).toHaveLength(7)
  })

  it('is probed with exactly one batch when it is time, with longer pauses as probes fail', async () => {
    const a = await tenant({ outcome: silent })
    await a.openSince(10)
    for (let i = 0; i < 3; i++) await a.batch({ released: false })
    for (let failures = 2; failures < 5; failures++) {
      await a.probeNow()
      await db.pool.query(`UPDATE batch SET not_before = now() WHERE certificate_id = $1`, [a.id])
      expect(await a.isFed()).toBe(true)
      const released = await a.release()
      expect(released).toHaveLength(1)
      expect(await a.release()).toEqual([])
      await a.worker().run(released)
      expect(await a.breaker()).toMatchObject({ failures })
      expect(await a.isFed()).toBe(false)
    }
    expect(a.seen.sends).toBe(3)
  })

  it('is probed within hours, whatever wait it asks for', async () => {
    const a = await tenant({ outcome: { ...silent, retryAfter: 999_999_999 } })
    const worker = a.worker()
    for (let job = 0; job < 3; job++) await worker.run(await a.batch())
    const { opened_at, retry_at } = (await a.breaker())!
    expect(retry_at.getTime() - opened_at.getTime()).toBeLessThanOrEqual(2 * 3600_000)
  })

  it('does not count the failures of batches that were claimed before the breaker was opened', async () => {
    const hang = Promise.withResolvers<void>()
    const a = await tenant({ send: () => hang.promise })
    const worker = a.worker()
    const jobs = await Promise.all(Array.from({ length: 8 }, () => a.batch()))
    const running = jobs.map((batch) => worker.run(batch))
    await until(() => a.seen.sends === 8, { what: 'the calls' })
    hang.reject(new Error('connection reset'))
    await Promise.all(running)
    expect(await a.breaker()).toMatchObject({ failures: 1 })
  })

  it('loses waiting batches to other channels once, after the patience, without a call; the rest wait and are probed', async () => {
    const a = await tenant({ outcome: silent })
    const both = await tenant({ outcome: silent }, ['fcm', 'xiaomi'])
    for (const one of [a, both]) await one.openSince(PATIENCE_SECONDS + 1)
    const [alone, other, movable] = [
      await a.batch({ released: false }),
      await a.batch({ released: false }),
      await both.batch({ released: false }),
    ]
    expect(await a.release()).toHaveLength(2)
    await a.worker().run([alone, other])
    expect(await both.release()).toHaveLength(1)
    await both.worker().run(movable)
    expect(a.seen.sends + both.seen.sends).toBe(0)
    expect(await batchRow(movable)).toMatchObject({ state: 'settled' })
    const { rows } = await db.pool.query(
      `SELECT state FROM batch WHERE task_id = $1 AND channel = 'xiaomi'`,
      [movable.taskId],
    )
    expect(rows).toEqual([{ state: 'ready' }])
    expect([await batchRow(alone), await batchRow(other)]).toMatchObject([
      { state: 'ready', waits: true },
      { state: 'ready', waits: true },
    ])
    expect(await a.isFed()).toBe(false)

    await a.probeNow()
    expect(await a.isFed()).toBe(true)
    const probe = await a.release()
    expect(probe).toHaveLength(1)
    await a.worker().run(probe)
    expect(a.seen.sends).toBe(1)
    expect(await batchRow(probe[0]!)).toMatchObject({ state: 'ready', waits: true })
  })

  it('wakes the waiting batches with its first answer', async () => {
    const vendor: Vendor = { outcome: { kind: 'accepted' } }
    const a = await tenant(vendor)
    await a.openSince(PATIENCE_SECONDS + 1)
    const batches = [await a.batch(), await a.batch()]
    await a.worker().run(batches)
    expect((await certificatesToWake(db, 0)).found).not.toContain(a.id)
    await a.probeNow()
    await a.worker().run(await a.release())
    expect(await a.breaker()).toBeUndefined()
    expect((await certificatesToWake(db, 0)).found).toContain(a.id)
    expect(await wakeBatches(db, a.id)).toEqual({ woken: 1, more: false })
    await a.worker().run(await a.release())
    expect((await Promise.all(batches.map(batchRow))).map(({ state }) => state)).toEqual([
      'settled',
      'settled',
    ])
  })

  it('keeps the results of a job when its breaker cannot be written', async () => {
    const a = await tenant({ outcome: { kind: 'accepted' } })
    const batch = await a.batch()
    await a.openSince(10)
    await a.probeNow()
    await db.pool.query(`
      CREATE FUNCTION refuse_delete() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$;
      CREATE TRIGGER refuse BEFORE DELETE ON breaker FOR EACH ROW EXECUTE FUNCTION refuse_delete()`)
    try {
      await a.worker().run(batch)
    } finally {
      await db.pool.query('DROP TRIGGER refuse ON breaker')
    }
    expect(await batchRow(batch)).toMatchObject({ state: 'settled' })
  })

  it('frees the probe when the batch has nobody to send to', async () => {
    const a = await tenant({ outcome: silent })
    const batch = await a.batch()
    await db.pool.query('DELETE FROM binding WHERE app_id = $1', [a.appId])
    await a.openSince(10)
    await a.probeNow()
    await a.worker().run(batch)
    await a.batch({ released: false })
    expect(await a.release()).toHaveLength(1)
  })
})

it('rejects a message after three calls with a code that no table contains', async () => {
  const a = await tenant({ outcome: { ...silent, maxTries: 3 } })
  const batch = await a.batch()
  const worker = a.worker()
  await worker.run(batch)
  for (let call = 2; call <= 3; call++) {
    expect(await batchRow(batch)).toMatchObject({ state: 'ready', troubles: call })
    await db.pool.query('UPDATE batch SET not_before = now() WHERE task_id = $1', [batch.taskId])
    await worker.run(await a.release())
  }
  expect(await batchRow(batch)).toMatchObject({ state: 'settled' })
  const { rows } = await db.pool.query('SELECT failed FROM counter WHERE task_id = $1', [batch.taskId])
  expect(rows).toEqual([{ failed: 1 }])
  expect(a.seen.sends).toBe(3)
})

it('does not count an outage before it among the three calls with such a code', async () => {
  const vendor: Vendor = { outcome: silent }
  const a = await tenant(vendor)
  const batch = await a.batch()
  const worker = a.worker()
  const runAgain = async () => {
    await db.pool.query('UPDATE batch SET not_before = now() WHERE task_id = $1', [batch.taskId])
    await worker.run(await a.release())
  }
  await worker.run(batch)
  await runAgain()
  vendor.outcome = { ...silent, maxTries: 3 }
  for (let call = 1; call <= 2; call++) {
    await runAgain()
    expect(await batchRow(batch)).toMatchObject({ state: 'ready' })
  }
  vendor.outcome = silent
  await runAgain()
  vendor.outcome = { ...silent, maxTries: 3 }
  await runAgain()
  expect(a.seen.sends).toBe(6)
  expect(await batchRow(batch)).toMatchObject({ state: 'settled' })
})

it('does not count a message of the day for a device that moves on because the quota is used up', async () => {
  const vendor: Vendor = { outcome: { kind: 'accepted' }, limits: { perDevicePerDay: 1, dailyQuota: 0 } }
  const a = await tenant(vendor, ['fcm', 'xiaomi'])
  const batch = await a.batch()
  await a.worker().run(batch)
  expect(await batchRow(batch)).toMatchObject({ state: 'settled' })
  const { rows } = await db.pool.query(
    `SELECT get_byte(c.counts, (b.recipients[1] & 255)::int) AS messages FROM batch b
     JOIN daily_count c ON c.channel = 'fcm' AND c.block = b.recipients[1] >> 8 WHERE b.task_id = $1 AND b.channel = 'fcm'`,
    [batch.taskId],
  )
  expect(rows).toEqual([{ messages: 0 }])
})
