import type { Recipient } from '@herald/channels'
import type { ClaimedBatch, PlannedTask } from '@herald/db/tasks'
import { letters, type RecipientResult } from '@herald/domain'

/** A pending recipient to send to, with its index in the batch. */
export type Target = Recipient & { index: number }

/** Results by index in the batch; undefined for recipients without one. */
export type Results = (RecipientResult | undefined)[]

/** One claimed batch while it is sent. Each recipient gets one result. */
export type Attempt = {
  batch: ClaimedBatch
  task: PlannedTask
  results: Results
  targets: Target[]
  /** Those of `targets` that were counted for the day; the governor may have removed some of them from `targets` afterwards. */
  counted?: readonly Target[]
  /** How long the breaker of its certificate has been open, in seconds; undefined if it is not. */
  breakerOpenFor?: number
}

export function newAttempt(batch: ClaimedBatch, task: PlannedTask): Attempt {
  return { batch, task, results: new Array(batch.recipients.length).fill(undefined), targets: [] }
}

export function forPending(batch: ClaimedBatch, visit: (index: number, deviceId: number) => void): void {
  for (let index = 0; index < batch.status.length; index++) {
    if (batch.status[index] === letters.pending) visit(index, batch.recipients[index]!)
  }
}

/** Gives every recipient without a result the same one. */
export function setRemaining({ batch, results }: Attempt, result: RecipientResult): void {
  forPending(batch, (index) => {
    results[index] ??= result
  })
}

/** Returns the results that no partial settle has written yet. */
export function unsettledResults({ batch, results }: Attempt): Results {
  return results.map((result, index) => (batch.status[index] === letters.pending ? result : undefined))
}
