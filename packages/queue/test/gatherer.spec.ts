import { describe, expect, it, jest } from '@jest/globals'
import { QueueUnavailable } from '../src/errors.ts'
import { createGatherer } from '../src/gatherer.ts'

const options = { label: 'the queue', limitMs: 100, groupSize: 3, groupsWaiting: 2 }

/** A store whose answers the test gives by hand. */
function manualStore() {
  const calls: { items: number[]; answer: PromiseWithResolvers<void> }[] = []
  const store = (items: number[]) => {
    const answer = Promise.withResolvers<void>()
    calls.push({ items, answer })
    return answer.promise
  }
  return { calls, store }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('a gatherer', () => {
  it('stores a lone item without waiting for more', async () => {
    const { calls, store } = manualStore()
    const added = createGatherer({ ...options, limitMs: 60_000, store }).add(1)
    await turn()
    expect(calls.map(({ items }) => items)).toEqual([[1]])
    calls[0]?.answer.resolve()
    await added
  })

  it('stores what arrives during a store as the next groups, full ones first', async () => {
    const { calls, store } = manualStore()
    const gatherer = createGatherer({ ...options, limitMs: 60_000, store })
    const first = gatherer.add(1)
    await turn()
    const others = [2, 3, 4, 5].map((item) => gatherer.add(item))
    await turn()
    expect(calls).toHaveLength(1)
    for (const group of [0, 1, 2]) {
      calls[group]?.answer.resolve()
      await turn()
      await turn()
    }
    await Promise.all([first, ...others])
    expect(calls.map(({ items }) => items)).toEqual([[1], [2, 3, 4], [5]])
  })

  it('tells every caller of a group that failed, and goes on', async () => {
    const { calls, store } = manualStore()
    const gatherer = createGatherer({ ...options, store })
    const failed = Promise.allSettled([gatherer.add(1), gatherer.add(2)])
    await turn()
    const later = gatherer.add(3)
    calls[0]?.answer.reject(new Error('out of memory'))
    for (const { status, ...rest } of await failed) {
      expect(status).toBe('rejected')
      expect(rest).toEqual({ reason: expect.any(QueueUnavailable) })
      expect(rest).toEqual({
        reason: expect.objectContaining({ message: expect.stringMatching(/out of memory/) }),
      })
    }
    await turn()
    calls[1]?.answer.resolve()
    await later
  })

  it('gives a hung store up within the limit and stores the next group', async () => {
    const { calls, store } = manualStore()
    const gatherer = createGatherer({ ...options, store })
    await expect(gatherer.add(1)).rejects.toThrow('the queue did not answer within 100 ms')
    const next = gatherer.add(2)
    await turn()
    await turn()
    expect(calls.map(({ items }) => items)).toEqual([[1], [2]])
    calls[1]?.answer.resolve()
    await next
  })

  it('does not let an item wait twice the limit behind a hung store', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] })
    try {
      const { store } = manualStore()
      const gatherer = createGatherer({ ...options, limitMs: 1_000, store })
      const added = Promise.allSettled([gatherer.add(1), turn().then(() => gatherer.add(2))])
      await turn()
      await jest.advanceTimersByTimeAsync(1_000)
      expect(await added).toEqual(Array(2).fill({ status: 'rejected', reason: expect.any(QueueUnavailable) }))
    } finally {
      jest.useRealTimers()
    }
  })

  it('refuses at once what would pile up behind a slow store', async () => {
    const { calls, store } = manualStore()
    const gatherer = createGatherer({ ...options, limitMs: 60_000, store })
    const taken = [gatherer.add(0)]
    await turn()
    for (let item = 1; item <= 6; item += 1) taken.push(gatherer.add(item))
    await expect(gatherer.add(7)).rejects.toThrow('the queue is behind: 6 jobs wait to be stored')
    for (const group of [0, 1, 2]) {
      calls[group]?.answer.resolve()
      await turn()
      await turn()
    }
    await Promise.all(taken)
  })
})
