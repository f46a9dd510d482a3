import { ownReasons, type Plan } from '@herald/domain'
import { until } from '@herald/testkit'
import { acceptPlan } from '@herald/testkit/accept-plan'
import { sampleMessage } from '@herald/testkit/sample-message'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  deviceMessages,
  exportTask,
  type FoundDevice,
  findRecipientDevices,
  isBeforeOldestTask,
  pathsInTask,
  waitingRecipients,
} from '../src/history/index.ts'
import { expireInbox } from '../src/ledger/index.ts'
import { acknowledge, sendFromInbox } from '../src/native/index.ts'
import { findImbalances } from '../src/readings/index.ts'
import {
  acceptTasks,
  claimBatches,
  claimBundles,
  pauseTask,
  recordReceipts,
  settleBatches,
  settleBundles,
} from '../src/tasks/index.ts'
import { addApplication, addCertificate, settlementOf, useDatabase } from './setup.ts'

const db = useDatabase({ max: 5 })
let app: string
let certificateId: number
beforeAll(async () => {
  certificateId = await addCertificate(db, await addApplication(db), 'huawei')
})
// Each test has devices and tasks of its own.
beforeEach(async () => {
  app = await addApplication(db)
})
afterEach(async () => expect(await findImbalances(db)).toEqual([]))

let created = 0
async function devices(count: number, alias?: string): Promise<number[]> {
  const { rows } = await db.pool.query<{ id: number }>(
    `INSERT INTO device (app_id, guid, push_token, alias, moved_at)
     SELECT $1, 'g' || n, 't' || n, $4, now() - interval '1 hour' FROM generate_series($2::int, $3::int) n RETURNING id`,
    [app, created + 1, created + count, alias ?? null],
  )
  created += count
  return rows.map(({ id }) => id)
}
const foundOf = async (id: number): Promise<FoundDevice> => {
  const { rows } = await db.pool.query('SELECT guid FROM device WHERE id = $1', [id])
  const [device] = await findRecipientDevices(db, { appId: app }, { guid: rows[0].guid })
  return device!
}

const vendor = (recipients: number[]): Plan['batches'][number] => ({
  channel: 'huawei',
  certificateId,
  recipients,
  tried: [],
})
const bad = { code: 'huawei.80300007', text: 'the token is wrong' }

async function claim(taskId: number, id: number) {
  const [claimed] = await claimBatches(
    db.pool,
    { channel: 'huawei', certificateIds: [certificateId], batches: [{ taskId, id }] },
    { seconds: 60, worker: 'w' },
  )
  return { taskId, id, version: claimed!.version }
}

async function path(taskId: number, id: number) {
  const [found] = (await pathsInTask(db, { appId: app }, taskId, [await foundOf(id)]))!
  return {
    steps: found!.path.map(({ channel, fate, code }) => `${channel} ${fate} ${code ?? '-'}`),
    received: found!.receivedAt !== null,
    clicked: found!.clickedAt !== null,
  }
}

type Sums = Record<string, Record<string, number>>
type Line = { device_id: number; device_guid: string; channel: string; fate: string; code: string | null }
async function exported(taskId: number) {
  const parts = await exportTask(db, { appId: app }, taskId)
  let text = ''
  for await (const part of parts!) text += part
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  const last = lines.pop() as { sums: Sums; counters: Sums; equal: boolean; lines: number }
  expect(last.lines).toBe(lines.length)
  return { ...last, lines: lines as Line[] }
}

/** A task that fails for one device, moves one to the inbox and is sent to the others. */
async function settledTask(ids: number[]): Promise<number> {
  const { taskId, released } = await acceptPlan(db, app, { batches: [vendor(ids)] })
  const key = await claim(taskId, released[0]!.id)
  const count = ids.length
  await settleBatches(db, [
    settlementOf(key, {
      status: `fm${'s'.repeat(count - 2)}`,
      sent: count - 2,
      failed: 1,
      moved: 1,
      inbox: [ids[1]!],
      reasons: [
        { ...bad, fate: 'failed', count: 1, samples: [ids[0]!] },
        { ...bad, fate: 'moved', count: 1, samples: [ids[1]!] },
      ],
      whys: [
        { f: 'failed', c: bad.code, t: bad.text, p: [0] },
        { f: 'moved', c: bad.code, t: bad.text, p: [1] },
      ],
    }),
  ])
  return taskId
}

describe('a device in a task', () => {
  it('has the path over all channels, and the receipt', async () => {
    const ids = await devices(4)
    const taskId = await settledTask(ids)
    await recordReceipts(db, [{ appId: app, taskId, deviceId: ids[2]!, channel: 'huawei', event: 'clicked' }])
    expect(await path(taskId, ids[0]!)).toMatchObject({ steps: ['huawei failed huawei.80300007'] })
    expect(await path(taskId, ids[1]!)).toMatchObject({
      steps: ['huawei moved huawei.80300007', 'nativepush pending herald.offline_to_inbox'],
    })
    expect(await path(taskId, ids[2]!)).toEqual({ steps: ['huawei sent -'], received: true, clicked: true })
    expect(await path(taskId, ids[3]!)).toEqual({ steps: ['huawei sent -'], received: false, clicked: false })
    const [stranger] = await devices(1)
    expect(await path(taskId, stranger!)).toMatchObject({ steps: [] })
  })

  it('is followed through the inbox until it acknowledged or expired', async () => {
    const ids = await devices(3)
    const { taskId } = await acceptPlan(db, app, { inbox: ids }, { strategy: 'combined' })
    const wanted = ids.slice(0, 2).map((deviceId) => ({ deviceId, taskId, sent: false }))
    await sendFromInbox(db, wanted, null, (messages) => messages)
    expect(await path(taskId, ids[0]!)).toMatchObject({ steps: ['nativepush sent -'] })
    await acknowledge(db, [{ appId: app, taskId, deviceId: ids[0]! }])
    expect(await path(taskId, ids[0]!)).toMatchObject({ steps: ['nativepush sent -'], received: true })
    await db.pool.query('UPDATE inbox SET expires_at = now() WHERE task_id = $1', [taskId])
    await expireInbox(db, 10)
    expect(await path(taskId, ids[1]!)).toMatchObject({ steps: ['nativepush sent -'], received: false })
    expect(await path(taskId, ids[2]!)).toMatchObject({
      steps: ['nativepush expired herald.expired_in_inbox'],
    })
    const { lines, sums, counters, equal } = await exported(taskId)
    expect(lines.map(({ fate }) => fate)).toEqual(['sent', 'sent', 'expired'])
    expect(sums).toMatchObject({ nativepush: { target: 3, sent: 2, expired: 1, received: 1 } })
    expect(sums).toEqual(counters)
    expect(equal).toBe(true)
  })

  it('does not show to a person what the device got before', async () => {
    const [id] = await devices(1, 'later')
    const { taskId } = await acceptPlan(db, app, { inbox: [id!] }, { strategy: 'combined' })
    const asked = async () => {
      const found = await findRecipientDevices(db, { appId: app }, { alias: 'later' })
      const [one] = (await pathsInTask(db, { appId: app }, taskId, found))!
      const { messages } = await deviceMessages(db, { appId: app }, found, { limit: 10 })
      return [one!.path.length, messages.length]
    }
    expect(await asked()).toEqual([1, 1])
    await db.pool.query(`UPDATE device SET moved_at = now() + interval '1 second' WHERE id = $1`, [id])
    expect(await asked()).toEqual([0, 0])
    expect(await path(taskId, id!)).toMatchObject({ steps: ['nativepush pending herald.offline_to_inbox'] })
  })

  it('is found within its application and group only', async () => {
    const [id] = await devices(1)
    const { taskId } = await acceptPlan(db, app, { batches: [vendor([id!])] })
    const device = await foundOf(id!)
    const other = await addApplication(db)
    expect(await pathsInTask(db, { appId: other }, taskId, [device])).toBeUndefined()
    expect(await pathsInTask(db, { appId: app, groupId: 5 }, taskId, [device])).toBeUndefined()
    expect(await exportTask(db, { appId: app, groupId: 5 }, taskId)).toBeUndefined()
    expect(await findRecipientDevices(db, { appId: other }, { guid: device.guid })).toEqual([])
    expect(await findRecipientDevices(db, { appId: app, groupId: 5 }, { guid: device.guid })).toEqual([])
    const { messages } = await deviceMessages(db, { appId: app, groupId: 5 }, [device], { limit: 5 })
    expect(messages).toEqual([])
    expect(await isBeforeOldestTask(db, taskId)).toBe(false)
    expect(await isBeforeOldestTask(db, 4096)).toBe(true)
  })
})

describe('the messages of a device', () => {
  it('are those of large and small tasks, bundles, inboxes and receipts, in pages', async () => {
    const ids = await devices(80)
    const [id, other] = ids as [number, number]
    const expected: number[] = []
    const add = async (taskId: number) => expected.unshift(taskId)
    await add((await acceptPlan(db, app, { batches: [vendor(ids)] })).taskId)
    await add((await acceptPlan(db, app, { batches: [vendor([id, other])] })).taskId)
    await acceptPlan(db, app, { batches: [vendor([other])] })
    await acceptPlan(db, app, { batches: [vendor(ids.slice(1))] })
    const single = (recipient: number) => ({
      task: {
        appId: app,
        audience: { kind: 'all' as const },
        strategy: 'ospush_only' as const,
        sequence: [],
        message: { ...sampleMessage(), title: 'One' },
        campaign: 'spring',
        ttl: 100,
      },
      plan: { batches: [vendor([recipient])], inbox: [], unreachable: 0 },
      mayRelease: () => true,
      mayBundle: true,
    })
    const bundled = await acceptTasks(db, [single(id), single(other), single(id)])
    await add(bundled[0]!.taskId)
    await add(bundled[2]!.taskId)
    const acknowledged = await acceptPlan(db, app, { inbox: [id] }, { strategy: 'combined' })
    await acknowledge(db, [{ appId: app, taskId: acknowledged.taskId, deviceId: id }])
    await add(acknowledged.taskId)
    await add((await acceptPlan(db, app, { inbox: [id] }, { strategy: 'combined' })).taskId)
    await add((await acceptPlan(db, app, { batches: [vendor(ids)] })).taskId)

    // Large tasks of which the device has only a receipt, or only a record.
    const received = await acceptPlan(db, app, { inbox: ids }, { strategy: 'combined' })
    await acknowledge(db, [{ appId: app, taskId: received.taskId, deviceId: id }])
    await add(received.taskId)
    const expired = await acceptPlan(db, app, { inbox: ids }, { strategy: 'combined' })
    await db.pool.query('UPDATE inbox SET expires_at = now() WHERE task_id = $1', [expired.taskId])
    await expireInbox(db, 100)
    await add(expired.taskId)

    const device = await foundOf(id)
    const all = await deviceMessages(db, { appId: app }, [device], { limit: 100 })
    expect(all.messages.map(({ taskId }) => taskId)).toEqual(expected)
    expect(all.next).toBeNull()
    for (const limit of [1, 2, 3]) {
      const seen: number[] = []
      for (let before: number | undefined; ; ) {
        const page = await deviceMessages(db, { appId: app }, [device], { limit, before })
        expect(page.messages.length).toBeLessThanOrEqual(limit)
        seen.push(...page.messages.map(({ taskId }) => taskId))
        if (page.next === null) break
        before = page.next
      }
      expect(seen).toEqual(expected)
    }
    expect(all.messages.find(({ taskId }) => taskId === bundled[0]!.taskId)).toMatchObject({
      title: 'One',
      campaign: 'spring',
      channel: 'huawei',
      fate: 'pending',
    })
    // Settled, a bundle is found by another index.
    const bundle = bundled.flatMap(({ released }) => released)[0]!
    const [claimed] = await claimBundles(db.pool, 'huawei', [bundle.taskId], { seconds: 60, worker: 'w' })
    expect(claimed).toBeDefined()
    await settleBundles(db, [{ id: bundle.taskId, worker: 'w', wanted: 'sss' }])
    const after = await deviceMessages(db, { appId: app }, [device], { limit: 100 })
    expect(after.messages.map(({ taskId }) => taskId)).toEqual(expected)
    expect(after.messages.find(({ taskId }) => taskId === bundled[2]!.taskId)).toMatchObject({ fate: 'sent' })
    expect(await exported(bundled[0]!.taskId)).toMatchObject({
      lines: [{ device_id: id, channel: 'huawei', fate: 'sent' }],
      sums: { huawei: { target: 1, sent: 1 } },
      equal: true,
    })
  })

  it('of several devices of a person come together', async () => {
    const ids = await devices(3, 'person')
    const found = await findRecipientDevices(db, { appId: app }, { alias: 'person' })
    expect(found.map(({ deviceId }) => deviceId)).toEqual(ids)
    const first = await acceptPlan(db, app, { batches: [vendor(ids.slice(0, 2))] })
    const second = await acceptPlan(db, app, { batches: [vendor(ids.slice(2))] })
    const { messages } = await deviceMessages(db, { appId: app }, found, { limit: 10 })
    expect(messages.map(({ taskId, deviceId }) => [taskId, deviceId])).toEqual([
      [second.taskId, ids[2]],
      [first.taskId, ids[0]],
      [first.taskId, ids[1]],
    ])
  })
})

describe('the export of a task', () => {
  it('has one line per device and channel, and sums equal to the counters', async () => {
    const ids = await devices(5)
    await db.pool.query(
      `UPDATE device SET guid = guid || '"\\', alias = 'a"b', user_id = NULL WHERE id = $1`,
      [ids[2]],
    )
    const taskId = await settledTask(ids)
    await recordReceipts(db, [
      { appId: app, taskId, deviceId: ids[2]!, channel: 'huawei', event: 'clicked' },
      { appId: app, taskId, deviceId: ids[3]!, channel: 'huawei', event: 'received' },
    ])
    await db.pool.query('DELETE FROM device WHERE id = $1', [ids[4]])
    const { lines, sums, counters, equal } = await exported(taskId)
    expect(sums).toEqual(counters)
    expect(equal).toBe(true)
    expect(sums).toMatchObject({
      huawei: { target: 5, sent: 3, failed: 1, moved: 1, received: 2, clicked: 1, pending: 0 },
      nativepush: { target: 1, pending: 1 },
    })
    expect(lines).toHaveLength(6)
    expect(lines[0]).toMatchObject({ device_id: ids[0], fate: 'failed', code: bad.code, reason: bad.text })
    expect(lines[2]).toMatchObject({
      fate: 'sent',
      code: null,
      alias: 'a"b',
      received_at: expect.any(Number),
      clicked_at: expect.any(Number),
    })
    expect(lines[2]!.device_guid).toMatch(/"\\$/)
    expect(lines[4]).toMatchObject({ device_id: ids[4], device_guid: null, alias: null, received_at: null })
    expect(lines[5]).toMatchObject({ device_id: ids[1], channel: 'nativepush', fate: 'pending' })
  })

  it('is of one moment while sending goes on', async () => {
    const ids = await devices(2000)
    const { taskId, released } = await acceptPlan(db, app, {
      batches: Array.from({ length: 40 }, (_, n) => vendor(ids.slice(n * 50, n * 50 + 50))),
    })
    const sending = (async () => {
      for (const { id } of released) {
        const key = await claim(taskId, id)
        await settleBatches(db, [settlementOf(key, { status: 's'.repeat(50), sent: 50 })])
        const batch = await db.pool.query('SELECT recipients FROM batch WHERE task_id = $1 AND id = $2', [
          taskId,
          id,
        ])
        await recordReceipts(
          db,
          batch.rows[0].recipients.slice(0, 10).map((deviceId: number) => ({
            appId: app,
            taskId,
            deviceId,
            channel: 'huawei',
            event: 'received',
          })),
        )
      }
    })()
    const seen: number[] = []
    while ((seen.at(-1) ?? 0) < 2000) {
      const { lines, sums, counters, equal } = await exported(taskId)
      expect(equal).toBe(true)
      expect(sums).toEqual(counters)
      expect(lines).toHaveLength(2000)
      seen.push(sums.huawei!.sent!)
    }
    await sending
  })

  it('frees its connection when the reader stops', async () => {
    const ids = await devices(3000)
    const { taskId } = await acceptPlan(db, app, {
      batches: Array.from({ length: 300 }, (_, n) => vendor(ids.slice(n * 10, n * 10 + 10))),
    })
    // More often than the pool has connections.
    for (let i = 0; i < 8; i++) {
      const parts = (await exportTask(db, { appId: app }, taskId))!
      const { value } = await parts.next()
      expect(value).toContain('"channel":"huawei"')
      await parts.return()
    }
    await until(async () => {
      const { rows } = await db.pool.query(
        `SELECT count(*)::int AS open FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'`,
      )
      return rows[0].open === 0
    })
    await until(async () => db.pool.idleCount === db.pool.totalCount)
  })
})

describe('recipients that wait', () => {
  const waiting = async (taskId: number) =>
    (await waitingRecipients(db, taskId)).map(({ channel, fate, reason, count, nextAt, samples }) => ({
      group: `${channel} ${fate} ${reason.code} ${count}`,
      next: nextAt !== null,
      samples: samples.map(({ deviceId }) => deviceId),
    }))

  it('are grouped by the reason of the last attempt', async () => {
    const ids = await devices(5)
    const { taskId, released } = await acceptPlan(db, app, { batches: [vendor(ids)] })
    expect(await waiting(taskId)).toEqual([
      { group: 'huawei waiting herald.waiting_for_turn 5', next: false, samples: ids },
    ])
    const key = await claim(taskId, released[0]!.id)
    expect(await waiting(taskId)).toMatchObject([{ group: 'huawei waiting herald.being_sent 5' }])
    const { code: c, text: t } = ownReasons.quota_used_up
    await settleBatches(db, [
      settlementOf(key, {
        status: 's....',
        state: 'retry',
        wait: 60,
        sent: 1,
        whys: [
          { f: 'pending', c, t, p: [1, 2] },
          { f: 'pending', c: 'huawei.81000001', t: 'busy', p: [3] },
        ],
      }),
    ])
    expect(await waiting(taskId)).toEqual(
      expect.arrayContaining([
        { group: `huawei waiting ${c} 2`, next: true, samples: [ids[1], ids[2]] },
        { group: 'huawei waiting huawei.81000001 1', next: true, samples: [ids[3]] },
        expect.objectContaining({ group: 'huawei waiting herald.waiting_for_turn 1', next: true }),
      ]),
    )
    await pauseTask(db, { appId: app }, taskId)
    expect(await waiting(taskId)).toMatchObject([{ group: 'huawei held herald.task_paused 4', next: false }])
  })

  it('wait for a closed certificate and a silent vendor', async () => {
    const ids = await devices(1)
    const { taskId } = await acceptPlan(db, app, { batches: [vendor(ids)] })
    await db.pool.query(
      `INSERT INTO breaker (certificate_id, failures, retry_at, code, text) VALUES ($1, 1, now() + interval '1 minute', 'x', 'ECONNREFUSED')`,
      [certificateId],
    )
    expect(await waiting(taskId)).toMatchObject([
      { group: 'huawei waiting herald.vendor_silent 1', next: true },
    ])
    await db.pool.query('DELETE FROM breaker')
    await db.pool.query(
      `UPDATE certificate SET state = 'closed', closed_at = now(), probe_at = now() + interval '1 minute' WHERE id = $1`,
      [certificateId],
    )
    expect(await waiting(taskId)).toMatchObject([
      { group: 'huawei waiting herald.certificate_closed 1', next: true },
    ])
    await db.pool.query(
      `UPDATE certificate SET state = 'open', closed_at = NULL, probe_at = NULL WHERE id = $1`,
      [certificateId],
    )
  })

  it('wait in inboxes', async () => {
    const ids = await devices(3)
    const { taskId } = await acceptPlan(db, app, { inbox: ids }, { strategy: 'combined' })
    await sendFromInbox(db, [{ deviceId: ids[0]!, taskId, sent: false }], null, (messages) => messages)
    expect(await waiting(taskId)).toEqual([
      { group: 'native waiting herald.offline_to_inbox 2', next: false, samples: ids.slice(1) },
    ])
  })
})
