import { isUnsupported, type Recipient, type TransportDeps } from '@herald/channels'
import { adapter as apns } from '@herald/channels/apns'
import { bindActivity, takeActivities } from '@herald/db/devices'
import { findImbalances } from '@herald/db/readings'
import { claimBatches, taskFailures } from '@herald/db/tasks'
import type { Audience, Message } from '@herald/domain'
import { createCertificateCache } from '@herald/plan'
import { type ApnsSimulator, startApnsSimulator } from '@herald/simulators/apns'
import { newSigningKey } from '@herald/testkit'
import { acceptPlan } from '@herald/testkit/accept-plan'
import { sampleMessage } from '@herald/testkit/sample-message'
import { addApplication, addCertificate } from '@herald/testkit/sample-tenant'
import { useDatabase } from '@herald/testkit/use-database'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { createTransports } from '../src/transports.ts'
import { insertDevice, openWorker, sealer } from './harness.ts'

const bundleId = 'com.example.shop'
const [keyId, teamId] = ['ABC123DEFG', 'TEAM123456']
const key = newSigningKey()

const db = useDatabase({ max: 8 })
let app: string
let certificateId: number
let simulator: ApnsSimulator
const closers: (() => Promise<void>)[] = []

beforeAll(async () => {
  app = await addApplication(db, 'activities')
  simulator = await startApnsSimulator({ keys: [{ keyId, teamId, key }], strict: true })
  certificateId = await addCertificate(db, app, 'apns', certificate)
})
afterAll(async () => {
  for (const close of closers) await close()
  await simulator.close()
})
let seen = 0
beforeEach(() => {
  seen = simulator.received().length
})
/** What the simulator accepted in this test. */
const received = () => simulator.received().slice(seen)
afterEach(async () => expect(await findImbalances(db)).toEqual([]))

const certificate = {
  channel: 'apns' as const,
  environment: 'production' as const,
  name: '',
  appId: bundleId,
  appKey: keyId,
  appSecret: teamId,
  certificate: key,
  extra: {},
}

function transportDeps(): TransportDeps {
  const sessions = new Map<string, string>()
  return {
    urls: { apns: simulator.url } as TransportDeps['urls'],
    ca: simulator.ca,
    now: Date.now,
    timeoutMs: 60_000,
    async session(name, mint, stale) {
      const known = sessions.get(name)
      if (known !== undefined && known !== stale) return known
      const { value } = await mint()
      sessions.set(name, value)
      return value
    },
    holds: { find: () => undefined, isEmpty: () => true, add: () => {} },
    taskMemory: async (_task, _key, make) => make(),
  }
}

/** A worker with connections of its own, as one process has. */
function worker(): ReturnType<typeof openWorker> {
  const transports = createTransports(transportDeps, () => {}, { max: 100, idleMs: 3_600_000 })
  closers.push(() => transports.close())
  return openWorker({
    db,
    certificates: createCertificateCache({ db, sealer, adapters: { apns } }),
    transports,
  })
}

let made = 0
const newToken = () => (++made).toString(16).padStart(80, 'a')

async function addDevice(): Promise<{ deviceId: number; token: string }> {
  const token = newToken()
  return { deviceId: await insertDevice(db, app, token), token }
}

async function addActivity(name: string, deviceId?: number, kind: 'activity' | 'start' = 'activity') {
  const device = deviceId ?? (await addDevice()).deviceId
  const token = newToken()
  await bindActivity(db, { appId: app, deviceId: device, tokenGeneration: 0, kind, name, token })
  return { deviceId: device, token }
}

type Event = NonNullable<Message['ios']['liveActivity']>
const update = (stage: string, over: Partial<Event> = {}): Event => ({
  event: 'update',
  content_state: JSON.stringify({ stage }),
  ...over,
})

async function release(recipients: number[], liveActivity: Event, audience: Audience | string) {
  const { taskId, released } = await acceptPlan(
    db,
    app,
    { batches: [{ channel: 'apns', certificateId, recipients, tried: [] }] },
    {
      message: sampleMessage({ title: undefined, body: undefined, ios: { liveActivity } }),
      audience: typeof audience === 'string' ? { kind: 'activity', activities: [audience] } : audience,
    },
  )
  const batches = [{ taskId, id: released[0]!.id }]
  return { taskId, job: { certificateIds: [String(certificateId)], batches } }
}

async function countersOf(taskId: number) {
  const { rows } = await db.pool.query<Record<string, number>>(
    'SELECT target, sent, failed, expired FROM counter WHERE task_id = $1',
    [taskId],
  )
  return rows[0]
}
const reasonsOf = async (taskId: number) =>
  (await taskFailures(db, { appId: app }, taskId))?.map(({ fate, code, count }) => [fate, code, count])

const activitiesOf = async (deviceId: number) =>
  (
    await db.pool.query<{ name: string }>('SELECT name FROM activity WHERE device_id = $1 ORDER BY 1', [
      deviceId,
    ])
  ).rows.map(({ name }) => name)

/** What the device has been sent, oldest first. */
const shownOn = (token: string) =>
  received()
    .filter((push) => push.token === token)
    .map(({ body, ignored }) => {
      const { aps } = JSON.parse(body)
      return { stage: aps['content-state']?.stage, timestamp: aps.timestamp as number, ignored }
    })

describe('an update of a Live Activity', () => {
  it('is sent to the token of the activity, with topic and push type, and leaves badge and binding alone', async () => {
    const { deviceId, token } = await addActivity('order-1')
    const { taskId, job } = await release([deviceId], update('baking'), 'order-1')
    const before = await db.pool.query('SELECT value FROM badge WHERE device_id = $1', [deviceId])
    await worker()(job)
    expect(await countersOf(taskId)).toEqual({ target: 1, sent: 1, failed: 0, expired: 0 })
    const [push] = received()
    expect(push).toMatchObject({
      token,
      headers: {
        'apns-topic': `${bundleId}.push-type.liveactivity`,
        'apns-push-type': 'liveactivity',
        'apns-priority': '5',
      },
    })
    const { rows } = await db.pool.query<{ at: number }>(
      'SELECT floor(extract(epoch FROM begin_at))::float8 AS at FROM task WHERE id = $1',
      [taskId],
    )
    expect(JSON.parse(push!.body)).toEqual({
      aps: { timestamp: rows[0]!.at, event: 'update', 'content-state': { stage: 'baking' } },
      task_id: String(taskId),
    })
    expect((await db.pool.query('SELECT value FROM badge WHERE device_id = $1', [deviceId])).rows).toEqual(
      before.rows,
    )
  })

  it('is not sent if a newer one was: it expires with a reason', async () => {
    const { deviceId, token } = await addActivity('order-2')
    const older = await release([deviceId], update('accepted'), 'order-2')
    const newer = await release([deviceId], update('baking'), 'order-2')
    await worker()(newer.job)
    await worker()(older.job)
    expect(shownOn(token).map(({ stage }) => stage)).toEqual(['baking'])
    expect(await countersOf(older.taskId)).toEqual({ target: 1, sent: 0, failed: 0, expired: 1 })
    expect(await reasonsOf(older.taskId)).toEqual([['expired', 'herald.newer_activity_update', 1]])
    expect(await countersOf(newer.taskId)).toEqual({ target: 1, sent: 1, failed: 0, expired: 0 })
  })

  it('is not sent if its own timestamp is older, although it was accepted later', async () => {
    const { deviceId, token } = await addActivity('order-3')
    const now = Math.floor(Date.now() / 1000)
    const first = await release([deviceId], update('baking', { timestamp: now }), 'order-3')
    const second = await release([deviceId], update('accepted', { timestamp: now - 60 }), 'order-3')
    await worker()(first.job)
    await worker()(second.job)
    expect(shownOn(token)).toEqual([{ stage: 'baking', timestamp: now, ignored: undefined }])
    expect(await countersOf(second.taskId)).toMatchObject({ sent: 0, expired: 1 })
  })

  it('of one job is sent only if it is the newest of its activity', async () => {
    const { deviceId, token } = await addActivity('order-4')
    const tasks = []
    for (const stage of ['one', 'two', 'three'])
      tasks.push(await release([deviceId], update(stage), 'order-4'))
    await worker()({
      certificateIds: [String(certificateId)],
      batches: tasks.flatMap(({ job }) => job.batches),
    })
    expect(shownOn(token).map(({ stage }) => stage)).toEqual(['three'])
    expect(await Promise.all(tasks.map(async ({ taskId }) => (await countersOf(taskId))!.sent))).toEqual([
      0, 0, 1,
    ])
  })

  it('of a worker that was killed is ignored by the device if it arrives late, and not repeated', async () => {
    const { deviceId, token } = await addActivity('order-5')
    const older = await release([deviceId], update('accepted'), 'order-5')
    const newer = await release([deviceId], update('baking'), 'order-5')
    // The killed worker: it has claimed its batch and written its request, and nobody knows when that will arrive.
    const [claimed] = await claimBatches(
      db.pool,
      { channel: 'apns', ...older.job },
      { seconds: 30, worker: 'killed' },
    )
    const { rows } = await db.pool.query<{ at: number }>(
      'SELECT (extract(epoch FROM begin_at) * 1000)::float8 AS at FROM task WHERE id = $1',
      [older.taskId],
    )
    const taken = await takeActivities(db.pool, [
      { taskId: older.taskId, deviceIds: [deviceId], kind: 'activity', names: ['order-5'], at: rows[0]!.at },
    ])
    const [target] = [...taken.values()][0]!
    await worker()(newer.job)
    await sendLate(older.taskId, update('accepted'), { deviceId, token, timestamp: stampOf(target) })
    expect(shownOn(token).map(({ stage, ignored }) => [stage, ignored])).toEqual([
      ['baking', undefined],
      ['accepted', true],
    ])
    // Its lease ends, and another worker gets the batch.
    await db.pool.query(
      `UPDATE batch SET state = 'released', version = version + 1, lease_until = NULL, worker = NULL WHERE task_id = $1 AND id = $2`,
      [claimed!.taskId, claimed!.id],
    )
    await worker()(older.job)
    expect(shownOn(token)).toHaveLength(2)
    expect(await countersOf(older.taskId)).toEqual({ target: 1, sent: 0, failed: 0, expired: 1 })
  })

  it('never replaces a newer one, whatever the order in which several workers send', async () => {
    const { deviceId, token } = await addActivity('order-6')
    const tasks = []
    for (let stage = 0; stage < 24; stage++)
      tasks.push(await release([deviceId], update(String(stage)), 'order-6'))
    const workers = [worker(), worker(), worker()]
    const shuffled = tasks.map((task, i) => ({ task, place: (i * 7) % tasks.length }))
    shuffled.sort((a, b) => a.place - b.place)
    await Promise.all(shuffled.map(({ task }, i) => workers[i % 3]!(task.job)))
    const shown = shownOn(token).filter(({ ignored }) => !ignored)
    expect(shown.at(-1)!.stage).toBe('23')
    const stages = shown.map(({ stage }) => Number(stage))
    expect(stages).toEqual([...stages].sort((a, b) => a - b))
    const stamps = shown.map(({ timestamp }) => timestamp)
    expect(new Set(stamps).size).toBe(stamps.length)
    let [sent, expired] = [0, 0]
    for (const { taskId } of tasks) {
      const counters = (await countersOf(taskId))!
      sent += counters.sent!
      expired += counters.expired!
    }
    expect([sent, sent + expired]).toEqual([shownOn(token).length, 24])
  })

  it('keeps its place in the order when the app binds another token', async () => {
    const { deviceId } = await addActivity('order-7')
    const older = await release([deviceId], update('accepted'), 'order-7')
    const newer = await release([deviceId], update('baking'), 'order-7')
    await worker()(newer.job)
    const { token } = await addActivity('order-7', deviceId)
    await worker()(older.job)
    expect(shownOn(token)).toEqual([])
    expect(await countersOf(older.taskId)).toMatchObject({ expired: 1 })
  })
})

describe('tokens of Live Activities', () => {
  it('are removed when they are dead; the binding stays and the certificate is not suspected', async () => {
    const devices = await Promise.all(Array.from({ length: 25 }, () => addActivity('match-1')))
    simulator.kill(devices.map(({ token }) => token))
    const ids = devices.map(({ deviceId }) => deviceId).sort((a, b) => a - b)
    const { taskId, job } = await release(ids, update('goal'), 'match-1')
    await worker()(job)
    expect(await countersOf(taskId)).toEqual({ target: 25, sent: 0, failed: 25, expired: 0 })
    expect(await reasonsOf(taskId)).toEqual([['failed', 'apns.Unregistered', 25]])
    const { rows } = await db.pool.query(
      `SELECT (SELECT count(*)::int FROM activity WHERE name = 'match-1') AS activities,
         (SELECT count(*)::int FROM binding WHERE device_id = ANY($1)) AS bindings,
         (SELECT state FROM certificate WHERE id = $2) AS state`,
      [ids, certificateId],
    )
    expect(rows[0]).toEqual({ activities: 0, bindings: 25, state: 'open' })
  })

  it('are removed when the end of their activity was accepted; later updates fail with a reason', async () => {
    const { deviceId, token } = await addActivity('order-8')
    await addActivity('order-9', deviceId)
    const end = await release([deviceId], { event: 'end', dismissal_date: 1 }, 'order-8')
    await worker()(end.job)
    expect(await countersOf(end.taskId)).toMatchObject({ sent: 1 })
    expect(await activitiesOf(deviceId)).toEqual(['order-9'])
    const late = await release([deviceId], update('baking'), 'order-8')
    await worker()(late.job)
    expect(await countersOf(late.taskId)).toEqual({ target: 1, sent: 0, failed: 1, expired: 0 })
    expect(await reasonsOf(late.taskId)).toEqual([['failed', 'herald.no_activity_token', 1]])
    expect(shownOn(token)).toHaveLength(1)
  })

  it('of several listed activities of one device are all sent to; the device counts once', async () => {
    const one = await addActivity('leg-1')
    const two = await addActivity('leg-2', one.deviceId)
    const audience: Audience = { kind: 'activity', activities: ['leg-1', 'leg-2'] }
    const { taskId, job } = await release([one.deviceId], update('delayed'), audience)
    await worker()(job)
    expect(
      received()
        .map(({ token }) => token)
        .sort(),
    ).toEqual([one.token, two.token].sort())
    expect(await countersOf(taskId)).toEqual({ target: 1, sent: 1, failed: 0, expired: 0 })
    simulator.kill([two.token])
    const second = await release([one.deviceId], update('late'), audience)
    await worker()(second.job)
    expect(await countersOf(second.taskId)).toEqual({ target: 1, sent: 1, failed: 0, expired: 0 })
    expect(await activitiesOf(one.deviceId)).toEqual(['leg-1'])
  })

  it('start an activity: any number of starts, each with its attributes', async () => {
    const { deviceId, token } = await addActivity('OrderAttributes', undefined, 'start')
    const withoutToken = await addDevice()
    const start = (stage: string): Event => ({
      event: 'start',
      content_state: JSON.stringify({ stage }),
      attributes_type: 'OrderAttributes',
      attributes: '{"orderId":1001}',
      alert: { title: 'Order 1001', body: 'Accepted' },
    })
    const second = await release([deviceId], start('two'), { kind: 'all' })
    const first = await release([deviceId, withoutToken.deviceId], start('one'), { kind: 'all' })
    await worker()(first.job)
    await worker()(second.job)
    expect(await countersOf(first.taskId)).toEqual({ target: 2, sent: 1, failed: 1, expired: 0 })
    expect(await reasonsOf(first.taskId)).toEqual([['failed', 'herald.no_activity_token', 1]])
    expect(await countersOf(second.taskId)).toMatchObject({ sent: 1 })
    expect(received().map((push) => [push.token, push.headers['apns-priority']])).toEqual([
      [token, '10'],
      [token, '10'],
    ])
    expect(JSON.parse(received()[0]!.body).aps).toMatchObject({
      event: 'start',
      'attributes-type': 'OrderAttributes',
      attributes: { orderId: 1001 },
      'input-push-token': 1,
      alert: { title: 'Order 1001', body: 'Accepted' },
    })
  })
})

function stampOf(target: unknown): number {
  return (target as { stamp: number }).stamp
}

/** The request of the killed worker, as it was written. */
async function sendLate(taskId: number, liveActivity: Event, recipient: Recipient): Promise<void> {
  const settings = apns.readSettings({ id: 1, application: app, ...certificate })
  const message = sampleMessage({ title: undefined, body: undefined, ios: { liveActivity } })
  const task = {
    taskId,
    message,
    messageClass: 'service' as const,
    ttl: 100,
    applicationName: '',
    now: Math.floor(Date.now() / 1000),
  }
  const payload = apns.mapPayload(task, settings)
  if (isUnsupported(payload)) throw new Error(payload.unsupported)
  const transport = apns.open(settings, transportDeps())
  await transport.send(payload, [recipient], { signal: new AbortController().signal, report: () => {} })
  await transport.close()
}
