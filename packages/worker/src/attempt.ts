import type { Recipient } from '@herald/channels'
import type { ClaimedBatch, PlannedTask } from '@herald/db/tasks'
import { letters, type RecipientResult } from '@herald/domain'

/** One claimed batch while it is sent. Each recipient gets one result, by its index in the batch. */
export type Attempt = {
  batch: ClaimedBatch
  task: PlannedTask
  results: Map<number, RecipientResult>
  /** Pending recipients to send to, with their index in the batch. */
  targets: { index: number; recipient: Recipient }[]
  /** Those of `targets` that were counted for the day; the governor may have removed some of them from `targets` afterwards. */
  counted?: readonly Attempt['targets'][number][]
  /** How long the breaker of its certificate has been open, in seconds; undefined if it is not. */
  breakerOpenFor?: number
}

export function forPending(batch: ClaimedBatch, visit: (index: number, deviceId: number) => void): void {
  for (let index = 0; index < batch.status.length; index++) {
    if (batch.status[index] === letters.pending) visit(index, batch.recipients[index]!)
  }
}

/** Gives every recipient without a result the same one. */
export function setRemaining({ batch, results }: Attempt, result: RecipientResult): void {
  forPending(batch, (index) => {
    if (!results.has(index)) results.set(index, result)
  })
}

/** Returns the results that no partial settle has written yet. */
export function unsettledResults({ batch, results }: Attempt): Map<number, RecipientResult> {
  return new Map([...results].filter(([index]) => batch.status[index] === letters.pending))
}
