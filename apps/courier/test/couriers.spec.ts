import { createActivity } from '@herald/program'
import { startApp, until } from '@herald/testkit'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { startHarness, startReceiver } from './harness.ts'

describe('couriers under adversity', () => {
  let harness: Awaited<ReturnType<typeof startHarness>>
  let closings: (() => Promise<unknown>)[] = []
  let appId: string

  beforeEach(async () => {
    harness = await startHarness()
    appId = await harness.addApplication()
  })
  afterEach(async () => {
    await Promise.all(closings.map((close) => close()))
    closings = []
    await harness.stop()
  })
  /** An application's server with its webhook. */
  async function addReceiver(ofApp = appId) {
    const place = { webhookId: 0 }
    const receiver = await startReceiver(() => harness.secretOf(place.webhookId))
    closings.push(receiver.close)
    place.webhookId = await harness.addWebhook(ofApp, receiver.url)
    return { ...receiver, webhookId: place.webhookId }
  }
  const done = (webhookId: number) =>
    until(async () => {
      const { cursor, head, worker } = await harness.row(webhookId)
      return head > 0 && cursor > head && worker === null
    })

  it('repeats a request whose answer was not noted because the courier was killed', async () => {
    const receiver = await addReceiver()
    const ids = (await harness.addDevices(appId, 1500)).map(({ id }) => id)
    await harness.write(appId, [{ devices: ids.slice(0, 1000) }, { devices: ids.slice(1000, 1200) }])
    // It has the request and does not answer until the courier is dead.
    let hang = true
    receiver.answerWith(() => (hang ? () => {} : 200))
    const first = startApp('apps/courier/src/main.ts', harness.env)
    closings.push(() => first.stop('SIGKILL'))
    await until(() => receiver.received.length === 1)
    await first.stop('SIGKILL')
    hang = false
    // More has happened since.
    await harness.write(appId, [{ devices: ids.slice(1200) }])
    // Its lease ends.
    await harness.db.pool.query('UPDATE webhook SET lease_until = now() WHERE id = $1', [receiver.webhookId])
    await harness.startCourier()
    await until(() => receiver.entries().length >= 2500)
    await done(receiver.webhookId)
    const [before, after] = receiver.received
    expect(after!.id).toBe(before!.id)
    expect(after!.text).toBe(before!.text)
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(receiver.received.length - 1)
    expect(new Set(receiver.entries().map(({ id }) => id)).size).toBe(1500)
  })

  it('rests while nothing happens in its process, until something is noted', async () => {
    const receiver = await addReceiver()
    const [device] = await harness.addDevices(appId, 1)
    let quietMs = 60_000
    const { note, ...activity } = createActivity({ isAlone: true })
    const looks = jest.spyOn(harness.db.pool, 'query')
    const looked = () =>
      (looks.mock.calls as unknown as [{ name?: string }][]).filter(
        ([statement]) => statement.name === 'look-for-courier',
      ).length
    await harness.startCourier({ restMs: 3_600_000 }, { ...activity, note, quietMs: () => quietMs })
    await until(() => looked() === 1)
    await harness.write(appId, [{ devices: [device!.id] }])
    // What is noted may be committed a little later: it looks every second until nothing was noted for a while.
    quietMs = 0
    note()
    await until(() => receiver.entries().length === 1)
    await until(() => looked() > 3)
    await done(receiver.webhookId)
    // A webhook that failed waits for its next attempt: no note tells when that is.
    quietMs = 60_000
    receiver.answerWith(() => 500)
    await harness.write(appId, [{ devices: [device!.id] }])
    note()
    await until(async () => (await harness.row(receiver.webhookId)).attempts === 1)
    receiver.answerWith(() => 200)
    await harness.skipPause(receiver.webhookId)
    await done(receiver.webhookId)
    looks.mockRestore()
  })

  it('shares webhooks between couriers: each entry once, in the order of its task', async () => {
    const receivers = await Promise.all(Array.from({ length: 6 }, () => addReceiver()))
    const ids = (await harness.addDevices(appId, 40)).map(({ id }) => id)
    await Promise.all([harness.startCourier(), harness.startCourier()])
    for (let task = 1; task <= 30; task++)
      await harness.write(appId, [
        { taskId: task, devices: ids },
        { taskId: task, kind: 'device.received', devices: ids },
        { taskId: task, kind: 'task.finished' },
      ])
    for (const receiver of receivers) {
      await until(() => receiver.entries().length >= 30 * 81)
      await done(receiver.webhookId)
      const entries = receiver.entries()
      expect(new Set(entries.map(({ id }) => id)).size).toBe(30 * 81)
      expect(entries.length).toBe(30 * 81)
      for (let task = 1; task <= 30; task++) {
        const types = entries.filter(({ task_id }) => task_id === task).map(({ type }) => type)
        expect([...new Set(types)]).toEqual(['device.sent', 'device.received', 'task.finished'])
        expect(types.lastIndexOf('device.sent')).toBe(39)
        expect(types.indexOf('task.finished')).toBe(80)
      }
    }
  })

  it('adds to the stream while others lock it one after another', async () => {
    const { pool } = harness.db
    let isAdded = false
    const holders = Array.from({ length: 4 }, async () => {
      const client = await pool.connect()
      try {
        while (!isAdded)
          await client.query('BEGIN; SELECT last FROM event_head FOR UPDATE; SELECT pg_sleep(0.01); COMMIT')
      } finally {
        client.release()
      }
    })
    try {
      await harness.startCourier()
      await harness.write(appId, [{ kind: 'task.finished' }])
      const added = () => pool.query('SELECT 1 FROM event WHERE app_id = $1', [appId])
      await until(async () => (await added()).rowCount === 1)
    } finally {
      isAdded = true
      await Promise.all(holders)
    }
  })

  it('does not let a server that hangs delay others', async () => {
    const slow = await addReceiver()
    slow.answerWith(() => () => {})
    const fast = await addReceiver()
    await harness.write(appId, [{ kind: 'task.finished' }])
    await harness.startCourier({ limitMs: 600_000 })
    await until(() => slow.received.length === 1 && fast.received.length === 1)
    for (let task = 2; task <= 4; task++) {
      await harness.write(appId, [{ kind: 'task.finished', taskId: task }])
      await until(() => fast.entries().length === task)
    }
  })

  it('gives up a server that does not answer in time', async () => {
    const slow = await addReceiver()
    slow.answerWith(() => () => {})
    await harness.write(appId, [{ kind: 'task.finished' }])
    await harness.startCourier({ limitMs: 3_000 })
    await until(async () => (await harness.row(slow.webhookId)).last_error !== null)
    expect(await harness.row(slow.webhookId)).toMatchObject({
      last_error: 'no answer within 3 s',
      last_status: null,
    })
  })

  it('checks the address again with every request', async () => {
    const receiver = await addReceiver()
    await harness.db.pool.query('UPDATE webhook SET url = $2 WHERE id = $1', [
      receiver.webhookId,
      `http://hooks.example.com:${receiver.port}/`,
    ])
    // The address of the receiver counts as public here; the name changes to another one.
    let address = '127.0.0.1'
    await harness.startCourier({
      guard: { mayCall: (one) => one === '127.0.0.1', resolveName: async () => [address] },
    })
    await harness.write(appId, [{ kind: 'task.finished' }])
    await until(() => receiver.received.length === 1)
    await done(receiver.webhookId)

    address = '127.0.0.2'
    await harness.write(appId, [{ kind: 'task.finished', taskId: 2 }])
    await until(async () => (await harness.row(receiver.webhookId)).attempts >= 1)
    expect(await harness.row(receiver.webhookId)).toMatchObject({
      last_error: 'the url must not point to a private address',
    })
    expect(receiver.received.length).toBe(1)
    address = '127.0.0.1'
    await harness.skipPause(receiver.webhookId)
    await until(() => receiver.received.length === 2)
  })

  it('refuses private addresses unless the setting allows them, and follows no redirect', async () => {
    const strict = await startHarness({ HERALD_WEBHOOK_PRIVATE: 'off' })
    closings.push(strict.stop)
    const app = await strict.addApplication()
    const receiver = await startReceiver(() => '')
    closings.push(receiver.close)
    const webhookId = await strict.addWebhook(app, receiver.url)
    await strict.write(app, [{ kind: 'task.finished' }])
    await strict.startCourier()
    await until(async () => (await strict.row(webhookId)).last_error !== null)
    expect(receiver.received).toEqual([])

    const elsewhere = await addReceiver()
    const redirecting = await addReceiver()
    redirecting.answerWith(() => (response) => response.writeHead(307, { location: elsewhere.url }).end())
    await harness.write(appId, [{ kind: 'task.finished' }])
    await harness.startCourier()
    await until(async () => (await harness.row(redirecting.webhookId)).last_error !== null)
    expect(await harness.row(redirecting.webhookId)).toMatchObject({
      last_status: 307,
      last_error: 'status 307: redirects are not followed',
    })
    await done(elsewhere.webhookId)
    expect(elsewhere.received.length).toBe(1)
  })

  it('notes its figures', async () => {
    const gone = await addReceiver()
    gone.answerWith(() => 410)
    const good = await addReceiver()
    await harness.write(appId, [{ kind: 'task.finished' }])
    await harness.startCourier()
    await done(good.webhookId)
    await until(async () => (await harness.row(gone.webhookId)).rested_at !== null)
    // A courier counts the webhooks when it starts, and then only twice a minute.
    await harness.startCourier()
    // They are noted after the row of the webhook.
    for (const figure of [
      /herald_webhook_requests_total\{.*result="2xx".*\} 1/,
      /herald_webhook_requests_total\{.*result="4xx".*\} 1/,
      /herald_webhooks_rested_total\{.*cause="gone".*\} 1/,
      /herald_webhooks\{.*state="rested".*\} 1/,
      /herald_webhooks\{.*state="active".*\} 1/,
      /herald_events_total\{.*\} 1/,
    ])
      await until(async () => figure.test(await harness.context.registry.metrics()), { what: String(figure) })
  })
})
