import type { Recipient } from '@herald/channels'
import type { ClaimedBatch, PlannedTask } from '@herald/db/tasks'
import { type Answer, letters, type Outcome } from '@herald/domain'

/** One claimed batch on its way to the vendor: answers arrive by recipient index, each once. */
export type Attempt = {
  batch: ClaimedBatch
  task: PlannedTask
  answers: Map<number, Answer>
  /** Pending recipients that are to be sent to, with their index in the batch. */
  recipients: { index: number; recipient: Recipient }[]
}

export function forPending(batch: ClaimedBatch, visit: (index: number, deviceId: number) => void): void {
  for (let index = 0; index < batch.status.length; index++) {
    if (batch.status[index] === letters.pending) visit(index, batch.recipients[index]!)
  }
}

/** Gives everybody who has no answer yet the same one. */
export function answerRest({ batch, answers }: Attempt, outcome: Outcome): void {
  forPending(batch, (index) => {
    if (!answers.has(index)) answers.set(index, outcome)
  })
}

/** Answers for recipients that no partial settle has written down yet. */
export function unsettledAnswers({ batch, answers }: Attempt): Map<number, Answer> {
  return new Map([...answers].filter(([index]) => batch.status[index] === letters.pending))
}
