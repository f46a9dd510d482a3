import { type Database, type ReceiptToRecord, recordReceipts } from '@herald/db'
import { gather } from './gather.ts'

/** Resolves when the receipts are counted. One by one they would cost a commit each. */
export type ReceiptSink = (receipts: ReceiptToRecord[]) => Promise<void>

/** Requests whose receipts share a statement at most. */
const GROUP = 200

export function createReceiptSink(db: Database): ReceiptSink {
  return gather<ReceiptToRecord[], void>(async (groups) => {
    await recordReceipts(db, groups.flat())
    return groups.map(() => undefined)
  }, GROUP)
}
