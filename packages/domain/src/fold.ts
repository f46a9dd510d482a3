import type { Channel } from './channel-names.ts'
import { type Ending, endingKinds, endings } from './endings.ts'
import { letters } from './letters.ts'
import type { Outcome } from './outcome.ts'
import type { NewBatch, Plan } from './plan.ts'
import type { Reason } from './reason-codes.ts'
import { groupReasons, type ReasonCount, type Why } from './reasons.ts'
import { judge, PATIENCE_SECONDS, type Trouble } from './verdict.ts'

type Ended = { [Kind in Ending]: { kind: Kind } }[Ending]

/** What is known about one recipient after an attempt. */
export type RecipientResult =
  | Outcome
  | Ended
  /** The governor asks to wait `wait` seconds. The vendor is not in trouble, so PATIENCE_SECONDS does not run. */
  | { kind: 'deferred'; reason: Reason; wait: number }
  /**
   * The certificate is closed, cannot be read, or its breaker has been open too long: the vendor was not called. Without `wait`
   * (seconds) the recipient waits until the certificate can be used again.
   */
  | { kind: 'unsent'; reason: Reason; wait?: number }

/** Recipients of one attempt by what happens to them next; `index` is the position in the batch's recipients. */
export type SortedResults = Record<Ending, number[]> & {
  sent: number[]
  /** `inTrouble`: the result was throttled or unavailable. */
  nextChannel: { index: number; reason: Reason; waitIfNone?: number; inTrouble?: boolean }[]
  retry: { index: number; reason: Reason; wait: number }[]
  gone: { index: number; since?: number }[]
  /** Number of recipients whose token the vendor called good or dead. */
  answered: number
  troubled: boolean
  /** Whether an outcome had `maxTries`. */
  unknownCode: boolean
}

/** `results` are by index in the batch; undefined for recipients without one. */
export function sortResults(
  results: readonly (RecipientResult | undefined)[],
  trouble: Trouble,
): SortedResults {
  const sorted: SortedResults = {
    sent: [],
    ownerChanged: [],
    removed: [],
    disabled: [],
    superseded: [],
    acknowledged: [],
    nextChannel: [],
    retry: [],
    gone: [],
    answered: 0,
    troubled: false,
    unknownCode: false,
  }
  for (let index = 0; index < results.length; index++) {
    const result = results[index]
    if (!result) continue
    if (result.kind === 'accepted') {
      sorted.answered++
      sorted.sent.push(index)
      continue
    }
    if (hasEnded(result)) {
      sorted[result.kind].push(index)
      continue
    }
    if (result.kind === 'deferred') {
      sorted.retry.push({ index, reason: result.reason, wait: result.wait })
      continue
    }
    if (result.kind === 'unsent') {
      sorted.nextChannel.push({ index, reason: result.reason, waitIfNone: result.wait ?? Infinity })
      continue
    }
    if (result.kind === 'gone') {
      sorted.answered++
      sorted.gone.push({ index, since: result.since })
    }
    const inTrouble = result.kind === 'throttled' || result.kind === 'unavailable'
    if (inTrouble) sorted.troubled = true
    if (result.kind === 'unavailable' && result.maxTries !== undefined) sorted.unknownCode = true
    const verdict = judge(result, trouble)
    if (verdict.do === 'nextChannel')
      sorted.nextChannel.push({ index, reason: verdict.reason, waitIfNone: verdict.waitIfNone, inTrouble })
    else sorted.retry.push({ index, reason: result.reason, wait: verdict.wait })
  }
  return sorted
}

const hasEnded = (result: RecipientResult): result is Ended => result.kind in endings

/** The new status letters of a batch and the changes of its counters, as one write. */
export type Fold = {
  status: string
  pending: number
  /** Seconds until the pending recipients are tried again. Infinity: when their certificate can be used again. */
  wait: number
  sent: number
  failed: number
  moved: number
  expired: number
  cancelled: number
  fallback: NewBatch[]
  inbox: number[]
  reasons: ReasonCount[]
  /** The same reasons with the places of the recipients, and why the pending ones wait. */
  whys: Why[]
}

/**
 * Recipients that are retried, and those of a vendor in trouble that have no other channel, wait together, up to this many seconds, for the
 * longest of their waits: a vendor that asks to wait is not called earlier because another recipient of the batch could be tried.
 */
const MAX_RETRY_WAIT = PATIENCE_SECONDS
/** All others that only stay for want of another channel delay the batch up to this many seconds. A daily quota must not. */
const MAX_OTHER_WAIT = 120

/** The next routes of recipients. */
export type NextPlan = Plan & {
  /** Devices that have another channel, which does not send at present either. */
  otherUnavailable?: ReadonlySet<number>
}

/**
 * How often a recipient that waits for its channel is offered to another one that does not send either. Nothing wakes its batch when
 * only the other channel is used again.
 */
const OFFER_SECONDS = 300

/**
 * Turns the results of an attempt into one write. `plan` has the next routes of the recipients in `sorted.nextChannel`. A
 * recipient in none of its batches has no other channel: it waits for this one if `waitIfNone` is set, otherwise it gets an
 * inbox entry if the plan has one for it, otherwise it failed.
 */
export function foldAttempt(
  batch: { recipients: readonly number[]; status: string },
  sorted: SortedResults,
  plan: NextPlan,
): Fold {
  // Usually all are sent; then the letters need not be looked at one by one.
  if (sorted.sent.length === batch.status.length) return allSent(batch.status.length)
  const status = batch.status.split('')
  const inbox = new Set(plan.inbox)
  const rerouted = new Set(plan.batches.flatMap(({ recipients }) => recipients))
  const waits: Wait[] = sorted.retry.map(({ wait }) => ({ wait, upTo: MAX_RETRY_WAIT }))
  const fold = {
    sent: sorted.sent.length,
    failed: 0,
    moved: 0,
    expired: 0,
    cancelled: 0,
  }
  const { note, reasons, whys } = groupReasons()

  for (const index of sorted.sent) status[index] = letters.sent
  for (const kind of endingKinds) {
    const [fate, reason] = endings[kind]
    for (const index of sorted[kind]) {
      status[index] = letters[fate]
      fold[fate]++
      note(fate, reason, kind === 'removed' ? undefined : batch.recipients[index]!, index)
    }
  }
  for (const { index, reason } of sorted.retry) note('pending', reason, undefined, index)
  for (const { index, reason, waitIfNone, inTrouble } of sorted.nextChannel) {
    const device = batch.recipients[index]!
    if (waitIfNone !== undefined) inbox.delete(device)
    if (rerouted.has(device) || inbox.has(device)) {
      status[index] = letters.moved
      fold.moved++
      note('moved', reason, device, index)
    } else if (waitIfNone !== undefined) {
      const isOffered = waitIfNone > OFFER_SECONDS && plan.otherUnavailable?.has(device)
      const wait = isOffered ? OFFER_SECONDS : waitIfNone
      waits.push({ wait, upTo: inTrouble && !isOffered ? MAX_RETRY_WAIT : MAX_OTHER_WAIT })
      note('pending', reason, undefined, index)
    } else {
      status[index] = letters.failed
      fold.failed++
      note('failed', reason, device, index)
    }
  }
  return {
    ...fold,
    status: status.join(''),
    pending: status.reduce((count, letter) => (letter === letters.pending ? count + 1 : count), 0),
    wait: waitOf(waits),
    fallback: plan.batches,
    inbox: [...inbox],
    reasons: reasons(),
    whys: whys(),
  }
}

function allSent(sent: number): Fold {
  const none = {
    failed: 0,
    moved: 0,
    expired: 0,
    cancelled: 0,
    fallback: [],
    inbox: [],
    reasons: [],
    whys: [],
  }
  return { ...none, sent, status: letters.sent.repeat(sent), pending: 0, wait: 0 }
}

/** A vendor may ask for an extremely long wait. One that Postgres cannot store would roll back the whole settle. */
const MAX_WAIT = 30 * 86_400
const clampWait = (wait: number) => Math.min(MAX_WAIT, Math.max(0, Number.isNaN(wait) ? 60 : wait))

/** Seconds. `upTo`: a longer wait delays no other recipient. */
type Wait = { wait: number; upTo: number }

function waitOf(asked: Wait[]): number {
  if (asked.length === 0) return 0
  const waits = asked
    .filter(({ wait }) => wait !== Infinity)
    .map(({ wait, upTo }) => ({ wait: clampWait(wait), upTo }))
  if (waits.length === 0) return Infinity
  const short = waits.filter(({ wait, upTo }) => wait <= upTo)
  const secondsOf = (list: Wait[]) => list.map(({ wait }) => wait)
  return short.length > 0 ? Math.max(...secondsOf(short)) : Math.min(...secondsOf(waits))
}

/** Channels that recipients leaving this batch must not get again. */
export function triedAfter(batch: { tried: readonly Channel[]; channel: Channel }): Channel[] {
  return [...new Set([...batch.tried, batch.channel])]
}
