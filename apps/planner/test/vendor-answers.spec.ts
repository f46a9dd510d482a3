import { saveCertificate } from '@herald/db/certificates'
import { bind } from '@herald/db/devices'
import { recordReceipts, taskFailures } from '@herald/db/tasks'
import { pushQueue } from '@herald/queue'
import { until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Harness, plainMessage, startHarness } from './harness.ts'

describe("after the vendor's answer", () => {
  let harness: Harness
  /** Waits for the time limit of its call during the specs before its own. */
  let hung: number
  beforeAll(async () => {
    harness = await startHarness({ settings: { HERALD_SEND_TIMEOUT_SECONDS: '20' } })
    await harness.startPlanner()
    await harness.startWorkers()
    const app = await harness.addApplication('hung')
    await harness.addDevices(app, [{ tokens: { meizu: 'h:hang,accepted' } }])
    hung = await harness.notify(app)
  })
  afterAll(() => harness.stop())

  const bindings = async (app: string) =>
    (
      await harness.db.pool.query('SELECT token FROM binding WHERE app_id = $1 ORDER BY token', [app])
    ).rows.map((r) => r.token)
  const certificate = async (app: string, channel: string) =>
    (
      await harness.db.pool.query(
        'SELECT id, state, last_error FROM certificate WHERE app_id = $1 AND channel = $2',
        [app, channel],
      )
    ).rows[0] as { id: number; state: string; last_error: string }

  it('retires a token that the vendor reports as dead and falls back to the next channel', async () => {
    const app = await harness.addApplication('gone')
    await harness.addDevices(app, [
      { tokens: { xiaomi: 'x:gone', fcm: 'x:accepted' } },
      { tokens: { xiaomi: 'y:accepted' } },
    ])
    const task = await harness.notify(app)
    await harness.finished(task)
    expect(await harness.counters(task)).toEqual({
      xiaomi: { target: 2, sent: 1, moved: 1 },
      fcm: { target: 1, sent: 1 },
    })
    expect(await bindings(app)).toEqual(['x:accepted', 'y:accepted'])
    const retired = await harness.db.pool.query('SELECT token, reason FROM retired_token WHERE app_id = $1', [
      app,
    ])
    expect(retired.rows).toEqual([{ token: 'x:gone', reason: 'gone' }])
  })

  it('keeps a token that was registered again while it was being sent', async () => {
    const app = await harness.addApplication('again')
    const [device] = await harness.addDevices(app, [{ tokens: { xiaomi: 'z:gone' } }])
    const answer = harness.stub.hold('xiaomi')
    const first = await harness.notify(app, { message: plainMessage, speed: 1 })
    await until(async () => (await harness.ledger(first)).length === 1, { what: 'the call' })
    await harness.db.pool.query(
      `UPDATE binding SET registered_at = now() + interval '1 minute' WHERE device_id = $1`,
      [device],
    )
    answer()
    await harness.finished(first)
    expect(await bindings(app)).toEqual(['z:gone'])
  })

  it('retires nothing when more than half of at least twenty tokens are reported dead, and restores those retired before', async () => {
    const app = await harness.addApplication('many dead')
    await harness.addDevices(app, [
      ...Array.from({ length: 5 }, (_, i) => ({ tokens: { vivo: `early${i}:gone` }, alias: 'early' })),
      ...Array.from({ length: 30 }, (_, i) => ({ tokens: { vivo: `v${i}:${i % 3 ? 'gone' : 'accepted'}` } })),
    ])
    const early = await harness.notify(app, { audience: { kind: 'alias', aliases: ['early'] } })
    await harness.finished(early)
    expect((await bindings(app)).length).toBe(30)
    const task = await harness.notify(app)
    await harness.finished(task)
    // The worker does this after it has settled the batch.
    await until(async () => (await certificate(app, 'vivo')).state === 'suspect', { what: 'the suspicion' })
    expect((await bindings(app)).length).toBe(35)
    expect((await harness.counters(task)).vivo).toMatchObject({ target: 30, sent: 10, failed: 20 })
  })

  it('closes a channel whose certificate is refused, uses the others, and resumes when it is fixed', async () => {
    const app = await harness.addApplication('refused', { check: 'refused' })
    await harness.addDevices(app, [
      { tokens: { huawei: 'a:misconfigured,accepted' } },
      { tokens: { huawei: 'b:misconfigured,accepted', fcm: 'b:accepted' } },
    ])
    const task = await harness.notify(app)
    await until(async () => (await certificate(app, 'huawei')).state === 'closed', {
      what: 'closing',
    })
    await until(async () => (await harness.counters(task)).fcm?.sent === 1, {
      what: 'the fallback',
    })
    harness.certificates.forget(app)
    // A task planned while it is closed uses another channel, and waits where there is none.
    const second = await harness.notify(app)
    await until(async () => (await harness.counters(second)).fcm?.sent === 1, {
      what: 'the fallback',
    })
    expect((await harness.counters(second)).huawei).toEqual({ target: 1 })
    expect((await harness.ledger(second)).filter((entry) => entry.channel === 'huawei')).toEqual([])
    expect(await harness.imbalances()).toEqual([])

    // The stub's script restarts with each task, so the second one is refused once more, but the check is accepted now.
    await saveCertificate(harness.db, harness.sealer, {
      application: app,
      channel: 'huawei',
      environment: 'production',
      name: 'fixed',
      appId: 'a',
      appKey: 'k',
      appSecret: 'right',
      certificate: '',
      extra: {},
    })
    await harness.finished(task)
    expect((await harness.counters(task)).huawei).toEqual({ target: 2, sent: 1, moved: 1 })
    await harness.finished(second)
    expect((await harness.counters(second)).huawei).toEqual({ target: 1, sent: 1 })
    expect((await certificate(app, 'huawei')).state).toBe('open')
  })

  it('falls back to the next channel at once when a quota is used up, and waits where there is none', async () => {
    const app = await harness.addApplication('quota')
    await harness.addDevices(app, [
      { tokens: { oppo: 'a:quota', fcm: 'a:accepted' } },
      { tokens: { oppo: 'b:quota' } },
    ])
    const task = await harness.notify(app)
    await until(async () => (await harness.counters(task)).fcm?.sent === 1, {
      what: 'the fallback',
    })
    expect((await harness.counters(task)).oppo).toEqual({ target: 2, moved: 1 })
    expect(await harness.imbalances()).toEqual([])
  })

  it('sends again when the reply was lost: the only case of a second delivery', async () => {
    const app = await harness.addApplication('lost')
    await harness.addDevices(app, [{ tokens: { meizu: 'l:lost,accepted' } }])
    const task = await harness.notify(app)
    await harness.finished(task)
    expect(await harness.counters(task)).toEqual({ meizu: { target: 1, sent: 1 } })
    expect((await harness.ledger(task))[0]).toMatchObject({ accepted: 2 })
  })

  it('does not route to a channel that cannot carry the message', async () => {
    const app = await harness.addApplication('unsupported')
    await harness.addDevices(app, [
      { tokens: { fcm: 'u:accepted', oppo: 'u:accepted' } },
      { tokens: { oppo: 'w:accepted' } },
    ])
    const task = await harness.notify(app, { message: { ...plainMessage, title: 'not on oppo' } })
    await harness.finished(task)
    expect(await harness.counters(task)).toEqual({ fcm: { target: 1, sent: 1 } })
  })

  it('groups failures by reason with sample devices', async () => {
    const app = await harness.addApplication('reasons')
    await harness.addDevices(app, [
      ...Array.from({ length: 15 }, (_, i) => ({ tokens: { oppo: `${i}:rejected` } })),
      { tokens: { oppo: 'x:rejected', fcm: 'x:accepted' } },
    ])
    const task = await harness.notify(app)
    await harness.finished(task)
    const groups = await taskFailures(harness.db, { appId: app }, task)
    expect(
      groups!.map(({ channel, fate, reason, count, samples }) => [
        channel,
        fate,
        reason,
        count,
        samples.length,
      ]),
    ).toEqual([
      ['oppo', 'failed', 'stub says rejected', 15, 10],
      ['oppo', 'moved', 'stub says rejected', 1, 1],
    ])
    expect(groups![0]!.samples[0]!.deviceGuid).toMatch(/-/)
    expect(await taskFailures(harness.db, { appId: 'another' }, task)).toBeUndefined()
  })

  it('stops at the daily quota and moves the others to the next channel', async () => {
    const app = await harness.addApplication('daily', { limits: { dailyQuota: 30 } })
    await harness.addDevices(
      app,
      Array.from({ length: 50 }, (_, i) => ({ tokens: { fcm: `f${i}:rejected`, honor: `${i}:accepted` } })),
    )
    const task = await harness.notify(app)
    await until(async () => (await harness.counters(task)).fcm?.target === 20, {
      what: 'the fallback after the quota',
    })
    expect((await harness.counters(task)).honor).toEqual({ target: 50, sent: 30, moved: 20 })
  })

  it('does not use up the daily quota with attempts that failed', async () => {
    const app = await harness.addApplication('asked again', { limits: { dailyQuota: 30 } })
    await harness.addDevices(
      app,
      Array.from({ length: 20 }, (_, i) => ({ tokens: { honor: `${i}:unavailable,accepted` } })),
    )
    const task = await harness.notify(app)
    await harness.finished(task)
    expect(await harness.counters(task)).toEqual({ honor: { target: 20, sent: 20 } })
  })

  it('counts a receipt once per device and task, on the channel that sent it, and only for recipients', async () => {
    const app = await harness.addApplication('receipts')
    const [a, b, stranger] = await harness.addDevices(app, [
      { tokens: { huawei: 'a:rejected', fcm: 'a:accepted' } },
      { tokens: { huawei: 'b:unavailable,unavailable,accepted' } },
      {},
    ])
    const task = await harness.notify(app)
    const receipt = (deviceId: number, extra: object = {}) => ({
      appId: app,
      taskId: task,
      deviceId,
      event: 'received' as const,
      ...extra,
    })
    // This receipt is early: the batch of b is not settled yet.
    expect(await recordReceipts(harness.db, [receipt(b!, { channel: 'huawei' })])).toBe(1)
    await harness.finished(task)
    expect(
      await recordReceipts(harness.db, [
        receipt(a!),
        receipt(a!),
        receipt(a!, { event: 'clicked' }),
        receipt(b!),
        receipt(stranger!),
        receipt(a!, { channel: 'xiaomi' }),
        receipt(b!, { appId: 'another' }),
      ]),
    ).toBe(1)
    expect(await recordReceipts(harness.db, [receipt(a!), receipt(b!, { event: 'clicked' })])).toBe(0)
    const counters = await harness.counters(task)
    expect(counters.fcm).toEqual({ target: 1, sent: 1, received: 1 })
    expect(counters.huawei).toEqual({ target: 2, sent: 1, moved: 1, received: 1 })
    const clicks = await harness.db.pool.query(
      'SELECT device_id FROM receipt WHERE task_id = $1 AND clicked_at IS NOT NULL ORDER BY 1',
      [task],
    )
    expect(clicks.rows.map((row) => row.device_id)).toEqual([a, b])
  })

  it('sends each device its own absolute badge, increased once per task despite retries', async () => {
    const app = await harness.addApplication('badges')
    const ids = await harness.addDevices(app, [
      { platform: 'ios', tokens: { apns: 'a:accepted' } },
      { platform: 'ios', tokens: { apns: 'b:unavailable,accepted' } },
    ])
    const badgesOf = async (task: number) => {
      await harness.finished(task)
      return Object.fromEntries((await harness.ledger(task)).map((entry) => [entry.token[0], entry.badge]))
    }
    expect(await badgesOf(await harness.notify(app))).toEqual({ a: 1, b: 1 })
    expect(
      await badgesOf(
        await harness.notify(app, { message: { ...plainMessage, badge: { kind: 'add', count: 4 } } }),
      ),
    ).toEqual({ a: 5, b: 5 })
    expect(
      await badgesOf(
        await harness.notify(app, { message: { ...plainMessage, badge: { kind: 'set', count: 2 } } }),
      ),
    ).toEqual({ a: 2, b: 2 })
    expect(await badgesOf(await harness.notify(app, { message: { ...plainMessage, type: 'cmd' } }))).toEqual({
      a: null,
      b: null,
    })
    await bind(harness.db, {
      appId: app,
      deviceId: ids[0]!,
      channel: 'apns',
      token: 'c:accepted',
      environment: 'production',
    })
    expect(await badgesOf(await harness.notify(app))).toEqual({ c: 1, b: 3 })
  })

  it('adds badges of overlapping broadcasts without a deadlock', async () => {
    const app = await harness.addApplication('overlap')
    await harness.addDevices(
      app,
      Array.from({ length: 2000 }, (_, i) => ({
        platform: 'ios' as const,
        tokens: { apns: `${i}:accepted` },
      })),
    )
    const tasks = await Promise.all(Array.from({ length: 5 }, () => harness.notify(app)))
    for (const task of tasks) await harness.finished(task)
    const { rows } = await harness.db.pool.query(
      'SELECT DISTINCT badge_of(id) AS value FROM device WHERE app_id = $1',
      [app],
    )
    expect(rows).toEqual([{ value: 5 }])
  })

  it('gives up a vendor that never answers, and sends again', async () => {
    await harness.finished(hung)
    expect(await harness.counters(hung)).toEqual({ meizu: { target: 1, sent: 1 } })
    expect((await harness.ledger(hung))[0]).toMatchObject({ attempts: 2 })
  })

  it('rebuilds a queue that was lost', async () => {
    const app = await harness.addApplication('flush')
    await harness.stopServices()
    await harness.addDevices(
      app,
      Array.from({ length: 2500 }, (_, i) => ({ tokens: { vivo: `${i}:accepted` } })),
    )
    await harness.startPlanner()
    const task = await harness.notify(app)
    await until(
      async () => {
        const { rows } = await harness.db.pool.query(
          'SELECT state, sum(size)::int AS size FROM batch WHERE task_id = $1 GROUP BY 1',
          [task],
        )
        return rows.length === 1 && rows[0].state === 'released' && rows[0].size === 2500
      },
      { what: 'the release' },
    )
    await harness.queues.remove(pushQueue('vivo'))
    await harness.startWorkers()
    await harness.finished(task)
    expect(await harness.counters(task)).toEqual({ vivo: { target: 2500, sent: 2500 } })
    expect((await harness.ledger(task)).every((entry) => entry.attempts === 1)).toBe(true)
    expect(await harness.imbalances()).toEqual([])
  })
})
