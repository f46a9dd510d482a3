import { joinNode, leaveNode } from '@herald/db/native'
import { findEventImbalances, findImbalances } from '@herald/db/readings'
import type { Database } from '@herald/db/store'
import { cancelTask, recordReceipts } from '@herald/db/tasks'
import type { PushQueues } from '@herald/queue'
import { until } from '@herald/testkit'
import { acceptPlan } from '@herald/testkit/accept-plan'
import { addApplication } from '@herald/testkit/sample-tenant'
import { useDatabase } from '@herald/testkit/use-database'
import { afterEach, describe, expect, it } from '@jest/globals'
import { type NativeDeps, nativeRound } from '../src/native-round.ts'
import type { DatabaseTime } from '../src/steadiness.ts'

const db = useDatabase()
afterEach(() => db.pool.query('DELETE FROM gateway_node'))

it('the queue of a dead gateway is removed again when its last batch is settled', async () => {
  const app = await addApplication(db, 'native', 'com.example')
  const { rows } = await db.pool.query<{ id: number }>(
    `INSERT INTO device (app_id, guid, push_token, moved_at) VALUES ($1, 'g', 't', now() - interval '1 hour') RETURNING id`,
    [app],
  )
  await joinNode(db, 'dead', 600)
  const recipients = [rows[0]!.id]
  for (let n = 0; n < 25; n++)
    await acceptPlan(db, app, {
      batches: [{ channel: 'native', node: 'dead', recipients, tried: [] }],
    })
  const open = async () => (await db.pool.query(`SELECT 1 FROM batch WHERE state <> 'settled'`)).rows.length
  /** How many batches were open at each removal. */
  const removed: [string, number][] = []
  const deps: NativeDeps = {
    db,
    queues: {
      remove: async (name: string) => void removed.push([name, await open()]),
    } as unknown as PushQueues,
    certificates: { of: async () => [] } as unknown as NativeDeps['certificates'],
    ackSeconds: 10,
    isSteady: () => true,
    onQueueFailure(error) {
      throw error
    },
    onUnreadable(error) {
      throw error
    },
    onUnreadableTask(error) {
      throw error
    },
    onLoopError(error) {
      throw error
    },
    onEnded: () => {},
  }
  await nativeRound(deps)
  expect(removed).toEqual([])
  await leaveNode(db, 'dead')
  await until(
    async () =>
      (await db.pool.query('SELECT 1 WHERE now() > (SELECT max(lease_until) FROM gateway_node)')).rows
        .length > 0,
  )
  await nativeRound(deps)
  expect(removed).toEqual([['push-native-dead', 25]])
  await nativeRound(deps)
  await nativeRound(deps)
  expect(removed).toEqual([
    ['push-native-dead', 25],
    ['push-native-dead', 0],
  ])
})

it('the queue of a dead gateway is removed later if it cannot be removed now', async () => {
  await joinNode(db, 'gone', 600)
  await leaveNode(db, 'gone')
  await until(
    async () =>
      (await db.pool.query('SELECT 1 WHERE now() > (SELECT max(lease_until) FROM gateway_node)')).rows
        .length > 0,
  )
  let isDown = true
  const removed: string[] = []
  const failures: string[] = []
  const deps = {
    db,
    queues: {
      async remove(name: string) {
        if (isDown) throw new Error('Redis is down')
        removed.push(name)
      },
    } as unknown as PushQueues,
    ackSeconds: 10,
    isSteady: () => true,
    onQueueFailure: (error: unknown) => void failures.push((error as Error).message),
    onEnded: () => {},
  } as unknown as NativeDeps
  await nativeRound(deps)
  await nativeRound(deps)
  // At once and when it has no batch, then once per round.
  expect(failures).toEqual(Array(3).fill('Redis is down'))
  isDown = false
  await nativeRound(deps)
  await nativeRound(deps)
  expect(removed).toEqual(['push-native-gone'])
})

it('a gateway is not fenced, and its batches are left to it, until gateways could renew their leases after an outage', async () => {
  const app = await addApplication(db, 'outage', 'com.example')
  await joinNode(db, 'slow', 600)
  const { taskId } = await acceptPlan(db, app, {
    batches: [{ channel: 'native', node: 'slow', recipients: [999_999], tried: [] }],
  })
  await db.pool.query(`UPDATE gateway_node SET lease_until = now() - interval '15 seconds'`)
  const state = async () => ({
    nodes: (await db.pool.query('SELECT id FROM gateway_node')).rows.map(({ id }) => id),
    batches: (await db.pool.query('SELECT state FROM batch WHERE task_id = $1', [taskId])).rows.map(
      (row) => row.state,
    ),
  })
  const removed: string[] = []
  const times: DatabaseTime[] = []
  let steady = false
  const deps = {
    db,
    queues: { remove: async (name: string) => void removed.push(name) } as unknown as PushQueues,
    certificates: { of: async () => [] },
    ackSeconds: 10,
    isSteady(time: DatabaseTime) {
      times.push(time)
      return steady
    },
    onEnded: () => {},
  } as unknown as NativeDeps
  await nativeRound(deps)
  expect(await state()).toEqual({ nodes: ['slow'], batches: ['released'] })
  expect(removed).toEqual([])
  // The clock of Postgres, by which a step of it is noticed.
  expect(times).toEqual([{ at: expect.any(Number), askedAt: expect.any(Number) }])
  expect(times[0]!.at).toBeGreaterThan(0)
  steady = true
  await nativeRound(deps)
  expect(await state()).toEqual({ nodes: [], batches: ['settled'] })
  expect(removed).toContain('push-native-slow')
})

it('statements that Postgres runs after an outage leave the gateways whose leases expired in it alone, and their batches', async () => {
  const app = await addApplication(db, 'late statements', 'com.example')
  await joinNode(db, 'late', 3600)
  const { taskId } = await acceptPlan(db, app, {
    batches: [{ channel: 'native', node: 'late', recipients: [999_999], tried: [] }],
  })
  const state = async () => ({
    nodes: (await db.pool.query('SELECT id FROM gateway_node')).rows.map(({ id }) => id),
    batches: (await db.pool.query('SELECT state FROM batch WHERE task_id = $1', [taskId])).rows.map(
      (row) => row.state,
    ),
  })
  const query = async (statement: { name: string; text: string }) => {
    // The statement arrives when the leases have ended; that of the batches comes after it.
    if (statement.name === 'fence-nodes')
      await db.pool.query('UPDATE gateway_node SET lease_until = clock_timestamp()')
    return db.pool.query(statement)
  }
  const late = { ...db, pool: { query, connect: () => db.pool.connect() } } as unknown as Database
  const deps = {
    queues: { remove: async () => {} } as unknown as PushQueues,
    certificates: { of: async () => [] },
    ackSeconds: 10,
    isSteady: () => true,
    onEnded: () => {},
  } as unknown as NativeDeps
  await nativeRound({ ...deps, db: late })
  expect(await state()).toEqual({ nodes: ['late'], batches: ['released'] })
  await nativeRound({ ...deps, db })
  expect(await state()).toEqual({ nodes: [], batches: ['settled'] })
})

let made = 0
async function devices(app: string, count: number): Promise<number[]> {
  const { rows } = await db.pool.query<{ id: number }>(
    `INSERT INTO device (app_id, guid, push_token, moved_at)
     SELECT $1, 'u' || n, 'u' || n, now() - interval '1 hour' FROM generate_series($2::int, $3::int) n RETURNING id`,
    [app, made + 1, made + count],
  )
  made += count
  return rows.map(({ id }) => id)
}
/** What the rounds reported: unreadable tasks, and recipients by their fate. */
function reporting() {
  const told: number[] = []
  const ended: Record<string, number> = {}
  const deps: NativeDeps = {
    db,
    queues: { remove: async () => {} } as unknown as PushQueues,
    certificates: { of: async () => [] } as unknown as NativeDeps['certificates'],
    ackSeconds: 10,
    isSteady: () => true,
    onQueueFailure(error) {
      throw error
    },
    onUnreadable: () => {},
    onUnreadableTask: ({ taskId }) => void told.push(taskId),
    onLoopError(error) {
      throw error
    },
    onEnded(_channel, fate, recipients) {
      if (recipients > 0) ended[fate] = (ended[fate] ?? 0) + recipients
    },
  }
  return { deps, told, ended }
}
const inboxOf = async (taskId: number) =>
  (
    await db.pool.query(
      'SELECT device_id AS device, fallback_at FROM inbox WHERE task_id = $1 ORDER BY device_id',
      [taskId],
    )
  ).rows

it('a step of a round that fails does not keep the next ones from running', async () => {
  const app = await addApplication(db, 'steps', 'com.example')
  const [device] = await devices(app, 1)
  const { taskId } = await acceptPlan(db, app, { inbox: [device!] }, { strategy: 'combined', ttl: 1000 })
  await db.pool.query(`UPDATE inbox SET expires_at = now() - interval '1 second' WHERE task_id = $1`, [
    taskId,
  ])
  await joinNode(db, 'failing', -1)
  const { deps } = reporting()
  const remove = () => Promise.reject(new Error('the first step fails'))
  const failing = { ...deps, queues: { remove } as unknown as PushQueues }
  await expect(nativeRound(failing)).rejects.toThrow('the first step fails')
  expect(await inboxOf(taskId)).toEqual([])
})

it('of several steps of a round that fail, each is reported', async () => {
  await joinNode(db, 'failing', -1)
  const { deps } = reporting()
  const told: unknown[][] = []
  const failing: NativeDeps = {
    ...deps,
    queues: { remove: () => Promise.reject(new Error('the first step fails')) } as unknown as PushQueues,
    onEnded(_channel, fate) {
      if (fate !== 'moved') throw new Error(`${fate} fails`)
    },
    onLoopError: (error, transient, loop) => void told.push([(error as Error).message, transient, loop]),
  }
  await expect(nativeRound(failing)).rejects.toThrow('the first step fails')
  expect(told).toEqual([
    ['expired fails', false, 'native'],
    ['cancelled fails', false, 'native'],
  ])
})

describe('a task that cannot be read', () => {
  const poison = (taskId: number) =>
    db.pool.query(`UPDATE task SET audience = '{"kind":"user_id","userIds":["x"]}' WHERE id = $1`, [taskId])

  it('stays in inboxes, and those of other tasks fall back, expire and are cancelled', async () => {
    const app = await addApplication(db, 'inboxes', 'com.example')
    const [a, b] = (await devices(app, 2)) as [number, number]
    const waiting = async (inbox: number[]) => {
      const { taskId } = await acceptPlan(db, app, { inbox }, { strategy: 'combined', ttl: 1000, events: 2 })
      return taskId
    }
    const [poisoned, due, late, cancelled] = [
      await waiting([a, b]),
      await waiting([a]),
      await waiting([b]),
      await waiting([b]),
    ]
    await db.pool.query(
      `UPDATE inbox SET fallback_at = now() - interval '1 second' * CASE task_id WHEN $1 THEN 2 ELSE 1 END
       WHERE task_id = ANY($2)`,
      [poisoned, [poisoned, due]],
    )
    await db.pool.query(`UPDATE inbox SET expires_at = now() - interval '1 second' WHERE task_id = $1`, [
      late,
    ])
    await cancelTask(db, { appId: app }, cancelled)
    await poison(poisoned)
    const { deps, told, ended } = reporting()
    expect(await nativeRound(deps)).toBe(false)
    expect(await inboxOf(poisoned)).toEqual([
      { device: a, fallback_at: null },
      { device: b, fallback_at: null },
    ])
    expect(await inboxOf(due)).toEqual([{ device: a, fallback_at: null }])
    expect([await inboxOf(late), await inboxOf(cancelled)]).toEqual([[], []])
    expect([told, ended]).toEqual([[poisoned], { expired: 1, cancelled: 1 }])
    await nativeRound(deps)
    expect(told).toEqual([poisoned])
    const tasks = [poisoned, due, late, cancelled]
    expect(await findImbalances(db, tasks)).toEqual([])
    expect(await findEventImbalances(db, tasks)).toEqual([])
  })

  it('fails with a reason in the batches of a dead gateway, and its other batches are settled', async () => {
    const app = await addApplication(db, 'orphans', 'com.example')
    const recipients = await devices(app, 3)
    const orphaned = async () => {
      const batches = [{ channel: 'native' as const, node: 'ended', recipients, tried: [] }]
      return (await acceptPlan(db, app, { batches }, { strategy: 'combined', ttl: 1000, events: 2 })).taskId
    }
    const [poisoned, other] = [await orphaned(), await orphaned()]
    const [acknowledged] = recipients
    await recordReceipts(db, [
      { appId: app, taskId: poisoned, deviceId: acknowledged!, channel: 'native', event: 'received' },
    ])
    await poison(poisoned)
    const { deps, told, ended } = reporting()
    await nativeRound(deps)
    const { rows } = await db.pool.query(
      'SELECT task_id AS task, state, status FROM batch WHERE task_id = ANY($1) AND NOT is_record ORDER BY task_id',
      [[poisoned, other]],
    )
    expect(rows).toEqual([
      { task: poisoned, state: 'settled', status: 'sff' },
      { task: other, state: 'settled', status: 'iii' },
    ])
    expect([told, ended]).toEqual([[poisoned], { sent: 1, failed: 2 }])
    const failures = await db.pool.query(
      'SELECT fate, reason, count, samples FROM failure WHERE task_id = $1',
      [poisoned],
    )
    expect(failures.rows).toEqual([
      { fate: 'failed', reason: 'herald.attempts_lost', count: 2, samples: recipients.slice(1) },
    ])
    const counters = await db.pool.query(
      'SELECT channel, target, sent, received, failed FROM counter WHERE task_id = $1',
      [poisoned],
    )
    expect(counters.rows).toEqual([{ channel: 'native', target: 3, sent: 1, received: 1, failed: 2 }])
    expect(await findImbalances(db, [poisoned, other])).toEqual([])
    expect(await findEventImbalances(db, [poisoned, other])).toEqual([])
  })
})
