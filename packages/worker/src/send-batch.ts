import { eachConcurrently, rejectOnAbort } from '@herald/async'
import type { SendContext, Transport } from '@herald/channels'
import { type Outcome, ownReasons, type RecipientResult } from '@herald/domain'
import { SharedStateUnavailable } from '@herald/program'
import { type Attempt, setOutcome, setRemaining, type Target } from './attempt.ts'
import { limitCall } from './call-limit.ts'

export type SendLimits = {
  tokensPerCall: number
  /** Maximum number of concurrent calls per batch. */
  parallelCalls: number
  timeoutMs: number
  /** Aborts when the process must end: calls in flight are given up and no further one is made. */
  stopping?: AbortSignal
  onCalled?(seconds: number): void
  /** Called before each call and at each result. */
  onProgress?(): void
}

/**
 * Sends one batch in calls of the vendor's size. Afterwards every recipient has a result: those that the transport did not
 * report, because it threw, hung or was aborted, are `unavailable`. The lease is checked before every call: a process that was
 * frozen must not make another. If the vendor asks to slow down or refuses the credentials for all recipients of a call, those of the
 * calls that have not begun get the same outcome, because the vendor would give it to every further call.
 */
export async function sendBatch(
  attempt: Attempt,
  payload: unknown,
  transport: Transport<unknown>,
  limits: SendLimits,
  leaseSignal: () => AbortSignal,
): Promise<void> {
  const { targets } = attempt
  let stoppedBy: RecipientResult | undefined
  await eachCall(targets.length, limits, async (from, to) => {
    const call = targets.length <= limits.tokensPerCall ? targets : targets.slice(from, to)
    if (stoppedBy) {
      for (const target of call) setOutcome(attempt, target, stoppedBy)
      return
    }
    let refused = 0
    let last: RecipientResult | undefined
    const set = (at: number, outcome: RecipientResult) => {
      setOutcome(attempt, call[at]!, outcome)
      if (outcome.kind !== 'throttled' && outcome.kind !== 'misconfigured') return
      refused++
      last = outcome
    }
    await sendCall(call, (context) => transport.send(payload, call, context), set, limits, leaseSignal)
    if (refused === call.length) stoppedBy = last
  })
  setRemaining(attempt, { kind: 'unavailable', reason: ownReasons.no_result })
}

/** An attempt with one target, and what is sent to it. */
export type Single = { attempt: Attempt; payload: unknown }

/**
 * Sends attempts with one target each, in calls of many: a call of its own costs several times what its one request does. The calls
 * end when all leases are lost; what is reported for a single lost one is refused by its settle.
 */
export async function sendSingles(
  singles: readonly Single[],
  transport: Transport<unknown>,
  limits: SendLimits,
  leaseSignal: () => AbortSignal,
): Promise<void> {
  await eachCall(singles.length, limits, (from, to) => {
    const call = singles.slice(from, to)
    const payloads = call.map(({ payload }) => payload)
    const targets = call.map(({ attempt }) => attempt.targets[0]!)
    return sendCall(
      targets,
      (context) => transport.sendEach!(payloads, targets, context),
      (at, outcome) => setOutcome(call[at]!.attempt, targets[at]!, outcome),
      limits,
      leaseSignal,
    )
  })
  for (const { attempt } of singles)
    setRemaining(attempt, { kind: 'unavailable', reason: ownReasons.no_result })
}

function eachCall(
  count: number,
  { tokensPerCall, parallelCalls }: SendLimits,
  send: (from: number, to: number) => Promise<void>,
): Promise<void> {
  if (count <= tokensPerCall) return send(0, count)
  const starts = Array.from({ length: Math.ceil(count / tokensPerCall) }, (_, i) => i * tokensPerCall)
  return eachConcurrently(starts, parallelCalls, (start) => send(start, start + tokensPerCall))
}

async function sendCall(
  call: readonly Target[],
  send: (context: SendContext) => Promise<void>,
  set: (at: number, outcome: RecipientResult) => void,
  { stopping, timeoutMs, onProgress, onCalled }: SendLimits,
  leaseSignal: () => AbortSignal,
): Promise<void> {
  if (stopping?.aborted) {
    for (let at = 0; at < call.length; at++)
      set(at, { kind: 'deferred', reason: ownReasons.worker_stopping, wait: 0 })
    return
  }
  const limit = limitCall(timeoutMs, [leaseSignal(), stopping])
  const began = performance.now()
  onProgress?.()
  await callVendor(call.length, send, set, limit.signal, onProgress)
  limit.release()
  onCalled?.((performance.now() - began) / 1000)
}

async function callVendor(
  count: number,
  send: (context: SendContext) => Promise<void>,
  set: (at: number, outcome: RecipientResult) => void,
  signal: AbortSignal,
  onProgress?: () => void,
): Promise<void> {
  const reported = new Uint8Array(count)
  const report = (at: number, outcome: Outcome) => {
    // Too late: after the abort the recipients are `unavailable`.
    if (signal.aborted) return
    if (!(at >= 0 && at < count) || reported[at])
      throw new Error('a recipient was reported twice or out of range')
    reported[at] = 1
    set(at, outcome)
    onProgress?.()
  }
  let result: RecipientResult = { kind: 'unavailable', reason: ownReasons.no_result }
  try {
    signal.throwIfAborted()
    // A transport that ignores its signal must not block the worker.
    await Promise.race([send({ signal, report }), rejectOnAbort(signal)])
  } catch (error) {
    if (signal.aborted)
      result = { kind: 'unavailable', reason: ownReasons.vendor_timeout('no answer within the time limit') }
    else if (error instanceof SharedStateUnavailable)
      result = { kind: 'deferred', reason: ownReasons.session_unavailable, wait: 1 }
    else result = { kind: 'unavailable', reason: ownReasons.call_failed(messageOf(error)) }
  }
  for (let at = 0; at < count; at++) if (!reported[at]) set(at, result)
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 200)
}
