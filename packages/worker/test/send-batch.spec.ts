import type { Transport } from '@herald/channels'
import { ownReasons } from '@herald/domain'
import { SharedStateUnavailable } from '@herald/program'
import { describe, expect, it } from '@jest/globals'
import type { Attempt } from '../src/attempt.ts'
import { sendBatch } from '../src/send-batch.ts'

const attemptOf = (count: number): Attempt =>
  ({
    batch: { status: '.'.repeat(count), recipients: Array.from({ length: count }, (_, i) => i) },
    results: new Array(count).fill(undefined),
    targets: Array.from({ length: count }, (_, index) => ({
      index,
      deviceId: index,
      token: `${index}`,
    })),
  }) as unknown as Attempt

const hanging: Transport<unknown> = {
  send: () => new Promise(() => {}),
  check: async () => ({ ok: true }),
  close: async () => {},
}
const never = new AbortController().signal

describe('sendBatch', () => {
  it('gives up a vendor that hangs when the process must end, and defers the recipients not sent to yet', async () => {
    const attempt = attemptOf(3)
    const stopping = new AbortController()
    const sending = sendBatch(
      attempt,
      {},
      hanging,
      { tokensPerCall: 1, parallelCalls: 1, timeoutMs: 60_000, stopping: stopping.signal },
      () => never,
    )
    stopping.abort(new Error('ending'))
    await sending
    expect(attempt.results.map((result) => result?.kind)).toEqual(['unavailable', 'deferred', 'deferred'])
  })

  it('defers the recipients of a call that could not read what the processes share', async () => {
    const attempt = attemptOf(1)
    const failing = { ...hanging, send: () => Promise.reject(new SharedStateUnavailable('Postgres is away')) }
    await sendBatch(
      attempt,
      {},
      failing,
      { tokensPerCall: 1, parallelCalls: 1, timeoutMs: 60_000 },
      () => never,
    )
    expect(attempt.results).toEqual([{ kind: 'deferred', reason: ownReasons.session_unavailable, wait: 1 }])
  })

  it('makes no further call once the lease is lost', async () => {
    const attempt = attemptOf(3)
    const lost = AbortSignal.abort(new Error('the lease was lost'))
    let calls = 0
    const counting = {
      ...hanging,
      send: async (
        _: unknown,
        __: unknown,
        { report }: { report(i: number, o: { kind: 'accepted' }): void },
      ) => {
        calls++
        report(0, { kind: 'accepted' })
      },
    } as Transport<unknown>
    await sendBatch(attempt, {}, counting, { tokensPerCall: 1, parallelCalls: 1, timeoutMs: 60_000 }, () =>
      calls === 0 ? never : lost,
    )
    expect(calls).toBe(1)
    expect(attempt.results.map((result) => result?.kind)).toEqual(['accepted', 'unavailable', 'unavailable'])
  })
})
