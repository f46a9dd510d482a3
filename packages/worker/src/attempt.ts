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
  /** Of a message to Live Activities, whose tokens are not those of the devices. */
  activities?: SentActivities
  /** Those of `targets` that were counted for the day; the governor may have removed some of them from `targets` afterwards. */
  counted?: readonly Target[]
  /** How long the breaker of its certificate has been open, in seconds; undefined if it is not. */
  breakerOpenFor?: number
}

export function newAttempt(batch: ClaimedBatch, task: PlannedTask): Attempt {
  return { batch, task, results: new Array(batch.recipients.length).fill(undefined), targets: [] }
}

export type SentActivities = {
  /** Outcomes so far of devices with several targets, because they show several of the activities. */
  several: Map<number, { targets: number; outcomes: RecipientResult[] }>
  /** Tokens that serve no longer: the vendor called them dead, or accepted the end of their activity. */
  ended: { deviceId: number; token: string; since: number }[]
}

/** Stores the outcome of one target. A device with several of them has a result when all have their outcome. */
export function setOutcome(
  attempt: Attempt,
  { index, deviceId, token }: Target,
  outcome: RecipientResult,
): void {
  const { results, activities, batch, task } = attempt
  if (activities) {
    if (outcome.kind === 'gone')
      activities.ended.push({ deviceId, token, since: outcome.since ?? batch.claimedAt })
    if (outcome.kind === 'accepted' && task.message.ios.liveActivity?.event === 'end')
      activities.ended.push({ deviceId, token, since: batch.claimedAt })
  }
  const several = activities?.several.get(index)
  if (!several) {
    results[index] = outcome
    return
  }
  several.outcomes.push(outcome)
  if (several.outcomes.length === several.targets) results[index] = combine(several.outcomes)
}

/** Outcomes that say that a target is tried again come first: the others of the device then get the same update twice, which changes nothing. */
const precedence: readonly RecipientResult['kind'][][] = [
  ['deferred', 'throttled', 'unavailable', 'quota', 'misconfigured'],
  ['accepted'],
  ['rejected', 'unsupported'],
]

function combine(outcomes: readonly RecipientResult[]): RecipientResult {
  for (const kinds of precedence) {
    const found = outcomes.find(({ kind }) => kinds.includes(kind))
    if (found) return found
  }
  return outcomes[0]!
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
