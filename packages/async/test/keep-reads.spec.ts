import { describe, expect, it } from '@jest/globals'
import { keepReads } from '../src/index.ts'

function kept(options: { maxKeys?: number; maxAgeMs?: number } = {}) {
  const reads: string[] = []
  const clock = { now: 0 }
  const values = new Map<string, number>()
  const cache = keepReads<string, number | undefined>({
    async read(key) {
      reads.push(key)
      return values.get(key)
    },
    maxKeys: 3,
    maxAgeMs: 1000,
    isMiss: (value) => value === undefined,
    missMs: 10,
    now: () => clock.now,
    ...options,
  })
  return { cache, reads, clock, values }
}

describe('keepReads', () => {
  it('shares one read and keeps its value until it is forgotten or very old', async () => {
    const { cache, reads, clock, values } = kept()
    values.set('a', 1)
    expect(cache.isKept('a')).toBe(false)
    expect(await Promise.all([cache.get('a'), cache.get('a')])).toEqual([1, 1])
    clock.now = 999
    expect(cache.isKept('a')).toBe(true)
    expect([await cache.get('a'), reads]).toEqual([1, ['a']])
    cache.forget('a')
    values.set('a', 2)
    expect([await cache.get('a'), reads.length]).toEqual([2, 2])
    clock.now = 2000
    await cache.get('a')
    expect(reads.length).toBe(3)
    cache.forgetWhere((key) => key === 'a')
    expect(cache.isKept('a')).toBe(false)
    await cache.get('a')
    cache.forgetAll()
    expect(cache.isKept('a')).toBe(false)
  })

  it('drops the key used longest ago, and only that one', async () => {
    const { cache, reads, values } = kept()
    for (const key of ['a', 'b', 'c', 'd']) values.set(key, 1)
    for (const key of ['a', 'b', 'c', 'a', 'd', 'a', 'c', 'd']) await cache.get(key)
    expect(reads).toEqual(['a', 'b', 'c', 'd'])
    await cache.get('b')
    expect(reads).toHaveLength(5)
  })

  it('remembers misses for a short time; they displace no value', async () => {
    const { cache, reads, clock, values } = kept()
    values.set('a', 1)
    await cache.get('a')
    for (let n = 0; n < 20; n++) await cache.get(`unknown ${n}`)
    expect(cache.isKept('a')).toBe(true)
    await cache.get('unknown 19')
    expect(reads).toHaveLength(21)
    clock.now = 10
    values.set('unknown 19', 7)
    expect(await cache.get('unknown 19')).toBe(7)
  })

  it('does not keep a read that was in progress when its key was forgotten, nor one that failed', async () => {
    const answers: PromiseWithResolvers<number>[] = []
    const cache = keepReads<string, number>({
      read() {
        const answer = Promise.withResolvers<number>()
        answers.push(answer)
        return answer.promise
      },
      maxKeys: 3,
      maxAgeMs: 1000,
    })
    const old = cache.get('a')
    cache.forget('a')
    const fresh = cache.get('a')
    answers[1]!.resolve(2)
    answers[0]!.resolve(1)
    expect([await old, await fresh, await cache.get('a')]).toEqual([1, 2, 2])
    cache.forgetAll()
    const failed = cache.get('a')
    answers[2]!.reject(new Error('away'))
    await expect(failed).rejects.toThrow('away')
    void cache.get('a')
    expect(answers).toHaveLength(4)
  })
})
