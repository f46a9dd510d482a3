import { pushQueue } from '@herald/queue'
import { until } from '@herald/testkit'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { createBacklogCheck } from '../src/queue-backlog.ts'

afterEach(() => {
  jest.restoreAllMocks()
})

describe('a queue', () => {
  it('is long while many jobs of the high lane wait, and is read at most four times per second', async () => {
    const started = performance.now()
    let later = 0
    jest.spyOn(performance, 'now').mockImplementation(() => started + later)
    let ahead = 500
    let asked = 0
    const isLong = createBacklogCheck({
      ahead: async () => {
        asked++
        return ahead
      },
    })
    const apns = pushQueue('apns')
    await until(() => isLong(apns))
    expect(asked).toBe(1)
    ahead = 499
    expect(isLong(apns)).toBe(true)
    later = 251
    isLong(apns)
    await until(() => !isLong(apns))
    expect(asked).toBe(2)
  })

  it('that does not answer is not long', async () => {
    const isLong = createBacklogCheck({ ahead: () => Promise.reject(new Error('away')) })
    expect(isLong(pushQueue('apns'))).toBe(false)
    await new Promise(setImmediate)
    expect(isLong(pushQueue('apns'))).toBe(false)
  })
})
