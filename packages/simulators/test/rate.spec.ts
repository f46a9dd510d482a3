import { expect, it } from '@jest/globals'
import { bySecond, byShanghaiDay, openRateMeter } from '../src/frame/rate.ts'

it('counts per second and per day in Shanghai, each name separately', () => {
  let now = Date.parse('2025-10-09T23:59:59.500+08:00')
  const rate = openRateMeter(2, () => now, bySecond)
  const day = openRateMeter(undefined, () => now, byShanghaiDay)
  const taken = [rate.take('a', 1), rate.take('a', 2), rate.take('a', 1), rate.take('b', 2)]
  expect(taken).toEqual([true, false, true, true])
  expect(day.take('a', 1000)).toBe(true)
  day.add('a', 3)
  expect([day.used('a'), day.used('b')]).toEqual([3, 0])
  now += 1000
  expect(rate.take('a', 2)).toBe(true)
  expect(day.used('a')).toBe(0)
  rate.clear()
  expect(rate.used('a')).toBe(0)
})
