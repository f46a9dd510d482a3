import { joinNode, leaveNode } from '@herald/db/native'
import { createApplication } from '@herald/db/tenants'
import type { PushQueues } from '@herald/queue'
import { acceptPlan, until } from '@herald/testkit'
import { useDatabase } from '@herald/testkit/use-database'
import { expect, it } from '@jest/globals'
import { type NativeDeps, nativeRound } from '../src/native-round.ts'

const db = useDatabase()

it('the queue of a dead gateway is removed again when its last batch is settled', async () => {
  const made = await createApplication(db, { name: 'native', packageName: 'com.example' })
  if (made === 'taken') throw new Error('taken')
  const { rows } = await db.pool.query<{ id: number }>(
    `INSERT INTO device (app_id, guid, push_token, moved_at) VALUES ($1, 'g', 't', now() - interval '1 hour') RETURNING id`,
    [made.appId],
  )
  await joinNode(db, 'dead', 600)
  const recipients = [rows[0]!.id]
  for (let n = 0; n < 25; n++)
    await acceptPlan(db, made.appId, {
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
