import type { VendorChannel } from '@herald/domain'
import { percentile } from '../metric.ts'
import type { VendorLedger } from './vendors.ts'

/** A task, when its first call was sent and when a call was answered with 200, Unix ms. */
export type TimedTask = { task: number; calledAt: number; acceptedAt: number }
export type Observed = { singles: TimedTask[]; broadcasts: TimedTask[] }

/** What was sent without and during a flood. */
export type FairnessRun = {
  quiet: Observed
  flooded: Observed
  /** Pushes of the flood per second: sent, accepted by the API, and finished by the end of the flood. */
  floodSent: number
  floodAccepted: number
  floodDelivered: number
  /** Share of the machine's CPU time that programs other than the drill used during the flood; undefined if unknown. */
  othersCpu: number | undefined
}

export type Fairness = Pick<FairnessRun, 'floodSent' | 'floodAccepted' | 'floodDelivered' | 'othersCpu'> & {
  /** Single pushes during the flood. */
  singles: number
  /** Milliseconds from the call to the vendor's acceptance, 95th percentile. */
  p95: number
  quietP95: number
  /** Of these, from the call to the response. */
  acceptP95: number
  /** Speed of the broadcasts during the flood, relative to an equal share: half of their speed without a flood. */
  broadcastShare: number
  /** Whether the limits apply: the machine was quiet. */
  isJudged: boolean
}

const MAX_P95_MS = 2000
const MIN_BROADCAST_SHARE = 0.5
/** With less of the machine left, the figures tell about the other programs. */
const MAX_OTHERS_CPU = 0.15

/** Evaluates a run with the vendors' ledgers. */
export function fairnessOf(
  { quiet, flooded, ...rest }: FairnessRun,
  ledgers: ReadonlyMap<VendorChannel, VendorLedger>,
): Fairness {
  const entriesOf = (task: number) => [...ledgers.values()].flatMap(({ tasks }) => tasks[task] ?? [])
  const p95 = (singles: readonly TimedTask[]) =>
    percentile(
      singles.map(
        // Infinite for a push that no vendor accepted.
        ({ task, calledAt }) => Math.min(...entriesOf(task).map(({ firstAt }) => firstAt)) - calledAt,
      ),
      0.95,
    )
  const duration = (broadcasts: readonly TimedTask[]) =>
    Math.max(...broadcasts.flatMap(({ task }) => entriesOf(task).map(({ lastAt }) => lastAt))) -
    Math.min(...broadcasts.map(({ calledAt }) => calledAt))
  return {
    ...rest,
    singles: flooded.singles.length,
    p95: p95(flooded.singles),
    quietP95: p95(quiet.singles),
    acceptP95: percentile(
      flooded.singles.map(({ calledAt, acceptedAt }) => acceptedAt - calledAt),
      0.95,
    ),
    broadcastShare: (2 * duration(quiet.broadcasts)) / duration(flooded.broadcasts),
    isJudged: rest.othersCpu !== undefined && rest.othersCpu <= MAX_OTHERS_CPU,
  }
}

/** Returns a sentence for each limit that was not kept. */
export function findUnfairness({ isJudged, p95, broadcastShare }: Fairness): string[] {
  if (!isJudged) return []
  return [
    ...(p95 <= MAX_P95_MS
      ? []
      : [`during a flood, 95 % of another application's single pushes took up to ${Math.round(p95)} ms`]),
    ...(broadcastShare >= MIN_BROADCAST_SHARE
      ? []
      : [
          `during a flood, another application's broadcasts got ${broadcastShare.toFixed(2)} of an equal share`,
        ]),
  ]
}
