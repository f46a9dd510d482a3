import { describe, expect, it, jest } from '@jest/globals'
import { QueueUnavailable } from '../src/errors.ts'
import { createJobWriter } from '../src/job-writer.ts'

const options = { label: 'the queue', limitMs: 100, maxItems: 3, maxGroups: 2 }
const unavailable = (message: string) => new QueueUnavailable(message)

describe('the job writer', () => {
  it('reports the reason when a store fails', async () => {
    const store = async () => {
      throw new Error('out of memory')
    }
    const failed = createJobWriter({ ...options, store })(1)
    await expect(failed).rejects.toEqual(unavailable('the queue cannot be written to: out of memory'))
  })

  it('gives up a store that hangs, and refuses at once what would wait behind it', async () => {
    // So that the first store does not end before the last job is added.
    jest.useFakeTimers()
    try {
      const add = createJobWriter({ ...options, store: () => new Promise(() => {}) })
      const hung = [expect(add(0)).rejects.toEqual(unavailable('the queue did not answer within 100 ms'))]
      await jest.advanceTimersByTimeAsync(1)
      for (let job = 1; job <= 6; job++) hung.push(expect(add(job)).rejects.toThrow(QueueUnavailable))
      await expect(add(7)).rejects.toEqual(unavailable('the queue is behind: 6 jobs wait to be stored'))
      await jest.advanceTimersByTimeAsync(1_000)
      await Promise.all(hung)
    } finally {
      jest.useRealTimers()
    }
  })
})
