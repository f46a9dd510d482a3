import { describe, expect, it, jest } from '@jest/globals'
import {
  CoalesceFull,
  CoalesceTimeout,
  coalesce,
  eachConcurrently,
  retryWithBackoff,
  shareReads,
  sleep,
  tokenBuckets,
  within,
} from '../src/index.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('sleep', () => {
  it('ends early, without an error, when its signal fires', async () => {
    const stop = new AbortController()
    const slept = sleep(3_600_000, stop.signal)
    stop.abort()
    await expect(slept).resolves.toBeUndefined()
    await expect(sleep(3_600_000, stop.signal)).resolves.toBeUndefined()
  })

  it('follows fake timers', async () => {
    jest.useFakeTimers()
    const slept = sleep(3_600_000)
    await jest.advanceTimersByTimeAsync(3_600_000)
    await slept
    jest.useRealTimers()
  })
})

describe('eachConcurrently', () => {
  it('starts no more than the width, in order, and finishes all', async () => {
    let running = 0
    let peak = 0
    const started: number[] = []
    await eachConcurrently([1, 2, 3, 4, 5, 6, 7], 3, async (n) => {
      started.push(n)
      peak = Math.max(peak, ++running)
      await turn()
      running--
    })
    expect({ peak, started }).toEqual({ peak: 3, started: [1, 2, 3, 4, 5, 6, 7] })
  })

  it('makes no more promises than there are items', async () => {
    const allSettled = jest.spyOn(Promise, 'allSettled')
    try {
      await eachConcurrently([1, 2], 32, async () => {})
      await eachConcurrently([], 32, async () => {})
      expect(allSettled.mock.calls.map(([workers]) => [...workers].length)).toEqual([2, 0])
    } finally {
      allSettled.mockRestore()
    }
  })

  it('throws the first error after the calls in progress have ended and starts nothing more', async () => {
    const started: number[] = []
    const ended: number[] = []
    const all = eachConcurrently([1, 2, 3, 4, 5], 2, async (n) => {
      started.push(n)
      if (n === 1) throw new Error('first')
      await turn()
      ended.push(n)
    })
    await expect(all).rejects.toThrow('first')
    expect({ started, ended }).toEqual({ started: [1, 2], ended: [2] })
  })
})

describe('within', () => {
  it('settles like the work when it is in time', async () => {
    await expect(within(Promise.resolve(1), 3_600_000, () => 2)).resolves.toBe(1)
    await expect(within(Promise.reject(new Error('no')), 3_600_000, () => 2)).rejects.toThrow('no')
  })

  it('settles with what `late` returns or throws when the work hangs', async () => {
    const hung = new Promise<number>(() => {})
    await expect(within(hung, 1, () => 2)).resolves.toBe(2)
    const late = () => {
      throw new Error('late')
    }
    await expect(within(hung, 1, late)).rejects.toThrow('late')
  })
})

describe('retryWithBackoff', () => {
  const options = { firstMs: 1, maxMs: 2, isTransient: (error: unknown) => String(error).includes('again') }

  it('repeats through transient errors and reports each', async () => {
    const errors: unknown[] = []
    const work = async (attempt: number) => {
      if (attempt < 3) throw new Error(`again ${attempt}`)
      return attempt
    }
    await expect(retryWithBackoff(work, { ...options, onRetry: (e) => errors.push(e) })).resolves.toBe(3)
    expect(errors.map(String)).toEqual(['Error: again 0', 'Error: again 1', 'Error: again 2'])
  })

  it('throws another error at once, and a transient one after the time or the signal', async () => {
    const fail = (text: string) => async () => {
      throw new Error(text)
    }
    await expect(retryWithBackoff(fail('final'), options)).rejects.toThrow('final')
    await expect(retryWithBackoff(fail('again'), { ...options, forMs: -1 })).rejects.toThrow('again')
    await expect(
      retryWithBackoff(fail('again'), { ...options, signal: AbortSignal.abort() }),
    ).rejects.toThrow('again')
  })
})

describe('tokenBuckets', () => {
  it('gives the burst, then says how long to wait, and refills per key', () => {
    let now = 0
    const { take } = tokenBuckets({ perSecond: 0.5, burst: 2, now: () => now })
    expect([take('a'), take('a'), take('a'), take('b')]).toEqual([0, 0, 2, 0])
    now = 1000
    expect(take('a')).toBe(1)
    now = 2000
    expect([take('a'), take('a')]).toEqual([0, 2])
    now = 3_600_000
    expect([take('a'), take('a'), take('a')]).toEqual([0, 0, 2])
  })

  it('gives several at once or none', () => {
    let now = 0
    const { take } = tokenBuckets({ perSecond: 2, burst: 10, now: () => now })
    expect([take('a', 6), take('a', 8), take('a', 4), take('a')]).toEqual([0, 2, 0, 1])
    now = 2000
    expect([take('a', 5), take('a', 4)]).toEqual([1, 0])
  })

  it('counts a token that was given back as not taken, and no more than that', () => {
    const { take, giveBack } = tokenBuckets({ perSecond: 0.5, burst: 2, now: () => 0 })
    for (let i = 0; i < 10; i++) {
      expect(take('a')).toBe(0)
      giveBack('a')
    }
    giveBack('a')
    expect([take('a'), take('a'), take('a')]).toEqual([0, 0, 2])
    giveBack('a')
    expect([take('a'), take('a')]).toEqual([0, 2])
  })
})

describe('shareReads', () => {
  const reader = <Value>(read: (n: number) => Promise<Value>) => {
    let reads = 0
    return { read: () => read(++reads), count: () => reads }
  }

  it('shares one read between concurrent callers and reads again when the value is too old', async () => {
    let now = 0
    const { read, count } = reader(async (n) => n)
    const shared = shareReads<string, number>({ read, maxAgeMs: 10, now: () => now })
    expect(shared.isFresh('a')).toBe(false)
    const both = [shared.get('a'), shared.get('a')]
    expect(shared.isFresh('a')).toBe(true)
    expect(await Promise.all(both)).toEqual([1, 1])
    now = 9
    expect(await shared.get('a')).toBe(1)
    now = 10
    expect(shared.isFresh('a')).toBe(false)
    expect(await shared.get('a')).toBe(2)
    shared.forget('a')
    expect([await shared.get('a'), count()]).toEqual([3, 3])
  })

  it('keeps neither failures nor misses', async () => {
    const failing = reader(async (n) => {
      if (n === 1) throw new Error('away')
      return n
    })
    const shared = shareReads<string, number>({ read: failing.read, maxAgeMs: 10, now: () => 0 })
    await expect(shared.get('a')).rejects.toThrow('away')
    expect(await shared.get('a')).toBe(2)
    const missing = reader(async (n) => (n === 1 ? undefined : n))
    const misses = shareReads<string, number | undefined>({
      read: missing.read,
      maxAgeMs: 10,
      isMiss: (value) => value === undefined,
      now: () => 0,
    })
    expect([await misses.get('a'), await misses.get('a')]).toEqual([undefined, 2])
  })

  it('hands the previous value to the next read', async () => {
    let now = 0
    const seen: (number | undefined)[] = []
    const shared = shareReads<string, number>({
      read: async (_, previous) => {
        seen.push(previous)
        return (previous ?? 0) + 1
      },
      maxAgeMs: 10,
      now: () => now,
    })
    await shared.get('a')
    now = 20
    await shared.get('a')
    expect(seen).toEqual([undefined, 1])
  })

  it('lets a value age by the time its read took', async () => {
    let now = 0
    const { read } = reader(async (n) => {
      now += 100
      return n
    })
    const shared = shareReads<string, number>({ read, maxAgeMs: (took) => took * 20, now: () => now })
    expect(await shared.get('a')).toBe(1)
    now = 2099
    expect(await shared.get('a')).toBe(1)
    now = 2100
    expect(await shared.get('a')).toBe(2)
  })

  it('drops the key that was read longest ago when there are too many', async () => {
    const { read, count } = reader(async (n) => n)
    const shared = shareReads<string, number>({ read, maxAgeMs: 10, maxKeys: 2, now: () => 0 })
    for (const key of ['a', 'b', 'c', 'b', 'c']) await shared.get(key)
    expect(count()).toBe(3)
    await shared.get('a')
    expect(count()).toBe(4)
  })
})

describe('coalesce', () => {
  const recorder = () => {
    const writes: number[][] = []
    let release: (() => void) | undefined
    return {
      writes,
      write: (items: number[]) => {
        writes.push(items)
        return new Promise<number[]>((resolve) => {
          release = () => resolve(items.map((n) => n * 10))
        })
      },
      release: () => release?.(),
    }
  }

  it('writes what arrived during a write as the next group and gives each item its result', async () => {
    const { writes, write, release } = recorder()
    const { add, flushed } = coalesce({ write, maxItems: 2 })
    const first = add(1)
    await turn()
    const rest = [add(2), add(3), add(4)]
    release()
    expect(await first).toBe(10)
    for (let done = 0; done < 2; done++) {
      await turn()
      release()
      await turn()
    }
    expect(await Promise.all(rest)).toEqual([20, 30, 40])
    await flushed()
    expect(writes).toEqual([[1], [2, 3], [4]])
  })

  it('waits for the window unless the group is full or flushed', async () => {
    const writes: number[][] = []
    const write = async (items: number[]) => void writes.push(items)
    const { add, flushed } = coalesce<number>({ write, maxItems: 2, windowMs: 3_600_000 })
    await Promise.all([add(1), add(2)])
    const third = add(3)
    await turn()
    expect(writes).toEqual([[1, 2]])
    await flushed()
    await third
    expect(writes).toEqual([[1, 2], [3]])
  })

  it('gives the error of a write to its own group alone', async () => {
    const write = async (items: number[]) => {
      if (items.includes(1)) throw new Error('refused')
    }
    const { add } = coalesce<number>({ write, maxItems: 1 })
    const ended = await Promise.allSettled([add(1), add(2)])
    expect(ended.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
  })

  it('refuses items beyond the groups that may wait', async () => {
    const { write, release } = recorder()
    const { add } = coalesce({ write, maxItems: 1, maxGroups: 1 })
    const first = add(1)
    await turn()
    const second = add(2)
    await expect(add(3)).rejects.toThrow(CoalesceFull)
    release()
    await first
    await turn()
    release()
    expect(await second).toBe(20)
  })

  it('gives up a write that hangs and goes on with the next group', async () => {
    const writes: number[][] = []
    const write = (items: number[]) => {
      writes.push(items)
      return items[0] === 1 ? new Promise<void>(() => {}) : Promise.resolve()
    }
    const { add, flushed } = coalesce<number>({ write, maxItems: 1, limitMs: 20 })
    await expect(add(1)).rejects.toThrow(CoalesceTimeout)
    await add(2)
    await flushed()
    expect(writes).toEqual([[1], [2]])
  })
})
