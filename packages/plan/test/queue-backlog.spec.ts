import { pushQueue } from '@herald/queue'
import { until } from '@herald/testkit'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { createBacklogCheck } from '../src/queue-backlog.ts'

afterEach(() => {
  jest.restoreAllMocks()
})

/** A queue that answers when told, on a clock that moves when told. */
function slowQueue() {
  const started = performance.now()
  let later = 0
  jest.spyOn(performance, 'now').mockImplementation(() => started + later)
  const answers: PromiseWithResolvers<number>[] = []
  const check = createBacklogCheck({
    ahead: () => {
      const answer = Promise.withResolvers<number>()
      answers.push(answer)
      return answer.promise
    },
  })
  return {
    answers,
    isLong: (isBusy: boolean) => check(pushQueue('apns'), isBusy),
    pass(ms: number) {
      later += ms
    },
  }
}

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

  it('that answers slowly is read once at a time, and its answer counts', async () => {
    const { answers, isLong, pass } = slowQueue()
    for (let reading = 0; reading < 12; reading++) {
      expect(isLong(false)).toBe(false)
      pass(90)
    }
    expect(answers).toHaveLength(1)
    answers[0]!.resolve(64)
    await until(() => isLong(false))
    pass(101)
    expect(isLong(false)).toBe(true)
  })

  it('that has not answered yet is not long, one that fails is', async () => {
    const { answers, isLong, pass } = slowQueue()
    expect(isLong(true)).toBe(false)
    answers[0]!.reject(new Error('away'))
    await until(() => isLong(false))
    pass(101)
    expect(isLong(false)).toBe(true)
    answers[1]!.resolve(0)
    await until(() => !isLong(true))
  })
})
