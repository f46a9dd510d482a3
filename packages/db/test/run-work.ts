import { openQueues, pushQueue } from '@herald/queue'
import { acceptPlan } from '@herald/testkit/accept-plan'
import { ensurePartitions, isUnreachable, openDatabase } from '../src/store/index.ts'
import { AcceptInDoubt, claimBatches, settleBatches, settleUntilKnown } from '../src/tasks/index.ts'
import { settlementOf } from './settlement-of.ts'

// A separate process that accepts, enqueues, claims and settles until SIGTERM. An error event or a rejection that nobody handles
// ends it.
const [url = ''] = process.argv.slice(2)
const print = (line: string) => process.stdout.write(`${line}\n`)
const db = openDatabase(url, { max: 6, waitMs: 60_000 })
await ensurePartitions(db)
const queues = await openQueues({ url, log: { warn() {}, error() {} }, limitMs: 1_000 })
const queue = pushQueue('fcm')
let stopping = false
let settled = 0

/** Errors of an outage are expected; any other ends the process. */
const inOutage = (error: unknown) => {
  const expected =
    isUnreachable(error) || error instanceof AcceptInDoubt || (error as Error).name === 'QueueUnavailable'
  if (!expected) throw error
}

const worker = queues.work(
  queue,
  { concurrency: 4, onDead: (reason) => print(`dead: ${reason}`) },
  async ({ batches }) => {
    try {
      const lease = { seconds: 30, worker: crypto.randomUUID() }
      const claimed = await claimBatches(db.pool, { channel: 'fcm', certificateIds: [1], batches }, lease)
      const settlements = claimed.map((batch) => settlementOf(batch, { status: 's', sent: 1, answered: 1 }))
      const settle = async (open: typeof settlements) => (await settleBatches(db, open)).settled
      await settleUntilKnown(db, settlements, (open) => settle([...open]))
      settled += claimed.length
      print(`settled ${settled}`)
    } catch (error) {
      inOutage(error)
    }
  },
)

async function acceptUntilStopped(): Promise<void> {
  while (!stopping) {
    try {
      const batch = { channel: 'fcm' as const, certificateId: 1, recipients: [1], tried: [] }
      const { released } = await acceptPlan(db, 'app', { batches: [batch] })
      await queues.add(queue, { certificateIds: ['1'], batches: released })
    } catch (error) {
      inOutage(error)
    }
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
const accepting = Promise.all([acceptUntilStopped(), acceptUntilStopped(), acceptUntilStopped()])

process.on('SIGTERM', async () => {
  stopping = true
  await accepting
  await worker.drain()
  await queues.close()
  await db.close()
  print('closed')
})
