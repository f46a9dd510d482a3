import type { ChannelAdapter, Transport } from '@herald/channels'
import { saveCertificate } from '@herald/db/certificates'
import { bind } from '@herald/db/devices'
import { findImbalances } from '@herald/db/readings'
import { createSealer, type Database, ensurePartitions, openDatabase } from '@herald/db/store'
import { createApplication } from '@herald/db/tenants'
import { createCertificateBook } from '@herald/plan'
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

/** A worker of a channel with one request a device, whose vendor is `send`. */
function workerWith(send: Transport<unknown>['send']) {
  const adapter: ChannelAdapter = {
    name: 'apns',
    tokensPerCall: 1000,
    onePerDevice: true,
    readSettings: () => ({}),
    limits: () => ({ timeZone: 'UTC' }),
    defaultClass: () => 'marketing',
    mapPayload: () => ({}),
    checkToken: () => undefined,
    open: () => ({ send, check: async () => ({ ok: true }), close: async () => {} }),
  }
  return createRunner({
    db,
    certificates: createCertificateBook({ db, sealer, adapters: { apns: adapter } }),
    transports: createTransports(
      () => ({}) as never,
      () => {},
    ),
    worker: 'w',
    timeoutMs: 60_000,
    log: { warn: () => {}, error: () => {} },
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
  return { taskId, job: { certificateId: null, batches: [{ taskId, id: released[0]!.id }] } }
}
const counted = async (taskId: number) =>
  (
    await db.pool.query(
      `SELECT c.sent, b.status, b.state FROM counter c JOIN batch b ON b.task_id = c.task_id WHERE c.task_id = $1`,
      [taskId],
    )
  ).rows[0] as { sent: number; status: string; state: string }

describe('a batch with one request a device', () => {
  it('is written down in parts while it is sent, each recipient once', async () => {
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

describe('a token that the vendor calls dead since a time', () => {
  it('stays if it was registered after that, however long ago the batch was claimed', async () => {
    const ids = [await addDevice('died before'), await addDevice('died after')]
    const { job } = await release(ids)
    await workerWith(async (_payload, recipients, { report }) => {
      for (const index of recipients.keys())
        report(index, {
          kind: 'gone',
          reason: '410 Unregistered',
          since: Date.now() + (index === 0 ? -3_600_000 : 0),
        })
    })(job)
    const { rows } = await db.pool.query('SELECT device_id FROM binding WHERE device_id = ANY($1)', [ids])
    expect(rows).toEqual([{ device_id: ids[0] }])
  })
})
