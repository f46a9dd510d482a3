import type { ChannelAdapter, Limits, Transport } from '@herald/channels'
import { closeCertificate, governorOf, takePermits } from '@herald/db/certificates'
import { openPushTokens } from '@herald/db/devices'
import { erase } from '@herald/db/erasure'
import { findEventImbalances, findImbalances } from '@herald/db/readings'
import type { Database } from '@herald/db/store'
import { claimBatches, taskFailures } from '@herald/db/tasks'
import type { NewTask } from '@herald/domain'
import { createCertificateCache } from '@herald/plan'
import { noonZone, until } from '@herald/testkit'
import { acceptPlan } from '@herald/testkit/accept-plan'
import { sampleMessage } from '@herald/testkit/sample-message'
import { addApplication, addCertificate } from '@herald/testkit/sample-tenant'
import { useDatabase } from '@herald/testkit/use-database'
import { afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { createAnswers } from '../src/answers.ts'
import { adapterWith, insertDevice, openWorker, sealer } from './harness.ts'

const db = useDatabase()
const timeZone = noonZone()
let app: string
let certificateId: number
beforeAll(async () => {
  app = await addApplication(db, 'runner')
  certificateId = await addCertificate(db, app, 'apns')
})
afterEach(async () => expect(await findImbalances(db)).toEqual([]))

/** A worker of a channel with one request per device, whose vendor is `send`. */
function workerWith(
  send: Transport<unknown>['send'],
  limits: Partial<Limits> = {},
  onOpen: (settings: unknown) => void = () => {},
  mapPayload: ChannelAdapter['mapPayload'] = () => ({}),
) {
  const adapter = adapterWith({
    limits: (_settings, messageClass) => ({
      timeZone,
      ...limits,
      perDevicePerDay: messageClass === 'marketing' ? limits.perDevicePerDay : undefined,
    }),
    mapPayload,
    withdrawal: ({ taskId }) => ({ withdraws: taskId }),
    open(settings) {
      onOpen(settings)
      return { send, check: async () => ({ ok: true }), close: async () => {} }
    },
  })
  return openWorker({
    db,
    // A copy, so that it does not get its reports of changes from a look that another worker made before a tenant was added.
    certificates: createCertificateCache({ db: { ...db }, sealer, adapters: { apns: adapter } }),
  })
}

const addDevice = (token: string) => insertDevice(db, app, token)
async function release(devices: number[], message = sampleMessage(), task: Partial<NewTask> = {}) {
  const recipients = [...devices].sort((a, b) => a - b)
  const plan = { batches: [{ channel: 'apns' as const, certificateId, recipients, tried: [] }] }
  const { taskId, released } = await acceptPlan(db, app, plan, { message, ...task })
  return {
    taskId,
    job: { certificateIds: [String(certificateId)], batches: [{ taskId, id: released[0]!.id }] },
  }
}
const counted = async (taskId: number) =>
  (
    await db.pool.query(
      `SELECT c.sent, b.status, b.state FROM counter c JOIN batch b ON b.task_id = c.task_id WHERE c.task_id = $1`,
      [taskId],
    )
  ).rows[0] as { sent: number; status: string; state: string }

describe('a batch with one request per device', () => {
  it('is settled in parts while it is sent, each recipient once', async () => {
    const { taskId, job } = await release([await addDevice('prompt'), await addDevice('late')])
    const answer = Promise.withResolvers<void>()
    const run = workerWith(async (_payload, _recipients, { report }) => {
      report(0, { kind: 'accepted' })
      await answer.promise
      report(1, { kind: 'accepted' })
    })
    const running = run(job)
    await until(async () => (await counted(taskId)).sent === 1, { what: 'the first part' })
    expect(await counted(taskId)).toEqual({ sent: 1, status: 's.', state: 'sending' })
    answer.resolve()
    await running
    expect(await counted(taskId)).toEqual({ sent: 2, status: 'ss', state: 'settled' })
  })
})

describe('the vendor', () => {
  it('is told what is left of the ttl, 0 for a message that must not be stored, and the class', async () => {
    const recipients = [await addDevice('told')]
    const told: Pick<Parameters<ChannelAdapter['mapPayload']>[0], 'ttl' | 'messageClass'>[] = []
    const run = workerWith(
      async (_payload, _targets, { report }) => report(0, { kind: 'accepted' }),
      {},
      undefined,
      ({ ttl, messageClass }) => {
        told.push({ ttl, messageClass })
        return {}
      },
    )
    const inAnHour = `now() + interval '1 hour'`
    for (const task of [{ ttl: 86_400, messageClass: 'service' }, { ttl: 0 }] as const) {
      const { taskId, job } = await release(recipients, sampleMessage(), task)
      await db.pool.query(`UPDATE batch SET deadline = ${inAnHour} WHERE task_id = $1`, [taskId])
      await run(job)
    }
    expect(told).toEqual([
      { ttl: expect.any(Number), messageClass: 'service' },
      { ttl: 0, messageClass: 'marketing' },
    ])
    expect(told[0]!.ttl).toBeGreaterThan(0)
    expect(told[0]!.ttl).toBeLessThanOrEqual(3600)
  })
})

describe('a task with events of its devices', () => {
  it('has one entry per device that is counted, over parts, failures and retries; says why the others wait', async () => {
    const names = ['first', 'second', 'bad', 'slow', 'gone']
    const ids = await Promise.all(names.map((name) => addDevice(`events-${name}`)))
    const { taskId, job } = await release(ids, sampleMessage(), { events: 2 })
    await db.pool.query('UPDATE device SET enabled = false WHERE id = $1', [ids[4]])
    const answer = Promise.withResolvers<void>()
    const reason = (code: string) => ({ code: `apns.${code}`, text: code })
    const running = workerWith(async (_payload, recipients, { report }) => {
      const at = (name: string) => recipients.findIndex(({ token }) => token === `events-${name}`)
      report(at('first'), { kind: 'accepted' })
      await answer.promise
      report(at('second'), { kind: 'accepted' })
      report(at('bad'), { kind: 'rejected', reason: reason('bad') })
      report(at('slow'), { kind: 'throttled', reason: reason('slow'), retryAfter: 0 })
    })(job)
    await until(async () => (await counted(taskId)).sent === 1, { what: 'the first part' })
    answer.resolve()
    await running
    const whys = async () =>
      (await db.pool.query('SELECT whys FROM batch WHERE task_id = $1', [taskId])).rows[0].whys
    const place = (name: string) => {
      const sorted = [...ids].sort((a, b) => a - b)
      return sorted.indexOf(ids[names.indexOf(name)]!)
    }
    expect(await whys()).toEqual(
      expect.arrayContaining([
        { f: 'pending', c: 'apns.slow', t: 'slow', p: [place('slow')] },
        { f: 'failed', c: 'apns.bad', t: 'bad', p: [place('bad')] },
        expect.objectContaining({ f: 'expired', c: 'herald.device_disabled', p: [place('gone')] }),
      ]),
    )
    expect(await findEventImbalances(db, [taskId])).toEqual([])
    await db.pool.query(`UPDATE batch SET state = 'released' WHERE task_id = $1`, [taskId])
    await workerWith(async (_payload, _recipients, { report }) => report(0, { kind: 'accepted' }))(job)
    expect(await counted(taskId)).toMatchObject({ sent: 3, state: 'settled' })
    expect((await whys()).map(({ f }: { f: string }) => f).sort()).toEqual(['expired', 'failed'])
    expect(await findEventImbalances(db, [taskId])).toEqual([])
    const { rows } = await db.pool.query(
      `SELECT kind, code, d AS device FROM outbox, unnest(devices) d WHERE task_id = $1 ORDER BY kind, id, d`,
      [taskId],
    )
    const entry = (kind: string, name: string, code: string | null = null) => ({
      kind: `device.${kind}`,
      code,
      device: ids[names.indexOf(name)],
    })
    expect(rows).toEqual([
      entry('expired', 'gone', 'herald.device_disabled'),
      entry('failed', 'bad', 'apns.bad'),
      entry('sent', 'first'),
      entry('sent', 'second'),
      entry('sent', 'slow'),
    ])
  })
})

describe('a device that is disabled during a broadcast', () => {
  it('is not sent to and ends as expired', async () => {
    const ids = [await addDevice('enabled'), await addDevice('disabled')]
    const { taskId, job } = await release(ids)
    await db.pool.query('UPDATE device SET enabled = false WHERE id = $1', [ids[1]])
    const sent: string[] = []
    await workerWith(async (_payload, recipients, { report }) => {
      sent.push(...recipients.map(({ token }) => token))
      report(0, { kind: 'accepted' })
    })(job)
    expect(sent).toEqual(['enabled'])
    expect(await counted(taskId)).toEqual({ sent: 1, status: 'sx', state: 'settled' })
    expect(await taskFailures(db, { appId: app }, taskId)).toMatchObject([
      { fate: 'expired', code: 'herald.device_disabled', count: 1 },
    ])
  })
})

describe('a device that is erased during a broadcast', () => {
  it('ends as expired if it was not sent to yet, and leaves no sample', async () => {
    const tokens = await openPushTokens(db, sealer)
    const [kept, erased, erasedLate] = ['kept', 'erased', 'erased-late']
    const ids = [await addDevice(kept), await addDevice(erased), await addDevice(erasedLate)]
    const { taskId, job } = await release(ids)
    expect(await erase(db, tokens, app, { guid: erased })).toBe(1)
    const sent: string[] = []
    await workerWith(async (_payload, recipients, { report }) => {
      sent.push(...recipients.map(({ token }) => token))
      await erase(db, tokens, app, { guid: erasedLate })
      report(0, { kind: 'accepted' })
      report(1, { kind: 'gone', reason: { code: 'apns.Unregistered', text: '410 Unregistered' } })
    })(job)
    expect(sent).toEqual([kept, erasedLate])
    expect(await counted(taskId)).toEqual({ sent: 1, status: 'sxf', state: 'settled' })
    expect(await taskFailures(db, { appId: app }, taskId)).toMatchObject([
      { fate: 'failed', code: 'apns.Unregistered', count: 1 },
      { fate: 'expired', code: 'herald.device_removed', count: 1, samples: [] },
    ])
    const { rows } = await db.pool.query('SELECT token FROM retired_token WHERE device_id = ANY($1)', [ids])
    expect(rows).toEqual([])
  })
})

describe('a vendor that drops messages above a number per device and day', () => {
  it('is not sent more; the reason is in the failures, and what it did not take is not counted', async () => {
    const recipients = [await addDevice('capped'), await addDevice('refused-once')]
    const sent: string[][] = []
    let refusing = true
    const run = workerWith(
      async (_payload, targets, { report }) => {
        sent.push(targets.map(({ token }) => token))
        for (const [index, { token }] of targets.entries())
          report(
            index,
            token === 'refused-once' && refusing
              ? { kind: 'rejected', reason: { code: 'apns.no', text: 'no' } }
              : { kind: 'accepted' },
          )
      },
      { perDevicePerDay: 1 },
    )
    await run((await release(recipients)).job)
    refusing = false
    const second = await release(recipients)
    await run(second.job)
    expect(sent).toEqual([['capped', 'refused-once'], ['refused-once']])
    expect(await counted(second.taskId)).toEqual({ sent: 1, status: 'fs', state: 'settled' })
    expect(await taskFailures(db, { appId: app }, second.taskId)).toMatchObject([
      { code: 'herald.device_daily_limit', count: 1 },
    ])
    const third = await release(recipients)
    await run(third.job)
    expect(sent).toHaveLength(2)
  })
})

describe('a command', () => {
  it('neither counts for the day of a device nor is refused for it, as vendors count notifications only', async () => {
    const recipients = [await addDevice('commanded')]
    let calls = 0
    const run = workerWith(
      async (_payload, _targets, { report }) => {
        calls++
        report(0, { kind: 'accepted' })
      },
      { perDevicePerDay: 1 },
    )
    const command = async () => {
      const { taskId, job } = await release(recipients, sampleMessage({ type: 'cmd' }))
      await run(job)
      return (await counted(taskId)).sent
    }
    expect([await command(), await command()]).toEqual([1, 1])
    await run((await release(recipients)).job)
    const refused = await release(recipients)
    await run(refused.job)
    expect(await counted(refused.taskId)).toEqual({ sent: 0, status: 'f', state: 'settled' })
    expect(await command()).toBe(1)
    expect(calls).toBe(4)
  })
})

describe('a withdrawal', () => {
  it('has the payload of its own, and neither counts for the day of a device nor is refused for it', async () => {
    const recipients = [await addDevice('withdrawn')]
    const payloads: unknown[] = []
    const run = workerWith(
      async (payload, _targets, { report }) => {
        payloads.push(payload)
        report(0, { kind: 'accepted' })
      },
      { perDevicePerDay: 2 },
    )
    const first = await release(recipients)
    const withdrawal = () => sampleMessage({ recall: { taskId: first.taskId, withdraw: true } })
    await run((await release(recipients, withdrawal())).job)
    await run(first.job)
    await run((await release(recipients)).job)
    const refused = await release(recipients)
    await run(refused.job)
    await run((await release(recipients, withdrawal())).job)
    expect(await counted(refused.taskId)).toEqual({ sent: 0, status: 'f', state: 'settled' })
    const own = { withdraws: expect.any(Number) }
    expect(payloads).toEqual([own, {}, {}, own])
  })
})

describe('the usage of a day', () => {
  it('counts devices that the vendor took, not attempts', async () => {
    const { job } = await release([
      await addDevice('taken'),
      await addDevice('rejected'),
      await addDevice('later'),
    ])
    const run = workerWith(
      async (_payload, _targets, { report }) => {
        report(0, { kind: 'accepted' })
        report(1, { kind: 'rejected', reason: { code: 'apns.no', text: 'no' } })
        report(2, { kind: 'unavailable', reason: { code: 'apns.down', text: 'down' } })
      },
      { devicesPerSecond: 1000 },
    )
    await run(job)
    expect(await governorOf(db, app)).toMatchObject([{ used: 1 }])
  })
})

describe('a job', () => {
  it('cannot name batches of another certificate, channel or of the native channel', async () => {
    const recipients = [await addDevice('tenant')]
    const own = { channel: 'apns' as const, certificateId, recipients, tried: [] }
    const { taskId, released } = await acceptPlan(db, app, {
      batches: [
        own,
        { ...own, certificateId: certificateId + 1 },
        { ...own, channel: 'fcm' },
        { ...own, channel: 'native', certificateId: undefined, node: 'n' },
      ],
    })
    const sent: string[] = []
    const run = workerWith(async (_payload, targets, { report }) => {
      for (const [index, { token }] of targets.entries()) {
        sent.push(token)
        report(index, { kind: 'accepted' })
      }
    })
    const batches = released.map(({ id }) => ({ taskId, id }))
    const states = async () =>
      (await db.pool.query('SELECT state FROM batch WHERE task_id = $1 ORDER BY id', [taskId])).rows.map(
        ({ state }) => state as string,
      )
    // The foreign ones first: the certificate must not be that of the first batch.
    await run({ certificateIds: [], batches: batches.toReversed() })
    expect(sent).toEqual([])
    await run({ certificateIds: [String(certificateId)], batches: batches.toReversed() })
    expect(sent).toEqual(['tenant'])
    expect(await states()).toEqual(['settled', 'released', 'released', 'released'])
    const native = { channel: 'native', certificateIds: [], batches } as const
    const claimed = await claimBatches(db.pool, native, { seconds: 30, worker: 'gateway' })
    expect(claimed.map(({ channel }) => channel)).toEqual(['native'])
  })
})

describe('a job of several applications', () => {
  /** An application with a certificate and a device; its token is the name. */
  async function tenant(name: string) {
    const appId = await addApplication(db, name)
    const id = await addCertificate(db, appId, 'apns', { name })
    const device = await insertDevice(db, appId, name)
    const plan = {
      batches: [{ channel: 'apns' as const, certificateId: id, recipients: [device], tried: [] }],
    }
    const { taskId, released } = await acceptPlan(db, appId, plan)
    return { appId, certificateId: id, taskId, id: released[0]!.id }
  }
  const jobOf = (tenants: Awaited<ReturnType<typeof tenant>>[]) => ({
    certificateIds: tenants.map((one) => String(one.certificateId)),
    batches: tenants.map(({ taskId, id }) => ({ taskId, id })),
  })
  /** Statements by name. */
  function countStatements() {
    const names = new Map<string, number>()
    const query = jest.spyOn(db.pool, 'query')
    return {
      names() {
        for (const [statement] of query.mock.calls as unknown as [{ name?: string }][]) {
          const name = statement.name?.split('@')[0] ?? 'other'
          names.set(name, (names.get(name) ?? 0) + 1)
        }
        query.mockRestore()
        return Object.fromEntries(names)
      },
    }
  }

  it('is claimed, loaded, permitted and settled with one statement each; every batch is sent with its own certificate', async () => {
    const tenants = []
    for (let n = 0; n < 64; n++) tenants.push(await tenant(`many ${n}`))
    const sent: string[] = []
    const run = workerWith(
      async (_payload, targets, { report }) => {
        for (const [index, { token }] of targets.entries()) {
          sent.push(token)
          report(index, { kind: 'accepted' })
        }
      },
      { requestsPerSecond: 100 },
      (settings) => void sent.push(`opened ${(settings as { name: string }).name}`),
    )
    // So that the certificates are known, as they are in a worker that runs.
    await run(
      jobOf(await Promise.all(tenants.map(({ appId, certificateId }) => again(appId, certificateId)))),
    )
    const before = sent.splice(0)
    expect(before.filter((line) => line.startsWith('opened'))).toHaveLength(64)
    for (let n = 0; n < 64; n++) expect(before[before.indexOf(`opened many ${n}`) + 1]).toBe(`many ${n}`)
    const statements = countStatements()
    await run(jobOf(tenants))
    // These run by the clock.
    const timed = ['changes', 'add-answers', 'add-figures', 'renew']
    const names = Object.fromEntries(
      Object.entries(statements.names()).filter(([name]) => !timed.includes(name)),
    )
    expect(names).toEqual({ claim: 1, 'tasks-by-id': 1, tokens: 1, permits: 1, 'settle-plain': 1 })
    expect(new Set(sent).size).toBe(64)
    for (const { taskId } of tenants)
      expect(await counted(taskId)).toMatchObject({ sent: 1, state: 'settled' })
  })

  async function again(appId: string, id: number) {
    const { rows } = await db.pool.query<{ id: number }>('SELECT id FROM device WHERE app_id = $1', [appId])
    const plan = {
      batches: [{ channel: 'apns' as const, certificateId: id, recipients: [rows[0]!.id], tried: [] }],
    }
    const { taskId, released } = await acceptPlan(db, appId, plan)
    return { appId, certificateId: id, taskId, id: released[0]!.id }
  }

  it('does not wait for a vendor that hangs for one of them', async () => {
    const [prompt, hanging] = [await tenant('prompt tenant'), await tenant('hanging tenant')]
    const answer = Promise.withResolvers<void>()
    const run = workerWith(async (_payload, targets, { report }) => {
      if (targets[0]!.token === 'hanging tenant') await answer.promise
      report(0, { kind: 'accepted' })
    })
    const running = run(jobOf([hanging, prompt]))
    await until(async () => (await counted(prompt.taskId)).state === 'settled', { what: 'the prompt one' })
    expect(await counted(hanging.taskId)).toMatchObject({ sent: 0, state: 'sending' })
    answer.resolve()
    await running
    expect(await counted(hanging.taskId)).toMatchObject({ sent: 1, state: 'settled' })
  })

  it('sends the others if one is closed, one was removed and one cannot be loaded', async () => {
    const [closed, removed, broken, fine] = [
      await tenant('closed tenant'),
      await tenant('removed tenant'),
      await tenant('broken tenant'),
      await tenant('fine tenant'),
    ]
    await closeCertificate(db, closed.certificateId, { code: 'c', text: 't' })
    await db.pool.query('DELETE FROM certificate WHERE id = $1', [removed.certificateId])
    const query = db.pool.query.bind(db.pool)
    const failing = jest.spyOn(db.pool, 'query').mockImplementation((async (...args: unknown[]) => {
      const { name, values } = args[0] as { name?: string; values?: unknown[] }
      if (name?.startsWith('tasks-by-id') && JSON.stringify(values).includes(String(broken.taskId)))
        throw new Error('cannot be decoded')
      return query(...(args as [never]))
    }) as never)
    const sent: string[] = []
    const run = workerWith(async (_payload, targets, { report }) => {
      sent.push(targets[0]!.token)
      report(0, { kind: 'accepted' })
    })
    await expect(run(jobOf([closed, removed, broken, fine]))).rejects.toThrow('cannot be decoded')
    failing.mockRestore()
    expect(sent).toEqual(['fine tenant'])
    expect(await counted(fine.taskId)).toMatchObject({ sent: 1, state: 'settled' })
    expect(await counted(closed.taskId)).toMatchObject({ sent: 0, state: 'ready' })
    expect(await counted(removed.taskId)).toMatchObject({ status: 'f', state: 'settled' })
    expect(await counted(broken.taskId)).toMatchObject({ state: 'sending' })
    await run(jobOf([broken]))
  })

  it('retires no token of the others when one of them is suspect', async () => {
    const [suspect, good] = [await tenant('suspect tenant'), await tenant('good tenant')]
    await db.pool.query(
      `INSERT INTO token_window (certificate_id, minute, answered, gone) VALUES ($1, date_trunc('minute', now()), 30, 30)`,
      [suspect.certificateId],
    )
    const run = workerWith(async (_payload, _targets, { report }) =>
      report(0, { kind: 'gone', reason: { code: 'apns.Unregistered', text: '410' } }),
    )
    await run(jobOf([suspect, good]))
    const { rows } = await db.pool.query(
      'SELECT c.state, b.token FROM certificate c LEFT JOIN binding b ON b.app_id = c.app_id WHERE c.id = ANY($1) ORDER BY c.id',
      [[suspect.certificateId, good.certificateId]],
    )
    expect(rows).toEqual([
      { state: 'suspect', token: 'suspect tenant' },
      { state: 'open', token: null },
    ])
  })
})

describe('a token that the vendor reports as dead since a given time', () => {
  it('is kept if it was registered later, whenever the batch was claimed', async () => {
    const ids = [await addDevice('died before'), await addDevice('died after')]
    const { job } = await release(ids)
    await workerWith(async (_payload, recipients, { report }) => {
      for (const index of recipients.keys())
        report(index, {
          kind: 'gone',
          reason: { code: 'apns.Unregistered', text: '410 Unregistered' },
          since: Date.now() + (index === 0 ? -3_600_000 : 0),
        })
    })(job)
    const { rows } = await db.pool.query('SELECT device_id FROM binding WHERE device_id = ANY($1)', [ids])
    expect(rows).toEqual([{ device_id: ids[0] }])
  })
})

describe('answers about tokens', () => {
  afterEach(() => {
    jest.useRealTimers()
  })
  const gone = { kind: 'gone', reason: { code: 'apns.Unregistered', text: '410 Unregistered' } } as const
  const windowOf = async () =>
    (
      await db.pool.query(
        'SELECT sum(answered)::int AS answered, sum(gone)::int AS gone FROM token_window WHERE certificate_id = $1',
        [certificateId],
      )
    ).rows[0]

  it('do not make settles wait for each other, and are written with the next dead token', async () => {
    await db.pool.query('DELETE FROM token_window')
    const first = await release([await addDevice('good 1'), await addDevice('good 2')])
    const second = await release([await addDevice('good 3'), await addDevice('dead 1')])
    const run = workerWith(async (_payload, recipients, { report }) =>
      recipients.forEach(({ token }, i) => {
        report(i, token.startsWith('dead') ? gone : { kind: 'accepted' })
      }),
    )
    // As a settle whose commit waits for the disk.
    const other = await db.pool.connect()
    // The write that follows after a second must not come before that of the settle.
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'Date'] })
    try {
      await other.query('BEGIN')
      await other.query(
        `INSERT INTO token_window (certificate_id, minute, answered, gone)
         SELECT $1, date_trunc('minute', now()) + n * interval '1 minute', 0, 0 FROM generate_series(0, 2) n`,
        [certificateId],
      )
      await run(first.job)
      expect(await counted(first.taskId)).toMatchObject({ sent: 2, state: 'settled' })
    } finally {
      await other.query('ROLLBACK')
      other.release()
    }
    await run(second.job)
    expect(await windowOf()).toEqual({ answered: 4, gone: 1 })
  })

  it('are written once per second, and the rest at the end', async () => {
    await db.pool.query('DELETE FROM token_window')
    const answers = createAnswers(db, (error) => {
      throw error
    })
    answers.add(certificateId, 2)
    answers.add(certificateId, 3)
    answers.add(-1, 7)
    expect(answers.take(-1)).toBe(7)
    expect(answers.take(-1)).toBe(0)
    await until(async () => (await windowOf()).answered === 5, { what: 'the first write' })
    answers.add(certificateId, 4)
    await answers.flush()
    expect(await windowOf()).toEqual({ answered: 9, gone: 0 })
    expect(answers.take(certificateId)).toBe(0)
  })

  it('that could not be written are kept', async () => {
    const errors: unknown[] = []
    const broken = { ...db, pool: { query: () => Promise.reject(new Error('down')) } } as unknown as Database
    const answers = createAnswers(broken, (error) => errors.push(error))
    answers.add(certificateId, 2)
    await answers.flush()
    expect(errors).toHaveLength(1)
    expect(answers.take(certificateId)).toBe(2)
  })
})

describe('permits', () => {
  it('are committed without waiting for the disk', async () => {
    const client = await db.pool.connect()
    try {
      await client.query('BEGIN')
      const wanted = { certificateId, messageClass: 'marketing', want: { requests: 1, devices: 1 } } as const
      await takePermits({ ...db, pool: client } as unknown as Database, [
        { ...wanted, limits: { devicesPerSecond: 10, timeZone: 'UTC' } },
      ])
      const { rows } = await client.query('SHOW synchronous_commit')
      expect(rows).toEqual([{ synchronous_commit: 'off' }])
    } finally {
      await client.query('ROLLBACK')
      client.release()
    }
  })
})

describe('an outage of Postgres after the answer of the vendor', () => {
  it('loses no result: the reads for the next channel are repeated as long as the settle', async () => {
    const ids = await Promise.all(Array.from({ length: 10 }, (_, n) => addDevice(`outage ${n}`)))
    const { taskId, job } = await release(ids)
    const now = performance.now.bind(performance)
    let later = 0
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + later)
    const failures = new Map<string | undefined, number>()
    const query = db.pool.query.bind(db.pool)
    const failing = jest.spyOn(db.pool, 'query').mockImplementation((async (...args: unknown[]) => {
      const name = (args[0] as { name?: string }).name?.split('@')[0]
      const left = failures.get(name) ?? 0
      if (left === 0) return query(...(args as [never]))
      failures.set(name, left - 1)
      later += 8_000
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    }) as never)
    let calls = 0
    const run = workerWith(async (_payload, recipients, { report }) => {
      calls++
      for (const index of recipients.keys())
        report(
          index,
          index === 0
            ? { kind: 'gone', reason: { code: 'apns.Unregistered', text: '410 Unregistered' } }
            : { kind: 'accepted' },
        )
      // The devices, and what has changed of the certificates: each fails for 24 s.
      for (const name of ['devices-by-id', 'changes']) failures.set(name, 3)
    })
    try {
      await run(job)
    } finally {
      failing.mockRestore()
      clock.mockRestore()
    }
    expect([...failures.values()]).toEqual([0, 0])
    expect(calls).toBe(1)
    expect(await counted(taskId)).toEqual({ sent: 9, status: 'fsssssssss', state: 'settled' })
  })
})
