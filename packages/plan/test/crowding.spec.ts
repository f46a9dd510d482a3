import { pushQueue } from '@herald/queue'
import { until } from '@herald/testkit'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { createCrowding } from '../src/crowding.ts'

afterEach(() => {
  jest.restoreAllMocks()
})

describe('a queue', () => {
  it('is crowded while many urgent jobs wait in it, and asked no more than a few times a second', async () => {
    const started = performance.now()
    let later = 0
    jest.spyOn(performance, 'now').mockImplementation(() => started + later)
    let ahead = 500
    let asked = 0
    const isCrowded = createCrowding({
      ahead: async () => {
        asked++
        return ahead
      },
    })
    const apns = pushQueue('apns')
    await until(() => isCrowded(apns))
    expect(asked).toBe(1)
    ahead = 499
    expect(isCrowded(apns)).toBe(true)
    later = 251
    isCrowded(apns)
    await until(() => !isCrowded(apns))
    expect(asked).toBe(2)
  })

  it('that does not answer is not', async () => {
    const isCrowded = createCrowding({ ahead: () => Promise.reject(new Error('away')) })
    expect(isCrowded(pushQueue('apns'))).toBe(false)
    await new Promise(setImmediate)
    expect(isCrowded(pushQueue('apns'))).toBe(false)
  })
})
