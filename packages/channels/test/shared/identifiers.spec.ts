import { describe, expect, it } from '@jest/globals'
import { readTaskId } from '../../src/shared/identifiers.ts'
import { nextShanghaiHour, nextShanghaiMidnight } from '../../src/shared/shanghai-time.ts'

describe('nextShanghaiMidnight', () => {
  it.each([
    ['2025-10-09T16:53:20+08:00', '2025-10-10T00:00:00+08:00'],
    ['2025-10-09T23:59:59.999+08:00', '2025-10-10T00:00:00+08:00'],
    ['2025-10-10T00:00:00+08:00', '2025-10-10T00:02:00+08:00'],
    ['2025-12-31T16:00:01Z', '2026-01-01T00:02:01+08:00'],
    ['2025-10-10T00:09:59.999+08:00', '2025-10-10T00:11:59.999+08:00'],
    ['2025-10-10T00:10:00+08:00', '2025-10-11T00:00:00+08:00'],
    ['2025-12-31T16:11:00Z', '2026-01-02T00:00:00+08:00'],
  ])('of %s is %s', (now, midnight) => {
    expect(nextShanghaiMidnight(Date.parse(now))).toBe(Date.parse(midnight))
  })
})

describe('nextShanghaiHour', () => {
  it.each([
    ['2025-10-10T06:59:59+08:00', '2025-10-10T07:00:00+08:00'],
    ['2025-10-10T07:00:02+08:00', '2025-10-10T07:02:02+08:00'],
    ['2025-10-10T07:10:00+08:00', '2025-10-11T07:00:00+08:00'],
    ['2025-10-10T00:00:02+08:00', '2025-10-10T07:00:00+08:00'],
  ])('of %s and 7 is %s', (now, opening) => {
    expect(nextShanghaiHour(Date.parse(now), 7)).toBe(Date.parse(opening))
  })
})

describe('the task id of a receipt', () => {
  it.each([
    ['42', 42],
    [42, 42],
    [' 42 ', 42],
    ['9007199254740991', 9007199254740991],
    ['', 0],
    [undefined, 0],
    [null, 0],
  ])('is read from %j as %j', (param, taskId) => {
    expect(readTaskId(param)).toBe(taskId)
  })

  it.each(['job-42', '0', '-1', '042', '1.5', '9007199254740993', '99999999999999999999', {}, true])(
    'is not ours in %j',
    (param) => {
      expect(readTaskId(param)).toBeUndefined()
    },
  )
})
