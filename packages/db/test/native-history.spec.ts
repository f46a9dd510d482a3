import type { NativeFold } from '@herald/domain'
import { until } from '@herald/testkit'
import { acceptPlan } from '@herald/testkit/accept-plan'
import { afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import {
  cancelInbox,
  clearInboxesOf,
  expireInbox,
  inboxSize,
  trimInboxes,
} from '../src/ledger/inbox-clearing.ts'
import { acknowledge, fallBackDue, sendFromInbox, settleNative, waitingInbox } from '../src/native/index.ts'
import { findImbalances } from '../src/readings/index.ts'
import { openDays } from '../src/store/open-days.ts'
import {
  addRecall,
  beginRecall,
  cancelTask,
  claimBatches,
  finishTasks,
  recallable,
  recordReceipts,
  sentNatively,
  settleBatches,
} from '../src/tasks/index.ts'
import { addApplication, addCertificate, settlementOf, useDatabase } from './setup.ts'

const db = useDatabase({ max: 8 })
let app: string
let certificateId: number
beforeAll(async () => {
  app = await addApplication(db)
  certificateId = await addCertificate(db, app, 'fcm')
})

/** Summed over all tasks with device events, each event is an entry of its counter. */
afterEach(async () => {
  expect(await findImbalances(db)).toEqual([])
  const { rows } = await db.pool.query(
    `SELECT c.task_id, c.channel, k.kind, k.count, coalesce(e.count, 0)::int AS told FROM counter c
     JOIN task t ON t.id = c.task_id AND t.events = 2
     CROSS JOIN LATERAL (VALUES ('device.sent', c.sent), ('device.failed', c.failed), ('device.expired', c.expired),
       ('device.received', c.received), ('device.clicked', c.clicked)) AS k (kind, count)
     LEFT JOIN (SELECT task_id, channel, kind, sum(cardinality(devices)) AS count FROM outbox GROUP BY 1, 2, 3) e
       ON e.task_id = c.task_id AND e.channel = c.channel AND e.kind = k.kind
     WHERE k.count <> coalesce(e.count, 0)`,
  )
  expect(rows).toEqual([])
})

let made = 0
async function devices(count: number): Promise<number[]> {
  const first = made
  made += count
  const { rows } = await db.pool.query<{ id: number }>(
    `INSERT INTO device (app_id, guid, push_token, moved_at) SELECT $1, 'h' || n, 'h' || n, now() - interval '1 day'
     FROM generate_series($2::int + 1, $2::int + $3::int) n RETURNING id`,
    [app, first, count],
  )
  return rows.map(({ id }) => id)
}

const inboxTask = async (inbox: number[], options: Parameters<typeof acceptPlan>[3] = {}) =>
  (await acceptPlan(db, app, { inbox }, { strategy: 'combined', events: 2, ...options })).taskId

async function send(deviceIds: number[], fallbackIn: number | null = null): Promise<void> {
  await sendFromInbox(db, (await waitingInbox(db, deviceIds)).waiting, fallbackIn, (locked) => locked)
}

type Stored = { recipients: number[]; status: string; whys: unknown; settled: boolean }
async function recordsOf(taskId: number): Promise<Stored[]> {
  const { rows } = await db.pool.query<Stored>(
    `SELECT recipients, status, whys, settled_at IS NOT NULL AND state = 'settled' AND channel = 'native' AND size = cardinality(recipients)
       AS settled FROM batch WHERE task_id = $1 AND is_record ORDER BY lo, id`,
    [taskId],
  )
  return rows
}

async function told(taskId: number): Promise<Record<string, number[]>> {
  const { rows } = await db.pool.query<{ kind: string; devices: number[] | null }>(
    `SELECT kind || coalesce(' ' || code, '') AS kind, devices FROM outbox WHERE task_id = $1 AND kind LIKE 'device.%' ORDER BY id`,
    [taskId],
  )
  const byKind: Record<string, number[]> = {}
  for (const { kind, devices: ids } of rows) byKind[kind] = [...(byKind[kind] ?? []), ...(ids ?? [])].sort()
  return byKind
}

const counter = async (taskId: number, channel = 'native') =>
  (await db.pool.query('SELECT * FROM counter WHERE task_id = $1 AND channel = $2', [taskId, channel]))
    .rows[0]

describe('messages that leave inboxes without a receipt', () => {
  it('are kept in one record: what expired with its reason, and what had been written', async () => {
    const [a, b, c, d] = (await devices(4)) as [number, number, number, number]
    const taskId = await inboxTask([a, b, c])
    await db.pool.query(
      `INSERT INTO inbox (task_id, device_id, app_id, expires_at, sent_at, is_copy) VALUES ($1, $2, $3, now(), now(), true)`,
      [taskId, d, app],
    )
    await send([b])
    await db.pool.query('UPDATE inbox SET expires_at = now() WHERE task_id = $1', [taskId])
    expect(await expireInbox(db, 100)).toEqual({ removed: 4, unsent: 2 })
    const code = 'herald.expired_in_inbox'
    expect(await recordsOf(taskId)).toEqual([
      {
        recipients: [a, b, c],
        status: 'xsx',
        whys: [{ f: 'expired', c: code, t: expect.any(String), p: [0, 2] }],
        settled: true,
      },
    ])
    expect(await told(taskId)).toEqual({ 'device.sent': [b], [`device.expired ${code}`]: [a, c] })
  })

  it('are kept for cancelled tasks, full inboxes and devices that were removed', async () => {
    const [a, b, c] = (await devices(3)) as [number, number, number]
    const [cancelled, full, removed] = [await inboxTask([a]), await inboxTask([b]), await inboxTask([c])]
    await cancelTask(db, { appId: app }, cancelled)
    await cancelInbox(db, 100)
    for (let n = 0; n < inboxSize; n++) await inboxTask([b])
    await trimInboxes(db, [b])
    await clearInboxesOf(db.pool, await openDays(db), [c])
    expect(await recordsOf(cancelled)).toMatchObject([{ status: 'c', whys: [{ f: 'cancelled', p: [0] }] }])
    expect(await recordsOf(full)).toMatchObject([{ status: 'x', whys: [{ c: 'herald.inbox_full' }] }])
    expect(await recordsOf(removed)).toMatchObject([{ status: 'x', whys: [{ c: 'herald.inbox_cleared' }] }])
    expect(await told(cancelled)).toEqual({})
    expect(await told(full)).toEqual({ 'device.expired herald.inbox_full': [b] })
    expect(await told(removed)).toEqual({ 'device.expired herald.inbox_cleared': [c] })
  })

  it('share records of 1000 devices, of 64 in a task that the index of small batches must contain', async () => {
    const ids = await devices(1100)
    const [wide, small] = [
      await inboxTask(ids, { events: 0 }),
      await inboxTask(ids.slice(0, 70), { events: 0 }),
    ]
    await db.pool.query('UPDATE task SET wide = (id = $1) WHERE id = ANY($2)', [wide, [wide, small]])
    for (const taskId of [wide, small]) {
      await db.pool.query('UPDATE inbox SET expires_at = now() WHERE task_id = $1', [taskId])
      await expireInbox(db, 2000)
    }
    const sizes = async (taskId: number) => (await recordsOf(taskId)).map(({ status }) => status.length)
    expect(await sizes(wide)).toEqual([1000, 100])
    expect(await sizes(small)).toEqual([64, 6])
    const [first, second] = await recordsOf(small)
    expect([...first!.recipients, ...second!.recipients]).toEqual(ids.slice(0, 70))
    expect(second!.whys).toMatchObject([{ p: [0, 1, 2, 3, 4, 5] }])
    expect((await told(wide))['device.expired']).toBeUndefined()
  })

  it('are kept if they moved to another channel, or have a receipt of another channel', async () => {
    const [moved, stays, late] = (await devices(3)) as [number, number, number]
    const taskId = await inboxTask([moved, stays, late])
    await send([stays], 60)
    await db.pool.query('UPDATE inbox SET fallback_at = now() WHERE task_id = $1', [taskId])
    await db.pool.query(`INSERT INTO receipt (task_id, device_id, channel) VALUES ($1, $2, 'fcm')`, [
      taskId,
      late,
    ])
    await fallBackDue(db, 10, async ({ recipients, sent }) => ({
      plan: {
        batches: [{ channel: 'fcm', certificateId, recipients, tried: [] }],
        inbox: [],
        unreachable: 0,
      },
      reasons: sent
        ? []
        : [
            {
              fate: 'moved',
              code: 'herald.device_not_reached',
              text: '',
              count: recipients.length,
              samples: recipients,
            },
          ],
    }))
    expect(await recordsOf(taskId)).toMatchObject([
      {
        recipients: [moved, late],
        status: 'ms',
        whys: [{ f: 'moved', c: 'herald.device_not_reached', p: [0] }],
      },
    ])
    // What was moved is no event; the message with a receipt was not counted as sent before.
    expect(await told(taskId)).toEqual({ 'device.sent': [stays, late] })
    // A receipt of the vendor deletes the copy of the written message.
    await db.pool.query(
      `UPDATE batch SET status = translate(status, '.', 's') WHERE task_id = $1 AND channel = 'fcm'`,
      [taskId],
    )
    await recordReceipts(db, [{ appId: app, taskId, deviceId: stays, channel: 'fcm', event: 'received' }])
    expect((await recordsOf(taskId)).map(({ recipients, status }) => [recipients, status])).toEqual([
      [[moved, late], 'ms'],
      [[stays], 's'],
    ])
    await db.pool.query(
      `UPDATE batch SET status = translate(status, 's', '.') WHERE task_id = $1 AND channel = 'fcm'`,
      [taskId],
    )
  })

  it('are kept if the acknowledgement finds a receipt of another channel; nothing is if it is the receipt', async () => {
    const [a, b] = (await devices(2)) as [number, number]
    const taskId = await inboxTask([a, b])
    await db.pool.query(`INSERT INTO receipt (task_id, device_id, channel) VALUES ($1, $2, 'fcm')`, [
      taskId,
      a,
    ])
    await acknowledge(
      db,
      [a, b].map((deviceId) => ({ appId: app, taskId, deviceId })),
    )
    expect(await recordsOf(taskId)).toMatchObject([{ recipients: [a], status: 's', whys: null }])
    expect(await told(taskId)).toEqual({ 'device.sent': [a, b], 'device.received': [b] })
  })

  it('are no recipients for receipts', async () => {
    const [a] = (await devices(1)) as [number]
    const taskId = await inboxTask([a])
    await db.pool.query('UPDATE inbox SET expires_at = now() WHERE task_id = $1', [taskId])
    await expireInbox(db, 100)
    const receipt = {
      appId: app,
      taskId,
      deviceId: a,
      channel: 'native' as const,
      event: 'received' as const,
    }
    expect(await recordReceipts(db, [receipt])).toBe(0)
  })

  it('are recalled if they had been written', async () => {
    const [a, b] = (await devices(2)) as [number, number]
    const taskId = await inboxTask([a, b])
    await send([a])
    const scope = { appId: app }
    const first = await recallable(db, scope, taskId)
    const { taskId: recallId } = await addRecall(db, scope, first!, first!.message, {
      actor: 'spec',
      detail: {},
    })
    await cancelInbox(db, 100)
    while ((await finishTasks(db)) > 0) {}
    expect(await beginRecall(db, recallId, taskId)).toBe(true)
    const range = { lo: 0, hi: b + 1, withMoved: true, max: 10 }
    expect(await sentNatively(db, taskId, range)).toEqual([a])
  })
})

describe('a native batch', () => {
  const none = { acknowledged: [], inbox: [], fallback: [], reasons: [], whys: [] }

  async function settled(
    recipients: number[],
    outcome: Partial<NativeFold>,
    events: 0 | 2 = 2,
  ): Promise<number> {
    const { taskId, released } = await acceptPlan(
      db,
      app,
      { batches: [{ channel: 'native', node: 'n', recipients, tried: [] }] },
      { strategy: 'combined', events },
    )
    const [claimed] = await claimBatches(
      db.pool,
      { channel: 'native', certificateIds: [], batches: [{ taskId, id: released[0]!.id }] },
      { seconds: 30, worker: 'w' },
    )
    await settleNative(db.pool, [
      {
        taskId,
        id: claimed!.id,
        version: claimed!.version,
        status: '',
        sent: 0,
        moved: 0,
        expired: 0,
        ...none,
        ...outcome,
      },
    ])
    return taskId
  }
  const outcome = ([, acknowledged, , , moved, waits]: number[]): Partial<NativeFold> => ({
    status: 'ssxxmi',
    sent: 2,
    moved: 1,
    expired: 2,
    acknowledged: [acknowledged!],
    inbox: [{ recipients: [waits!], sent: false, fallbackIn: null }],
    fallback: [{ channel: 'fcm', certificateId, recipients: [moved!], tried: ['native'] }],
    whys: [
      { f: 'expired', c: 'herald.owner_changed', t: 'another user', p: [2] },
      { f: 'expired', c: 'herald.device_removed', t: 'removed', p: [3] },
      { f: 'moved', c: 'herald.device_disconnected', t: 'disconnected', p: [4] },
    ],
  })

  it('stores reasons by place, and tells what was sent, received and expired', async () => {
    const ids = await devices(6)
    const taskId = await settled(ids, outcome(ids))
    const { rows } = await db.pool.query(
      `SELECT whys, settled_at IS NOT NULL AS settled FROM batch WHERE task_id = $1 AND channel = 'native'`,
      [taskId],
    )
    expect(rows).toEqual([{ whys: outcome(ids).whys, settled: true }])
    expect(await told(taskId)).toEqual({
      'device.sent': ids.slice(0, 2),
      'device.received': [ids[1]],
      'device.expired herald.owner_changed': [ids[2]],
      'device.expired herald.device_removed': [ids[3]],
    })
    await acknowledge(db, [{ appId: app, taskId, deviceId: ids[5]! }])
    expect((await told(taskId))['device.sent']).toEqual([ids[0], ids[1], ids[5]])
  })

  it('tells only what it sends now, not letters of before', async () => {
    const ids = await devices(2)
    const { taskId, released } = await acceptPlan(
      db,
      app,
      { batches: [{ channel: 'native', node: 'n', recipients: ids, tried: [] }] },
      { strategy: 'combined', events: 2 },
    )
    const [claimed] = await claimBatches(
      db.pool,
      { channel: 'native', certificateIds: [], batches: released },
      { seconds: 30, worker: 'w' },
    )
    await db.pool.query(`UPDATE batch SET status = 's.' WHERE task_id = $1`, [taskId])
    await db.pool.query(`UPDATE counter SET sent = 1 WHERE task_id = $1`, [taskId])
    const { id, version } = claimed!
    const now = { status: 'ss', sent: 1, moved: 0, expired: 0 }
    await settleNative(db.pool, [{ taskId, id, version, ...now, ...none }])
    expect(await told(taskId)).toEqual({ 'device.sent': [ids[1]] })
    await db.pool.query('UPDATE task SET events = 0 WHERE id = $1', [taskId])
  })

  it('of a task without events tells nothing', async () => {
    const ids = await devices(6)
    expect(await told(await settled(ids, outcome(ids), 0))).toEqual({})
  })

  it('whose gateway crashed: a receipt turns what was moved into sent, and it is told', async () => {
    const [a] = (await devices(1)) as [number]
    const taskId = await settled([a], {
      status: 'm',
      moved: 1,
      fallback: [{ channel: 'fcm', certificateId, recipients: [a], tried: ['native'] }],
    })
    expect(await told(taskId)).toEqual({})
    await recordReceipts(db, [{ appId: app, taskId, deviceId: a, channel: 'native', event: 'clicked' }])
    expect(await counter(taskId)).toMatchObject({ sent: 1, moved: 0, received: 1, clicked: 1 })
    const events = await told(taskId)
    expect(events).toEqual({ 'device.sent': [a], 'device.received': [a], 'device.clicked': [a] })
    // A server that reads them in their order never sees a receipt of what was not sent.
    expect(Object.keys(events)).toEqual(['device.sent', 'device.received', 'device.clicked'])
  })
})

describe('a click', () => {
  async function sentTask(recipients: number[]): Promise<number> {
    const { taskId, released } = await acceptPlan(
      db,
      app,
      { batches: [{ channel: 'fcm', certificateId, recipients, tried: [] }] },
      { events: 2 },
    )
    const [batch] = await claimBatches(
      db.pool,
      { channel: 'fcm', certificateIds: [certificateId], batches: released },
      { seconds: 30, worker: 'w' },
    )
    const { length } = recipients
    await settleBatches(db, [
      settlementOf(batch!, {
        status: 's'.repeat(length),
        sent: length,
        answered: length,
        events: [{ kind: 'device.sent', devices: recipients }],
      }),
    ])
    return taskId
  }

  it('counts once per device, as a receipt too if it comes first', async () => {
    const [a, b] = (await devices(2)) as [number, number]
    const taskId = await sentTask([a, b])
    const report = (deviceId: number, event: 'received' | 'clicked', channel?: 'fcm') =>
      recordReceipts(db, [{ appId: app, taskId, deviceId, event, channel }])
    expect(await report(a, 'clicked')).toBe(1)
    expect(await counter(taskId, 'fcm')).toMatchObject({ received: 1, clicked: 1 })
    expect(await report(a, 'clicked', 'fcm')).toBe(0)
    expect(await report(a, 'received')).toBe(0)
    expect(await report(b, 'received', 'fcm')).toBe(1)
    expect(await counter(taskId, 'fcm')).toMatchObject({ received: 2, clicked: 1 })
    expect(await report(b, 'clicked')).toBe(0)
    expect(await report(b, 'clicked')).toBe(0)
    expect(await counter(taskId, 'fcm')).toMatchObject({ received: 2, clicked: 2 })
    expect(await told(taskId)).toEqual({
      'device.sent': [a, b],
      'device.received': [a, b],
      'device.clicked': [a, b],
    })
    const { rows } = await db.pool.query(
      'SELECT count(*)::int AS count FROM receipt WHERE task_id = $1 AND clicked_at IS NOT NULL',
      [taskId],
    )
    expect(rows).toEqual([{ count: 2 }])
  })

  it('is not lost in a call with a report of another channel about the same device', async () => {
    const [a] = (await devices(1)) as [number]
    const taskId = await sentTask([a])
    await recordReceipts(db, [
      { appId: app, taskId, deviceId: a, event: 'clicked' },
      { appId: app, taskId, deviceId: a, event: 'received', channel: 'fcm' },
    ])
    expect(await counter(taskId, 'fcm')).toMatchObject({ received: 1, clicked: 1 })
  })

  it('is not lost while another call inserts the receipt', async () => {
    const ids = await devices(200)
    const taskId = await sentTask(ids)
    const report = (event: 'received' | 'clicked') =>
      recordReceipts(
        db,
        ids.map((deviceId) => ({ appId: app, taskId, deviceId, event })),
      )
    // The receipts of the first are not visible to the second, which waits for them.
    const client = await db.pool.connect()
    await client.query('BEGIN')
    await client.query(
      `INSERT INTO receipt (task_id, device_id, channel) SELECT $1, unnest($2::bigint[]), 'fcm'`,
      [taskId, ids],
    )
    const clicks = report('clicked')
    for (;;) {
      const { rows } = await db.pool.query(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      )
      if (rows.length > 0) break
    }
    await client.query(
      `UPDATE counter SET received = received + 200 WHERE task_id = $1 AND channel = 'fcm'`,
      [taskId],
    )
    await client.query(
      `INSERT INTO outbox (app_id, kind, task_id, channel, devices) VALUES ($1, 'device.received', $2, 'fcm', $3)`,
      [app, taskId, ids],
    )
    await client.query('COMMIT')
    client.release()
    expect(await clicks).toBe(0)
    expect(await counter(taskId, 'fcm')).toMatchObject({ received: 200, clicked: 200 })
  })

  /** A message that a vendor took, with its copy in the device's inbox. */
  async function taskWithCopy(): Promise<{ taskId: number; a: number }> {
    const [a] = (await devices(1)) as [number]
    const taskId = await sentTask([a])
    await db.pool.query(
      `INSERT INTO inbox (task_id, device_id, app_id, expires_at, sent_at, is_copy)
       VALUES ($1, $2, $3, now() + interval '1 day', now(), true)`,
      [taskId, a, app],
    )
    return { taskId, a }
  }

  it('locks the message that waits before its receipt, as an acknowledgement does', async () => {
    const { taskId, a } = await taskWithCopy()
    const client = await db.pool.connect()
    try {
      await client.query('BEGIN')
      await client.query('SELECT 1 FROM inbox WHERE task_id = $1 FOR UPDATE', [taskId])
      const click = recordReceipts(db, [{ appId: app, taskId, deviceId: a, event: 'clicked' }])
      await until(async () => {
        const { rows } = await db.pool.query(
          `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        )
        return rows.length > 0
      })
      // If the click held the receipt already, both would wait for each other.
      await client.query(`SET LOCAL lock_timeout = '100ms'`)
      await client.query(`INSERT INTO receipt (task_id, device_id, channel) VALUES ($1, $2, 'native')`, [
        taskId,
        a,
      ])
      await client.query('ROLLBACK')
      expect(await click).toBe(1)
    } finally {
      client.release()
    }
  })

  it('of an acknowledged copy is recorded although the reply to the first statement was lost', async () => {
    const { taskId, a } = await taskWithCopy()
    const query = db.pool.query.bind(db.pool) as (...args: unknown[]) => Promise<unknown>
    let lost = 0
    const spy = jest.spyOn(db.pool, 'query').mockImplementation((async (...args: unknown[]) => {
      const result = await query(...args)
      if ((args[0] as { name?: string }).name?.startsWith('acknowledge') && lost++ === 0)
        throw Object.assign(new Error('terminating connection'), { code: '57P01' })
      return result
    }) as never)
    try {
      expect(await acknowledge(db, [{ appId: app, taskId, deviceId: a }])).toBe(1)
    } finally {
      spy.mockRestore()
    }
    expect(lost).toBe(2)
    expect(await counter(taskId, 'fcm')).toMatchObject({ received: 1 })
    expect((await db.pool.query('SELECT FROM inbox WHERE task_id = $1', [taskId])).rowCount).toBe(0)
  })

  it('is counted for a task in a bundle', async () => {
    const [a] = (await devices(1)) as [number]
    const taskId = await sentTask([a])
    await db.pool.query('DELETE FROM counter WHERE task_id = $1', [taskId])
    await db.pool.query('DELETE FROM batch WHERE task_id = $1', [taskId])
    await db.pool.query(`UPDATE task SET state = 'bundled', bundle = id, events = 0 WHERE id = $1`, [taskId])
    await db.pool.query(
      `INSERT INTO bundle (task_id, channel, lane, state, size, tasks, recipients, certificates, status, deadline)
       VALUES ($1, 'fcm', 'high', 'settled', 1, ARRAY[$1::bigint], ARRAY[$2::bigint], ARRAY[$3::bigint], 's', now())`,
      [taskId, a, certificateId],
    )
    const report = (event: 'received' | 'clicked') =>
      recordReceipts(db, [{ appId: app, taskId, deviceId: a, event }])
    await report('received')
    await report('clicked')
    expect(await counter(taskId, 'fcm')).toMatchObject({ target: 0, received: 1, clicked: 1 })
  })
})
