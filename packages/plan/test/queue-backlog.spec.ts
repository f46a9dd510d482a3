import { pushQueue } from '@herald/queue'
import { until } from '@herald/testkit'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { createBacklogCheck } from '../src/queue-backlog.ts'

afterEach(() => {
  jest.restoreAllMocks()
})

describe('a queue', () => {
  it('is long while many jobs wait, and is read at most ten times per second', async () => {
    const started = performance.now()
    let later = 0
    jest.spyOn(performance, 'now').mockImplementation(() => started + later)
    let ahead = 64
    let asked = 0
    const isLong = createBacklogCheck({
      ahead: async () => {
        asked++
        return ahead
      },
    })
    const apns = pushQueue('apns')
    await until(() => isLong(apns, false))
    expect(asked).toBe(1)
    ahead = 63
    expect(isLong(apns, false)).toBe(true)
    later = 101
    isLong(apns, false)
    await until(() => !isLong(apns, false))
    expect(asked).toBe(2)
  })

  it('is long for a busy application while a few jobs wait', async () => {
    const isLong = createBacklogCheck({ ahead: async () => 4 })
    const apns = pushQueue('apns')
    await until(() => isLong(apns, true))
    expect(isLong(apns, false)).toBe(false)
  })

  it('that does not answer is not long', async () => {
    const isLong = createBacklogCheck({ ahead: () => Promise.reject(new Error('away')) })
    expect(isLong(pushQueue('apns'), true)).toBe(false)
    await new Promise(setImmediate)
    expect(isLong(pushQueue('apns'), true)).toBe(false)
  })
})
