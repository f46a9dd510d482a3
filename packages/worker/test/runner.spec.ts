import type { ChannelAdapter, Limits, Transport } from '@herald/channels'
import { governorOf, saveCertificate } from '@herald/db/certificates'
import { bind, openPushTokens } from '@herald/db/devices'
import { erase } from '@herald/db/erasure'
import { findImbalances } from '@herald/db/readings'
import { createSealer, type Database, ensurePartitions, openDatabase } from '@herald/db/store'
import { claimBatches, taskFailures } from '@herald/db/tasks'
import { createApplication } from '@herald/db/tenants'
import { createCertificateCache } from '@herald/plan'
import { acceptPlan, type TestDatabase, testDatabase, until } from '@herald/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { createRunner } from '../src/runner.ts'
import { createTransports } from '../src/transports.ts'

let database: TestDatabase
let db: Database
let app: string
let certificateId: number
const sealer = createSealer(Buffer.alloc(32))
beforeAll(async () => {
  database = await testDatabase()
  db = openDatabase(database.url, { max: 5 })
  await ensurePartitions(db)
  const made = await createApplication(db, { name: 'runner', packageName: '' })
  if (made === 'taken') throw new Error('taken')
  app = made.appId
  const saved = await saveCertificate(db, sealer, {
    application: app,
    channel: 'apns',
    environment: 'production',
    name: '',
    appId: '',
    appKey: '',
    appSecret: '',
    certificate: '',
    extra: {},
  })
  certificateId = saved.id
})
afterAll(async () => {
  await db.close()
  await database.drop()
})
afterEach(async () => expect(await findImbalances(db)).toEqual([]))

/** A worker of a channel with one request per device, whose vendor is `send`. */
function workerWith(send: Transport<unknown>['send'], limits: Partial<Limits> = {}) {
  const adapter: ChannelAdapter = {
    name: 'apns',
    tokensPerCall: 1000,
    onePerDevice: true,
    readSettings: () => ({}),
    limits: () => ({ timeZone: 'UTC', ...limits }),
    defaultClass: () => 'marketing',
    mapPayload: () => ({}),
    checkToken: () => undefined,
    open: () => ({ send, check: async () => ({ ok: true }), close: async () => {} }),
  }
  return createRunner({
    db,
    certificates: createCertificateCache({ db, sealer, adapters: { apns: adapter } }),
    transports: createTransports(
      () => ({}) as never,
      () => {},
    ),
    channel: 'apns',
    worker: 'w',
    timeoutMs: 60_000,
    log: { info: () => {}, warn: () => {}, error: () => {} },
  })
}

async function addDevice(token: string): Promise<number> {
  const { rows } = await db.pool.query<{ id: number }>(
    'INSERT INTO device (app_id, guid, push_token) VALUES ($1, $2, $2) RETURNING id',
    [app, token],
  )
  const deviceId = rows[0]!.id
  await bind(db, { appId: app, deviceId, channel: 'apns', token, environment: 'production' })
  return deviceId
}
async function release(recipients: number[]) {
  const plan = { batches: [{ channel: 'apns' as const, certificateId, recipients, tried: [] }] }
  const { taskId, released } = await acceptPlan(db, app, plan)
  return {
    taskId,
    job: { certificateId: String(certificateId), batches: [{ taskId, id: released[0]!.id }] },
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
    await run({ certificateId: null, batches: batches.toReversed() })
    expect(sent).toEqual([])
    await run({ certificateId: String(certificateId), batches: batches.toReversed() })
    expect(sent).toEqual(['tenant'])
    expect(await states()).toEqual(['settled', 'released', 'released', 'released'])
    const native = { channel: 'native', certificateId: null, batches } as const
    const claimed = await claimBatches(db.pool, native, { seconds: 30, worker: 'gateway' })
    expect(claimed.map(({ channel }) => channel)).toEqual(['native'])
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
