import { eachConcurrently } from '@herald/async'
import type { Transport } from '@herald/channels'
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
 * frozen must not make another.
 */
export async function sendBatch(
  attempt: Attempt,
  payload: unknown,
  transport: Transport<unknown>,
  limits: SendLimits,
  leaseSignal: () => AbortSignal,
): Promise<void> {
  const { targets } = attempt
  const { tokensPerCall } = limits
  const starts = Array.from(
    { length: Math.ceil(targets.length / tokensPerCall) },
    (_, i) => i * tokensPerCall,
  )
  await eachConcurrently(starts, Math.min(limits.parallelCalls, starts.length), async (start) => {
    const call = targets.length <= tokensPerCall ? targets : targets.slice(start, start + tokensPerCall)
    if (limits.stopping?.aborted) {
      for (const target of call)
        setOutcome(attempt, target, { kind: 'deferred', reason: ownReasons.worker_stopping, wait: 0 })
      return
    }
    const limit = limitCall(limits.timeoutMs, [leaseSignal(), limits.stopping])
    const began = performance.now()
    limits.onProgress?.()
    await sendCall(attempt, call, payload, transport, limit.signal, limits.onProgress)
    limit.release()
    limits.onCalled?.((performance.now() - began) / 1000)
  })
  setRemaining(attempt, { kind: 'unavailable', reason: ownReasons.no_result })
}

async function sendCall(
  attempt: Attempt,
  call: readonly Target[],
  payload: unknown,
  transport: Transport<unknown>,
  signal: AbortSignal,
  onProgress?: () => void,
): Promise<void> {
  const reported = new Uint8Array(call.length)
  const report = (at: number, outcome: Outcome) => {
    // Too late: after the abort the recipients are `unavailable`.
    if (signal.aborted) return
    const target = call[at]
    if (!target || reported[at]) throw new Error('a recipient was reported twice or out of range')
    reported[at] = 1
    setOutcome(attempt, target, outcome)
    onProgress?.()
  }
  let result: RecipientResult = { kind: 'unavailable', reason: ownReasons.no_result }
  try {
    signal.throwIfAborted()
    await Promise.race([transport.send(payload, call, { signal, report }), rejectOnAbort(signal)])
  } catch (error) {
    if (signal.aborted)
      result = { kind: 'unavailable', reason: ownReasons.vendor_timeout('no answer within the time limit') }
    else if (error instanceof SharedStateUnavailable)
      result = { kind: 'deferred', reason: ownReasons.session_unavailable, wait: 1 }
    else result = { kind: 'unavailable', reason: ownReasons.call_failed(messageOf(error)) }
  }
  call.forEach((target, at) => {
    if (!reported[at]) setOutcome(attempt, target, result)
  })
}

/** A transport that ignores its signal must not block the worker. */
function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 200)
}
