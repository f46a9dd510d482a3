import { acceptPlan, type TestDatabase, testDatabase } from '@herald/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { findImbalances } from '../src/readings/index.ts'
import { type Database, ensurePartitions, openDatabase } from '../src/store/index.ts'
import {
  type ClaimedBatch,
  claimBatches,
  type Settlement,
  settleBatches,
  settleUntilKnown,
} from '../src/tasks/index.ts'
import { batchVersion } from '../src/tasks/settle.ts'

let database: TestDatabase
let db: Database
beforeAll(async () => {
  database = await testDatabase()
  db = openDatabase(database.url, { max: 5 })
  await ensurePartitions(db)
})
afterAll(async () => {
  await db.close()
  await database.drop()
})
afterEach(async () => expect(await findImbalances(db)).toEqual([]))

/** Batches of one recipient each, claimed. */
async function claim(count: number): Promise<ClaimedBatch[]> {
  const batches = Array.from({ length: count }, (_, i) => ({
    channel: 'fcm' as const,
    certificateId: 1,
    recipients: [i + 1],
    tried: [],
  }))
  const { released } = await acceptPlan(db, 'app', { batches })
  return claimBatches(db.pool, released, { seconds: 30, worker: 'w' })
}
const sent = ({ taskId, id, version }: ClaimedBatch): Settlement => ({
  taskId,
  id,
  version,
  status: 's',
  state: 'settled',
  sent: 1,
  failed: 0,
  moved: 0,
  expired: 0,
  cancelled: 0,
  fallback: [],
  inbox: [],
  reasons: [],
  retire: [],
  answered: 1,
  gone: 0,
})
const sentOf = async ({ taskId }: ClaimedBatch) =>
  (await db.pool.query('SELECT sent FROM counter WHERE task_id = $1', [taskId])).rows[0].sent as number

const settle = (over: Database, settlements: Settlement[], onRepeat?: () => void) =>
  settleUntilKnown(over, settlements, async (open) => (await settleBatches(over, open)).settled, onRepeat)

/** The first settle is lost on its way to Postgres, or its answer on the way back. */
function losing(what: 'settle' | 'answer'): Database {
  let lost = false
  const query = async (statement: { name: string; text: string }) => {
    const first = statement.name.startsWith('settle') && !lost
    if (first) lost = true
    const answer = first && what === 'settle' ? undefined : await db.pool.query(statement)
    if (first) throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
    return answer
  }
  return { ...db, pool: { query } } as unknown as Database
}

describe('a settle', () => {
  it.each(['settle', 'answer'] as const)(
    'whose %s was lost is known in the end, and counted once',
    async (what) => {
      const [batch] = await claim(1)
      let repeats = 0
      const settled = await settle(losing(what), [sent(batch!)], () => {
        repeats++
      })
      expect([...settled]).toEqual([`${batch!.taskId}/${batch!.id}`])
      expect([await sentOf(batch!), repeats]).toEqual([1, 1])
    },
  )

  it('that cannot be written does not take the others with it', async () => {
    const batches = await claim(3)
    const settlements = batches.map(sent)
    settlements[1]!.reasons = [{ fate: 'failed', reason: 'no text of Postgres: \0', count: 1, samples: [] }]
    const settled = await settle(db, settlements)
    expect(settled.size).toBe(2)
    expect(await sentOf(batches[0]!)).toBe(2)
    expect((await batchVersion(db, batches[1]!.taskId, batches[1]!.id))?.version).toBe(batches[1]!.version)
  })

  it('of a batch that is another’s by now writes nothing and says so', async () => {
    const [batch] = await claim(1)
    const settled = await settle(db, [{ ...sent(batch!), version: batch!.version - 1 }])
    expect(settled.size).toBe(0)
    expect(await sentOf(batch!)).toBe(0)
  })
})
