import { coalesce } from '@herald/async'
import type { Receipt } from '@herald/channels'
import type { Database } from '@herald/db/store'
import {
  forgetCallbacks,
  leaseCallbacks,
  type NewCallback,
  type StoredCallback,
  storeCallbacks,
} from '@herald/db/tasks'
import type { ReadCertificate } from '@herald/plan'
import type { Logger } from '@herald/telemetry'
import { applyReceipts } from './apply-receipts.ts'
import type { ReceiptSink } from './receipt-sink.ts'

/** Vendor callbacks that are stored but not counted yet. A row that its process does not finish is leased to another. */
export type StoredCallbacks = ReturnType<typeof createStoredCallbacks>

const LEASE_SECONDS = 60

export function createStoredCallbacks(deps: { db: Database; receipts: ReceiptSink; log: Logger }) {
  const { db, log } = deps
  const storingFor = (leaseSeconds: number) =>
    coalesce<NewCallback, number>({
      write: (callbacks) => storeCallbacks(db, callbacks, leaseSeconds),
      maxItems: 100,
    })
  const forgetting = coalesce<number>({ write: (ids) => forgetCallbacks(db, ids), maxItems: 1000 })

  return {
    /** Stores a callback for this process, which applies it next. */
    store: storingFor(LEASE_SECONDS).add,
    /** Stores a callback for the sweep of any process. */
    leave: storingFor(0).add,
    forget: forgetting.add,
    lease: (count: number): Promise<StoredCallback[]> => leaseCallbacks(db, count, LEASE_SECONDS),
    /** Counts the receipts and removes the row. On an error the row stays, and the sweep retries after its lease. */
    async apply(
      id: number,
      certificate: ReadCertificate,
      receipts: Receipt[],
      at: number,
      requestId?: string,
    ): Promise<void> {
      try {
        await applyReceipts(deps, certificate, receipts, at)
        await forgetting.add(id)
      } catch (error) {
        log.warn(
          { err: error, requestId, callback: id },
          'could not apply a vendor callback; it will be retried',
        )
      }
    },
  }
}
