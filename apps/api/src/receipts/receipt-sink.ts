import type { Database } from '@herald/db/store'
import { type ReceiptToRecord, recordReceipts } from '@herald/db/tasks'
import type { Meters } from '../meters.ts'
import { gather } from './gather.ts'

/** Resolves when the receipts are counted. One by one they would cost a commit each. */
export type ReceiptSink = (receipts: ReceiptToRecord[]) => Promise<void>

/** Requests whose receipts are written together at most. */
const GROUP = 200
/** Receipts of one statement: a vendor puts a thousand into one call, and two hundred of those outlast any time limit. */
const ROWS = 1000

export function createReceiptSink(db: Database, onCounted?: Meters['received']): ReceiptSink {
  return gather<ReceiptToRecord[], void>(async (groups) => {
    const receipts = groups.flat()
    for (let from = 0; from < receipts.length; from += ROWS)
      await recordReceipts(db, receipts.slice(from, from + ROWS), onCounted)
    return groups.map(() => undefined)
  }, GROUP)
}
