import { expect, it } from '@jest/globals'
import { backoffMs } from '../src/backoff.ts'

it.each([
  [0, 0],
  [1, 1_000],
  [2, 2_000],
  [3, 4_000],
  [6, 32_000],
  [7, 60_000],
  [100, 60_000],
])('after %i consecutive failures the longest wait is %i ms, the shortest half of it', (failures, max) => {
  expect([backoffMs(failures, 0), backoffMs(failures, 1)]).toEqual([max, max / 2])
})
