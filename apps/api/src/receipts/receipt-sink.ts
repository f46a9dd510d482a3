import { CoalesceFull, coalesce } from '@herald/async'
import type { Database } from '@herald/db/store'
import { type ReceiptToRecord, recordReceipts } from '@herald/db/tasks'
import { Failure } from '../codes.ts'
import type { Meters } from '../meters.ts'

/**
 * Resolves when the receipts are counted. Requests are written together: one by one, each would cost a commit. Throws Failure when too
 * many receipts wait.
 */
export type ReceiptSink = (receipts: ReceiptToRecord[]) => Promise<void>

const MAX_REQUESTS = 200
/** Receipts per statement: a vendor sends up to 1,000 per call, and 200 calls in one statement would hit its time limit. */
const MAX_ROWS = 1000
/** Groups of requests that may wait, and receipts in all: a few seconds of work, and more than callbacks that are applied at a time have. */
const MAX_GROUPS = 50
const MAX_RECEIPTS = 200_000

export function createReceiptSink(
  db: Database,
  onCounted?: Meters['received'],
  { maxGroups = MAX_GROUPS, maxReceipts = MAX_RECEIPTS } = {},
): ReceiptSink {
  /** Receipts that wait or are being written. */
  let waiting = 0
  const { add } = coalesce<ReceiptToRecord[]>({
    maxItems: MAX_REQUESTS,
    maxGroups,
    async write(groups) {
      const receipts = groups.flat()
      for (let from = 0; from < receipts.length; from += MAX_ROWS)
        await recordReceipts(db, receipts.slice(from, from + MAX_ROWS), onCounted)
    },
  })
  return async (receipts) => {
    if (waiting > 0 && waiting + receipts.length > maxReceipts) throw tooMany()
    waiting += receipts.length
    try {
      await add(receipts)
    } catch (error) {
      throw error instanceof CoalesceFull ? tooMany() : error
    } finally {
      waiting -= receipts.length
    }
  }
}

const tooMany = () =>
  new Failure(50301, 'Too many receipts wait to be counted; these were not accepted.', { retryAfter: 2 })
