import { acceptPlan } from '@herald/testkit/accept-plan'
import { afterEach, describe, expect, it } from '@jest/globals'
import { findImbalances } from '../src/readings/index.ts'
import type { Database } from '../src/store/index.ts'
import {
  type ClaimedBatch,
  claimBatches,
  type Settlement,
  settleBatches,
  settleUntilKnown,
} from '../src/tasks/index.ts'
import { batchVersion } from '../src/tasks/settle.ts'
import { settlementOf, useDatabase } from './setup.ts'

const db = useDatabase()
afterEach(async () => expect(await findImbalances(db)).toEqual([]))

/** Claims new batches of one recipient each. */
async function claim(count: number): Promise<ClaimedBatch[]> {
  const batches = Array.from({ length: count }, (_, i) => ({
    channel: 'fcm' as const,
    certificateId: 1,
    recipients: [i + 1],
    tried: [],
  }))
  const { released } = await acceptPlan(db, 'app', { batches })
  return claimBatches(
    db.pool,
    { channel: 'fcm', certificateIds: [1], batches: released },
    { seconds: 30, worker: 'w' },
  )
}
const sent = (batch: ClaimedBatch) => settlementOf(batch, { status: 's', sent: 1, answered: 1 })
const sentOf = async ({ taskId }: ClaimedBatch) =>
  (await db.pool.query('SELECT sent FROM counter WHERE task_id = $1', [taskId])).rows[0].sent as number

const settle = (over: Database, settlements: Settlement[], onRepeat?: () => void) =>
  settleUntilKnown(over, settlements, async (open) => (await settleBatches(over, open)).settled, onRepeat)

/** Loses the connection at the first settle, before it reaches Postgres or before its reply arrives. */
function losing(what: 'settle' | 'reply'): Database {
  let lost = false
  const query = async (statement: { name: string; text: string }) => {
    const first = statement.name.startsWith('settle') && !lost
    if (first) lost = true
    const result = first && what === 'settle' ? undefined : await db.pool.query(statement)
    if (first) throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
    return result
  }
  return { ...db, pool: { query } } as unknown as Database
}

describe('a settle', () => {
  it.each(['settle', 'reply'] as const)('whose %s was lost is written and counted once', async (what) => {
    const [batch] = await claim(1)
    let repeats = 0
    const settled = await settle(losing(what), [sent(batch!)], () => {
      repeats++
    })
    expect([...settled]).toEqual([`${batch!.taskId}/${batch!.id}`])
    expect([await sentOf(batch!), repeats]).toEqual([1, 1])
  })

  it('that is still running when it is repeated is written and counted once', async () => {
    const [batch] = await claim(1)
    let attempts = 0
    const settled = await settleUntilKnown(db, [sent(batch!)], async (open) => {
      if (++attempts === 1) throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
      // The first attempt, whose connection is gone, commits while the second one waits for its locks.
      await settleBatches(db, open)
      return (await settleBatches(db, open)).settled
    })
    expect([...settled]).toEqual([`${batch!.taskId}/${batch!.id}`])
    expect([await sentOf(batch!), attempts]).toEqual([1, 2])
  })

  it('that cannot be written does not prevent the others', async () => {
    const batches = await claim(3)
    const settlements = batches.map(sent)
    settlements[1]!.reasons = [
      { fate: 'failed', code: 'fcm.X', text: 'not valid: \0', count: 1, samples: [] },
    ]
    const settled = await settle(db, settlements)
    expect(settled.size).toBe(2)
    expect(await sentOf(batches[0]!)).toBe(2)
    expect((await batchVersion(db, batches[1]!.taskId, batches[1]!.id))?.version).toBe(batches[1]!.version)
  })

  it('that cannot be written is found by halves', async () => {
    const batches = await claim(8)
    const settlements = batches.map(sent)
    settlements[1]!.reasons = [
      { fate: 'failed', code: 'fcm.X', text: 'not valid: \0', count: 1, samples: [] },
    ]
    const sizes: number[] = []
    const settled = await settleUntilKnown(db, settlements, async (open) => {
      sizes.push(open.length)
      return (await settleBatches(db, open)).settled
    })
    expect(sizes).toEqual([8, 4, 2, 1, 1, 2, 4])
    expect([settled.size, await sentOf(batches[0]!)]).toEqual([7, 7])
  })

  it.each(['25006', '53100', '53200', '55P03', '57014', '58030', '08P01', '0A000', 'XX000'])(
    'that fails with %s is repeated as a whole',
    async (code) => {
      const batches = await claim(3)
      const sizes: number[] = []
      const settled = await settleUntilKnown(db, batches.map(sent), async (open) => {
        sizes.push(open.length)
        if (sizes.length <= 2) throw Object.assign(new Error('in trouble'), { code, severity: 'ERROR' })
        return (await settleBatches(db, open)).settled
      })
      expect(sizes).toEqual([3, 3, 3])
      expect([settled.size, await sentOf(batches[0]!)]).toEqual([3, 3])
    },
  )

  it('of a batch that another worker has by now writes nothing and returns nothing', async () => {
    const [batch] = await claim(1)
    const settled = await settle(db, [{ ...sent(batch!), version: batch!.version - 1 }])
    expect(settled.size).toBe(0)
    expect(await sentOf(batch!)).toBe(0)
  })
})
