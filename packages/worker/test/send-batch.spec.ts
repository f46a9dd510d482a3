import type { SendContext, Transport } from '@herald/channels'
import { type Outcome, ownReasons } from '@herald/domain'
import { SharedStateUnavailable } from '@herald/program'
import { describe, expect, it } from '@jest/globals'
import type { Attempt } from '../src/attempt.ts'
import { sendBatch, sendSingles } from '../src/send-batch.ts'

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

describe('sendBatch in several calls', () => {
  const reason = { code: 'meizu.1', text: 'r' }
  /** Sends to six recipients in calls of two; `outcomeOf` gets the number of the recipient. */
  async function send(outcomeOf: (recipient: number) => Outcome, parallelCalls = 1) {
    const attempt = attemptOf(6)
    let calls = 0
    const transport: Transport<unknown> = {
      ...hanging,
      async send(_, recipients, { report }) {
        calls++
        recipients.forEach(({ deviceId }, at) => {
          report(at, outcomeOf(deviceId))
        })
      },
    }
    await sendBatch(
      attempt,
      {},
      transport,
      { tokensPerCall: 2, parallelCalls, timeoutMs: 60_000 },
      () => never,
    )
    return { calls, results: attempt.results }
  }

  it.each<Outcome>([
    { kind: 'throttled', reason, retryAfter: 5 },
    { kind: 'misconfigured', reason },
  ])(
    'makes no further call after $kind for all of a call, and gives the rest the same outcome',
    async (stop) => {
      const { calls, results } = await send((recipient) => (recipient < 2 ? { kind: 'accepted' } : stop))
      expect(calls).toBe(2)
      expect(results).toEqual([{ kind: 'accepted' }, { kind: 'accepted' }, stop, stop, stop, stop])
      expect((await send(() => stop, 2)).calls).toBe(2)
    },
  )

  it.each<[string, (recipient: number) => Outcome]>([
    [
      'only some of a call',
      (recipient) => (recipient % 2 ? { kind: 'throttled', reason } : { kind: 'accepted' }),
    ],
    ['an error that may concern one call', () => ({ kind: 'unavailable', reason })],
    ['a refused message', () => ({ kind: 'rejected', reason })],
  ])('makes all calls after %s', async (_, outcomeOf) => {
    const { calls, results } = await send(outcomeOf)
    expect(calls).toBe(3)
    expect(results).toEqual([0, 1, 2, 3, 4, 5].map(outcomeOf))
  })
})

describe('sendSingles', () => {
  type Call = { payloads: readonly unknown[]; tokens: string[] }
  const bench = (answer: (call: Call, context: SendContext) => Promise<void>) => {
    const calls: Call[] = []
    const transport: Transport<unknown> = {
      ...hanging,
      async sendEach(payloads, recipients, context) {
        calls.push({ payloads, tokens: recipients.map(({ token }) => token) })
        await answer(calls.at(-1)!, context)
      },
    }
    return { calls, transport }
  }
  const singlesOf = (count: number) =>
    Array.from({ length: count }, (_, i) => {
      const attempt = attemptOf(1)
      attempt.targets[0]!.token = `t${i}`
      return { attempt, payload: `p${i}` }
    })
  const limits = { tokensPerCall: 3, parallelCalls: 1, timeoutMs: 60_000 }
  const kindsOf = (singles: ReturnType<typeof singlesOf>) =>
    singles.map(({ attempt }) => attempt.results[0]?.kind)

  it('makes calls of the size of the vendor, and gives each attempt its result', async () => {
    const singles = singlesOf(5)
    const called: number[] = []
    const { calls, transport } = bench(async ({ tokens }, { report }) => {
      tokens.forEach((token, at) => {
        if (token === 't4') report(at, { kind: 'rejected', reason: ownReasons.no_result })
        else if (token !== 't1') report(at, { kind: 'accepted' })
      })
    })
    await sendSingles(
      singles,
      transport,
      { ...limits, onCalled: (seconds) => called.push(seconds) },
      () => never,
    )
    expect(calls).toEqual([
      { payloads: ['p0', 'p1', 'p2'], tokens: ['t0', 't1', 't2'] },
      { payloads: ['p3', 'p4'], tokens: ['t3', 't4'] },
    ])
    expect(called).toHaveLength(2)
    expect(kindsOf(singles)).toEqual(['accepted', 'unavailable', 'accepted', 'accepted', 'rejected'])
  })

  it('makes no further call once all leases are lost, and none for a process that ends', async () => {
    const lost = AbortSignal.abort(new Error('the leases were lost'))
    const singles = singlesOf(5)
    const { calls, transport } = bench(async ({ tokens }, { report }) =>
      tokens.forEach((_, at) => {
        report(at, { kind: 'accepted' })
      }),
    )
    await sendSingles(singles, transport, limits, () => (calls.length === 0 ? never : lost))
    expect(calls).toHaveLength(1)
    expect(kindsOf(singles)).toEqual(['accepted', 'accepted', 'accepted', 'unavailable', 'unavailable'])
    const late = singlesOf(2)
    await sendSingles(late, transport, { ...limits, stopping: lost }, () => never)
    expect(calls).toHaveLength(1)
    expect(kindsOf(late)).toEqual(['deferred', 'deferred'])
  })

  it('keeps what was reported when the call is given up', async () => {
    const singles = singlesOf(3)
    const stopping = new AbortController()
    const { transport } = bench(async (_, { report }) => {
      report(1, { kind: 'accepted' })
      stopping.abort(new Error('ending'))
      await new Promise(() => {})
    })
    await sendSingles(singles, transport, { ...limits, stopping: stopping.signal }, () => never)
    expect(kindsOf(singles)).toEqual(['unavailable', 'accepted', 'unavailable'])
  })
})
