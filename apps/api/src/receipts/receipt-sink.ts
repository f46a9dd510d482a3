import { coalesce } from '@herald/async'
import type { Database } from '@herald/db/store'
import { type ReceiptToRecord, recordReceipts } from '@herald/db/tasks'
import type { Meters } from '../meters.ts'

/** Resolves when the receipts are counted. Requests are written together: one by one, each would cost a commit. */
export type ReceiptSink = (receipts: ReceiptToRecord[]) => Promise<void>

const MAX_REQUESTS = 200
/** Receipts per statement: a vendor sends up to 1,000 per call, and 200 calls in one statement would hit its time limit. */
const MAX_ROWS = 1000

export function createReceiptSink(db: Database, onCounted?: Meters['received']): ReceiptSink {
  const { add } = coalesce<ReceiptToRecord[]>({
    maxItems: MAX_REQUESTS,
    async write(groups) {
      const receipts = groups.flat()
      for (let from = 0; from < receipts.length; from += MAX_ROWS)
        await recordReceipts(db, receipts.slice(from, from + MAX_ROWS), onCounted)
    },
  })
  return add
}
