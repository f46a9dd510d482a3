import type { Channel } from './channel-names.ts'
import { letters } from './letters.ts'
import type { Outcome } from './outcome.ts'
import type { NewBatch, Plan } from './plan.ts'
import { gatherReasons, ownerChanged, type Reason } from './reasons.ts'
import { judge, type Trouble } from './verdict.ts'

/** What is known of one recipient after an attempt. */
export type Answer =
  | Outcome
  /** The device changed its user since it was planned. */
  | { kind: 'left' }
  /** The governor asks to wait so many seconds; no trouble of the vendor's, so patience does not run. */
  | { kind: 'held'; wait: number }
  /** It acknowledged on the native channel while this one was still waiting. */
  | { kind: 'acknowledged' }

/** Recipients of one attempt by what is to be done with them; indexes are positions in the batch's recipients. */
export type Sorted = {
  sent: number[]
  left: number[]
  acknowledged: number[]
  next: { index: number; reason: string; elseWait?: number }[]
  again: { index: number; wait: number }[]
  gone: { index: number; since?: number }[]
  /** Recipients about whose token the vendor has spoken. */
  answered: number
  troubled: boolean
}

export function sortAnswers(answers: ReadonlyMap<number, Answer>, trouble: Trouble): Sorted {
  const sorted: Sorted = {
    sent: [],
    left: [],
    acknowledged: [],
    next: [],
    again: [],
    gone: [],
    answered: 0,
    troubled: false,
  }
  for (const [index, answer] of answers) {
    if (answer.kind === 'left') {
      sorted.left.push(index)
      continue
    }
    if (answer.kind === 'acknowledged') {
      sorted.acknowledged.push(index)
      continue
    }
    if (answer.kind === 'held') {
      sorted.again.push({ index, wait: answer.wait })
      continue
    }
    if (answer.kind === 'accepted' || answer.kind === 'gone') sorted.answered++
    if (answer.kind === 'gone') sorted.gone.push({ index, since: answer.since })
    if (answer.kind === 'throttled' || answer.kind === 'unavailable') sorted.troubled = true
    const verdict = judge(answer, trouble)
    if (verdict.do === 'sent') sorted.sent.push(index)
    else if (verdict.do === 'next')
      sorted.next.push({ index, reason: verdict.reason, elseWait: verdict.elseWait })
    else sorted.again.push({ index, wait: verdict.wait })
  }
  return sorted
}

/** The counts and letters that one write brings to a batch. */
export type Fold = {
  status: string
  pending: number
  /** Seconds the pending ones wait. */
  wait: number
  sent: number
  failed: number
  moved: number
  expired: number
  cancelled: number
  fallback: NewBatch[]
  inbox: number[]
  reasons: Reason[]
}

/** Waits up to this long are taken together: the longest of them respects every Retry-After. */
const SHORT_WAIT = 120

/**
 * Turns sorted answers into one write. `plan` holds the routes of the recipients in `sorted.next`: who is in none of its
 * batches has no other channel left, and waits or has failed. The inbox is for those who failed: who can still be sent to on
 * this channel waits for it, as planning lets them wait for a closed one.
 */
export function foldAttempt(
  batch: { recipients: readonly number[]; status: string },
  sorted: Sorted,
  plan: Plan,
): Fold {
  const status = batch.status.split('')
  const boxed = new Set(plan.inbox)
  const placed = new Set<number>()
  for (const { recipients } of plan.batches) for (const id of recipients) placed.add(id)
  const waits: number[] = sorted.again.map(({ wait }) => wait)
  const fold = {
    sent: sorted.sent.length,
    failed: 0,
    moved: 0,
    expired: sorted.left.length,
    cancelled: sorted.acknowledged.length,
  }
  const { note, reasons } = gatherReasons()

  for (const index of sorted.sent) status[index] = letters.sent
  for (const index of sorted.left) {
    status[index] = letters.expired
    note('expired', ownerChanged, batch.recipients[index]!)
  }
  for (const index of sorted.acknowledged) {
    status[index] = letters.cancelled
    note('cancelled', 'the device acknowledged it on the native channel', batch.recipients[index]!)
  }
  for (const { index, reason, elseWait } of sorted.next) {
    const device = batch.recipients[index]!
    if (elseWait !== undefined) boxed.delete(device)
    if (placed.has(device) || boxed.has(device)) {
      status[index] = letters.moved
      fold.moved++
      note('moved', reason, device)
    } else if (elseWait !== undefined) waits.push(elseWait)
    else {
      status[index] = letters.failed
      fold.failed++
      note('failed', reason, device)
    }
  }
  return {
    ...fold,
    status: status.join(''),
    pending: status.reduce((open, letter) => (letter === letters.pending ? open + 1 : open), 0),
    wait: waitOf(waits),
    fallback: plan.batches,
    inbox: [...boxed],
    reasons: reasons(),
  }
}

/** A vendor's time may be nonsense; one that Postgres cannot store would undo the whole settle. */
const MOST_WAIT = 30 * 86_400
const sane = (wait: number) => Math.min(MOST_WAIT, Math.max(0, Number.isNaN(wait) ? 60 : wait))

function waitOf(given: number[]): number {
  if (given.length === 0) return 0
  const waits = given.map(sane)
  const short = waits.filter((wait) => wait <= SHORT_WAIT)
  return short.length > 0 ? Math.max(...short) : Math.min(...waits)
}

/** Channels a recipient may not get again once this batch has given it up. */
export function triedAfter(batch: { tried: readonly Channel[]; channel: Channel }): Channel[] {
  return [...new Set([...batch.tried, batch.channel])]
}
