import type { Transport } from '@herald/channels'
import type { Outcome } from '@herald/domain'
import { type Attempt, answerRest } from './attempt.ts'
import { limitCall } from './call-limit.ts'

export type SendLimits = {
  tokensPerCall: number
  /** Calls of one batch under way at once. */
  parallelCalls: number
  timeoutMs: number
  /** The process ends soon: calls under way are given up, no further one is made. */
  stopping?: AbortSignal
  onCalled?(seconds: number): void
}

/**
 * Sends one batch in calls of the vendor's size. Afterwards every recipient has an answer: whoever the transport did not
 * report, because it threw, hung or was aborted, is `unavailable`. The lease is asked for before every call: a process that
 * was frozen must not make one more.
 */
export async function sendBatch(
  attempt: Attempt,
  payload: unknown,
  transport: Transport<unknown>,
  limits: SendLimits,
  leaseSignal: () => AbortSignal,
): Promise<void> {
  const { recipients } = attempt
  const starts = Array.from(
    { length: Math.ceil(recipients.length / limits.tokensPerCall) },
    (_, i) => i * limits.tokensPerCall,
  )
  const queue = starts.values()
  const lane = async () => {
    for (const start of queue) {
      const call = recipients.slice(start, start + limits.tokensPerCall)
      if (limits.stopping?.aborted) {
        for (const { index } of call) attempt.answers.set(index, { kind: 'held', wait: 0 })
        continue
      }
      const limit = limitCall(limits.timeoutMs, [leaseSignal(), limits.stopping])
      const began = performance.now()
      await sendCall(attempt, call, payload, transport, limit.signal)
      limit.release()
      limits.onCalled?.((performance.now() - began) / 1000)
    }
  }
  await Promise.all(Array.from({ length: Math.min(limits.parallelCalls, starts.length) }, lane))
  answerRest(attempt, { kind: 'unavailable', reason: 'the vendor did not answer' })
}

async function sendCall(
  { answers }: Attempt,
  call: Attempt['recipients'],
  payload: unknown,
  transport: Transport<unknown>,
  signal: AbortSignal,
): Promise<void> {
  const report = (at: number, outcome: Outcome) => {
    // Too late: the time limit has answered for it.
    if (signal.aborted) return
    const index = call[at]?.index
    if (index === undefined || answers.has(index))
      throw new Error('a recipient was reported twice or out of range')
    answers.set(index, outcome)
  }
  let reason = 'the vendor did not answer'
  try {
    signal.throwIfAborted()
    await Promise.race([
      transport.send(
        payload,
        call.map(({ recipient }) => recipient),
        { signal, report },
      ),
      rejectOnAbort(signal),
    ])
  } catch (error) {
    reason = signal.aborted ? 'no answer within the time limit' : `the call failed: ${messageOf(error)}`
  }
  for (const { index } of call) if (!answers.has(index)) answers.set(index, { kind: 'unavailable', reason })
}

/** A transport that ignores its signal must not keep the worker. */
function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 200)
}
