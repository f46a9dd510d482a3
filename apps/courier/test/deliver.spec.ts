import { claimWebhooks, moveOutbox, replayWebhook } from '@herald/db/events'
import { createWebhookPoster } from '@herald/outbound'
import { until } from '@herald/testkit'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { deliver } from '../src/deliver.ts'
import { createCourierMeters } from '../src/meters.ts'
import { startHarness, startReceiver } from './harness.ts'

describe('events to an application’s server', () => {
  let harness: Awaited<ReturnType<typeof startHarness>>
  let receiver: Awaited<ReturnType<typeof startReceiver>>
  let appId: string
  let webhookId: number

  beforeEach(async () => {
    harness = await startHarness()
    receiver = await startReceiver(() => harness.secretOf(webhookId))
    appId = await harness.addApplication()
  })
  afterEach(async () => {
    await harness.stop()
    await receiver.close()
  })
  const idle = () =>
    until(async () => {
      const { cursor, head, worker } = await harness.row(webhookId)
      return cursor > head && worker === null
    })

  it('sends each device of an event as an entry, signed, in order', async () => {
    webhookId = await harness.addWebhook(appId, receiver.url)
    const devices = await harness.addDevices(appId, 2500)
    const ids = devices.map(({ id }) => id)
    await harness.write(appId, [
      { devices: ids.slice(0, 1000), taskId: 7, campaign: 'spring' },
      { devices: ids.slice(1000, 2000), taskId: 7, campaign: 'spring' },
      {
        kind: 'device.failed',
        devices: ids.slice(2000),
        taskId: 7,
        campaign: 'spring',
        code: 'x.gone',
        text: 'Gone.',
      },
      {
        kind: 'task.finished',
        taskId: 7,
        campaign: 'spring',
        channel: '',
        detail: { sent: 2000, failed: 500 },
      },
    ])
    await harness.startCourier()
    await until(() => receiver.entries().length === 2501)
    await idle()

    const entries = receiver.entries()
    expect(entries.map(({ device_guid }) => device_guid)).toEqual([
      ...devices.map(({ guid }) => guid),
      undefined,
    ])
    expect(new Set(entries.map(({ id }) => id)).size).toBe(2501)
    expect(entries[0]).toEqual({
      id: expect.stringMatching(/^\d+-0$/),
      type: 'device.sent',
      at: expect.any(Number),
      task_id: 7,
      campaign: 'spring',
      channel: 'fcm',
      device_guid: devices[0]!.guid,
    })
    expect(entries[2400]).toMatchObject({ type: 'device.failed', code: 'x.gone', reason: 'Gone.' })
    expect(entries[2500]).toMatchObject({ type: 'task.finished', sent: 2000, failed: 500 })
    for (const { entries: list, text } of receiver.received) {
      expect(list.length).toBeLessThanOrEqual(1000)
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(512 * 1024)
    }
    expect(await harness.row(webhookId)).toMatchObject({ sent: 2501, last_status: 204, attempts: 0 })
  })

  it('leaves what it has composed ahead to the next turn, even if others stop waiting', async () => {
    webhookId = await harness.addWebhook(appId, receiver.url)
    const devices = await harness.addDevices(appId, 2500)
    await harness.write(appId, [{ devices: devices.map(({ id }) => id), taskId: 7 }])
    const { db, sealer, log, registry } = harness.context
    await moveOutbox(db)
    const [work] = await claimWebhooks(db, sealer, 'spec', { limit: 1, failing: false })
    const newPoster = () => createWebhookPoster({ mayCall: () => true })
    // Others wait when the first request is answered, and no longer when its result is noted.
    const others = [true]
    const isOver = () => others.shift() ?? false
    await deliver({ db, log, meters: createCourierMeters(db, registry), newPoster }, work!, isOver)
    expect(receiver.entries()).toHaveLength(1000)
    await harness.startCourier()
    await until(() => receiver.entries().length >= 2500)
    await idle()
    expect(receiver.entries().map(({ device_guid }) => device_guid)).toEqual(devices.map(({ guid }) => guid))
  })

  it('does not exceed 512 KiB in a request', async () => {
    webhookId = await harness.addWebhook(appId, receiver.url)
    const ids = (await harness.addDevices(appId, 300)).map(({ id }) => id)
    await harness.write(appId, [{ kind: 'device.failed', devices: ids, text: '推'.repeat(1500) }])
    await harness.startCourier()
    await until(() => receiver.entries().length === 300)
    expect(receiver.received.length).toBeGreaterThan(2)
    for (const { text } of receiver.received) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(512 * 1024)
    expect(new Set(receiver.entries().map(({ id }) => id)).size).toBe(300)
  })

  it('repeats a failed request with the same id and content, and loses nothing behind it', async () => {
    webhookId = await harness.addWebhook(appId, receiver.url)
    const ids = (await harness.addDevices(appId, 1500)).map(({ id }) => id)
    let failures = 0
    receiver.answerWith(() => (++failures <= 3 ? 500 : 200))
    await harness.write(appId, [{ devices: ids.slice(0, 1000) }, { devices: ids.slice(1000, 1300) }])
    await harness.startCourier()
    await until(() => receiver.received.length === 1)
    await until(async () => (await harness.row(webhookId)).attempts === 1)
    expect(await harness.row(webhookId)).toMatchObject({ last_status: 500, last_error: 'status 500' })
    // What happens in between must not become part of the repeated request.
    await harness.write(appId, [{ devices: ids.slice(1300) }])
    await until(() => receiver.received.length >= 4)
    await idle()
    const [first, second, third, fourth] = receiver.received
    for (const again of [second!, third!, fourth!]) {
      expect(again.id).toBe(first!.id)
      expect(again.text).toBe(first!.text)
    }
    const byId = new Map(receiver.entries().map((entry) => [entry.id, entry]))
    expect(byId.size).toBe(1500)
    expect(await harness.row(webhookId)).toMatchObject({ sent: 1500, attempts: 0, failing_since: null })
  })

  it('rests at once after 410, and after 72 hours of failures', async () => {
    webhookId = await harness.addWebhook(appId, receiver.url)
    receiver.answerWith(() => 410)
    await harness.write(appId, [{ kind: 'task.finished' }])
    await harness.startCourier()
    await until(async () => (await harness.row(webhookId)).rested_at !== null)
    expect(await harness.row(webhookId)).toMatchObject({ rest_reason: expect.stringContaining('410') })
    expect(receiver.received.length).toBe(1)

    receiver.answerWith(() => 503)
    await replayWebhook(harness.db, appId, webhookId, { event: 0, part: 0 }, { actor: 'spec' })
    await until(async () => (await harness.row(webhookId)).attempts >= 1)
    expect(await harness.row(webhookId)).toMatchObject({ rested_at: null })
    await harness.db.pool.query(
      `UPDATE webhook SET failing_since = now() - interval '73 hours', next_at = now() WHERE id = $1`,
      [webhookId],
    )
    await until(async () => (await harness.row(webhookId)).rested_at !== null)
    expect(await harness.row(webhookId)).toMatchObject({ rest_reason: expect.stringContaining('72 hours') })
    const before = receiver.received.length
    await harness.write(appId, [{ kind: 'task.finished' }])
    await until(async () => (await harness.row(webhookId)).head > 0)

    // Nothing was lost while it rested.
    receiver.answerWith(() => 200)
    await harness.addWebhook(appId, receiver.url, { name: 'hook-0' })
    await until(() => receiver.received.length > before)
    await idle()
    expect(new Set(receiver.entries().map(({ id }) => id)).size).toBe(2)
  })

  it('sends only what the webhook names, and only of its campaign', async () => {
    webhookId = await harness.addWebhook(appId, receiver.url, {
      events: ['device.clicked'],
      campaign: 'spring',
    })
    const [device] = await harness.addDevices(appId, 1)
    await harness.write(appId, [
      { kind: 'device.clicked', devices: [device!.id], campaign: 'autumn' },
      { kind: 'device.sent', devices: [device!.id], campaign: 'spring' },
      { kind: 'device.clicked', devices: [device!.id] },
      ...Array.from({ length: 1200 }, () => ({ kind: 'token.retired' })),
      { kind: 'device.clicked', devices: [device!.id], campaign: 'spring', taskId: 9 },
    ])
    const other = await harness.addApplication()
    await harness.write(other, [{ kind: 'device.clicked', campaign: 'spring', taskId: 8 }])
    await harness.startCourier()
    await until(() => receiver.entries().length > 0)
    await idle()
    expect(receiver.entries()).toMatchObject([{ type: 'device.clicked', task_id: 9, campaign: 'spring' }])
  })

  it('does not name a device that was erased', async () => {
    webhookId = await harness.addWebhook(appId, receiver.url)
    const [kept, erased] = await harness.addDevices(appId, 2)
    await harness.write(appId, [{ devices: [kept!.id, erased!.id] }])
    await harness.db.pool.query('DELETE FROM device WHERE id = $1', [erased!.id])
    await harness.startCourier()
    await until(() => receiver.entries().length === 2)
    expect(receiver.entries()[0]).toMatchObject({ device_guid: kept!.guid })
    expect(receiver.entries()[1]).not.toHaveProperty('device_guid')
    expect(receiver.received[0]!.text).not.toContain(erased!.guid)
  })

  it('replays from an event, with other request ids and the same entry ids', async () => {
    webhookId = await harness.addWebhook(appId, receiver.url)
    const ids = (await harness.addDevices(appId, 10)).map(({ id }) => id)
    await harness.write(appId, [{ devices: ids }, { kind: 'task.finished' }])
    await harness.startCourier()
    await until(() => receiver.entries().length === 11)
    await idle()
    const first = receiver.entries().map(({ id }) => id)
    const [event, part] = first[4]!.split('-').map(Number)
    await replayWebhook(harness.db, appId, webhookId, { event: event!, part: part! }, { actor: 'spec' })
    await until(() => receiver.entries().length === 11 + 7)
    await idle()
    expect(
      receiver
        .entries()
        .slice(11)
        .map(({ id }) => id),
    ).toEqual(first.slice(4))
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(receiver.received.length)
  })
})
