import { describe, expect, it } from '@jest/globals'
import { asStrings, clientData } from '../../src/shared/client-data.ts'
import { nextShanghaiMidnight } from '../../src/shared/day.ts'
import { openMeter } from '../../src/shared/sim-meter.ts'
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
  it('is ext with its digits, fields beside it, and the task id over all', () => {
    const task = sampleTask(
      { ext: '{"n":9007199254740993,"a":1.10,"task_id":"x","b":"own"}' },
      { taskId: 42 },
    )
    expect(JSON.stringify(clientData(task, { b: 'ours', c: 'c', d: undefined }))).toBe(
      '{"b":"own","c":"c","n":9007199254740993,"a":1.10,"task_id":"42"}',
    )
  })

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

describe('the meter of a simulated application', () => {
  it('counts by second and by day in Shanghai', () => {
    let now = Date.parse('2025-10-09T23:59:59.500+08:00')
    const meter = openMeter(() => now)
    expect([meter.isOverRate(2), meter.isOverRate(2), meter.isOverRate(2)]).toEqual([false, false, true])
    expect(meter.isOverRate(undefined, 1000)).toBe(false)
    meter.add(3)
    expect(meter.today()).toBe(3)
    now += 1000
    expect(meter.isOverRate(2)).toBe(false)
    expect(meter.today()).toBe(0)
    meter.add(1)
    meter.clear()
    expect(meter.today()).toBe(0)
  })
})
