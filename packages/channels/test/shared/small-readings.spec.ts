import { describe, expect, it } from '@jest/globals'
import { asStrings, clientData } from '../../src/shared/client-data.ts'
import { nextShanghaiMidnight } from '../../src/shared/day.ts'
import { bySecond, byShanghaiDay, openRateMeter } from '../../src/shared/sim-rate.ts'
import { readTaskId } from '../../src/shared/task-id.ts'
import { sampleTask } from '../samples.ts'

describe('midnight in Shanghai', () => {
  it.each([
    ['2025-10-09T16:53:20+08:00', '2025-10-10T00:00:00+08:00'],
    ['2025-10-09T23:59:59.999+08:00', '2025-10-10T00:00:00+08:00'],
    ['2025-10-10T00:00:00+08:00', '2025-10-11T00:00:00+08:00'],
    ['2025-12-31T16:00:01Z', '2026-01-02T00:00:00+08:00'],
  ])('after %s comes %s', (now, midnight) => {
    expect(nextShanghaiMidnight(Date.parse(now))).toBe(Date.parse(midnight))
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
    'is somebody else’s in %j',
    (param) => {
      expect(readTaskId(param)).toBeUndefined()
    },
  )
})

describe('what the app on the device reads', () => {
  it('keeps odd keys and values as strings', () => {
    const task = sampleTask(
      { ext: '{"__proto__":{"x":1},"n":1e3,"t":true,"z":null,"l":[1.0]}' },
      { taskId: 42 },
    )
    expect(JSON.stringify(asStrings(clientData(task)))).toBe(
      '{"__proto__":"{\\"x\\":1}","n":"1e3","t":"true","z":"null","l":"[1.0]","task_id":"42"}',
    )
  })
})

describe('the meter of a simulated vendor', () => {
  it('counts by second and by day in Shanghai, each name by itself', () => {
    let now = Date.parse('2025-10-09T23:59:59.500+08:00')
    const rate = openRateMeter(2, () => now, bySecond)
    const day = openRateMeter(undefined, () => now, byShanghaiDay)
    expect([rate.take('a', 1), rate.take('a', 2), rate.take('a', 1), rate.take('b', 2)]).toEqual([
      true,
      false,
      true,
      true,
    ])
    expect(day.take('a', 1000)).toBe(true)
    day.add('a', 3)
    expect([day.used('a'), day.used('b')]).toEqual([3, 0])
    now += 1000
    expect(rate.take('a', 2)).toBe(true)
    expect(day.used('a')).toBe(0)
    rate.clear()
    expect(rate.used('a')).toBe(0)
  })
})
