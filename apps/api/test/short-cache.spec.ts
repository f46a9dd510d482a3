import { afterEach, expect, it, jest } from '@jest/globals'
import { createShortCache } from '../src/auth/short-cache.ts'

afterEach(() => {
  jest.restoreAllMocks()
})

it('asks again when its time is over, although the clock was set back meanwhile', async () => {
  let elapsed = 0
  jest.spyOn(performance, 'now').mockImplementation(() => elapsed)
  let reads = 0
  const cache = createShortCache(async () => ++reads, 1000)
  expect(await cache.get('a')).toBe(1)
  elapsed = 999
  expect(await cache.get('a')).toBe(1)
  const real = Date.now
  jest.spyOn(Date, 'now').mockImplementation(() => real() - 3_600_000)
  elapsed = 1001
  expect(await cache.get('a')).toBe(2)
})
