import { joinNode, leaveNode } from '@herald/db/native'
import type { PushQueues } from '@herald/queue'
import { until } from '@herald/testkit'
import { acceptPlan } from '@herald/testkit/accept-plan'
import { addApplication } from '@herald/testkit/sample-tenant'
import { useDatabase } from '@herald/testkit/use-database'
import { afterEach, expect, it } from '@jest/globals'
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
