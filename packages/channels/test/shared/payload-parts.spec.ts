import { describe, expect, it } from '@jest/globals'
import { clientData } from '../../src/shared/client-data.ts'
import { timeLeft } from '../../src/shared/time-left.ts'
import { sampleNow, sampleTask } from '../samples.ts'

describe('clientData', () => {
  it('puts the task id beside ext, keeps digits, and lets ext win over fields', () => {
    const task = sampleTask({ ext: '{"id":9007199254740993,"title":"own"}' }, { taskId: 12 })
    const data = clientData(task, { title: 'ours', body: 'b', image: undefined })
    expect(JSON.stringify(data)).toBe('{"title":"own","body":"b","id":9007199254740993,"task_id":"12"}')
  })

  it('never lets ext forge the task id', () => {
    expect(clientData(sampleTask({ ext: '{"task_id":"99"}' }, { taskId: 12 }))).toEqual({ task_id: '12' })
  })
})

describe('timeLeft', () => {
  const bounds = { least: 60, most: 86_400 }
  it.each([
    ['the ttl', 3600, undefined, 3600],
    ['the window when it closes first', 3600, sampleNow + 120, 120],
    ['the vendor’s most', 999_999, sampleNow + 999_999, 86_400],
    ['the vendor’s least', 0, undefined, 60],
    ['the vendor’s least after the window', 3600, sampleNow - 1, 60],
    ['whole seconds', 99.9, undefined, 99],
  ] as const)('is %s', (_name, ttl, showEnd, expected) => {
    expect(timeLeft(sampleTask({ showEnd }, { ttl }), bounds)).toBe(expected)
  })
})
