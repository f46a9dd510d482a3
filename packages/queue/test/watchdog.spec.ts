import { describe, expect, it, jest } from '@jest/globals'
import type { Backend, BullQueue } from '../src/backend.ts'
import { startWorker } from '../src/queue-worker.ts'
import { judge, type Observation, type Suspicion, watch } from '../src/watchdog.ts'
import { recordingLog } from './jobs.ts'

const idle = { taken: 5, free: true, waiting: 3 }

/** Whether a worker is dead after observations one second apart, with a limit of two seconds. */
function isDeadAfter(observations: Omit<Observation, 'at'>[]): boolean {
  let suspicion: Suspicion
  let dead = false
  for (const [second, seen] of observations.entries()) {
    const verdict = judge(suspicion, { at: second * 1000, ...seen }, 2_000)
    suspicion = verdict.suspicion
    dead ||= verdict.dead
  }
  return dead
}

describe('the watchdog', () => {
  it.each<[string, boolean, Omit<Observation, 'at'>[]]>([
    ['takes nothing while jobs wait', true, [idle, idle, idle]],
    ['takes nothing, not long enough', false, [idle, idle]],
    ['took one in between', false, [idle, idle, { ...idle, taken: 6 }, { ...idle, taken: 6 }]],
    ['took one, then died', true, [idle, ...Array(3).fill({ ...idle, taken: 6 })]],
    ['has an empty queue', false, Array(9).fill({ ...idle, waiting: 0 })],
    ['had an empty queue in between', false, [idle, idle, { ...idle, waiting: 0 }, idle, idle]],
    ['has no free slot', false, Array(9).fill({ ...idle, free: false })],
    ['cannot query its queue', false, Array(9).fill({ ...idle, waiting: undefined })],
    ['could not query its queue once', false, [idle, idle, { ...idle, waiting: undefined }, idle, idle]],
  ])('judges a worker that %s: dead is %s', (_, dead, observations) => {
    expect(isDeadAfter(observations)).toBe(dead)
  })

  it('reports once, and queries the server only for workers that take nothing', async () => {
    jest.useFakeTimers()
    try {
      let taken = 0
      const waiting = jest.fn(async () => 1)
      const onDead = jest.fn()
      let alive = true
      const state = () => ({ taken: alive ? taken++ : taken, free: true })
      watch({ limitMs: 1_000, state, waiting, onDead })
      await jest.advanceTimersByTimeAsync(5_000)
      expect(waiting).not.toHaveBeenCalled()
      alive = false
      await jest.advanceTimersByTimeAsync(1_000)
      expect(onDead).not.toHaveBeenCalled()
      await jest.advanceTimersByTimeAsync(500)
      expect(onDead).toHaveBeenCalledTimes(1)
      await jest.advanceTimersByTimeAsync(5_000)
      expect(onDead).toHaveBeenCalledTimes(1)
      expect(jest.getTimerCount()).toBe(0)
    } finally {
      jest.useRealTimers()
    }
  })

  it('gives a worker a minute', async () => {
    jest.useFakeTimers()
    try {
      const onDead = jest.fn()
      const worker = startWorker({
        backend: { kind: 'redis', openWorker: () => ({ close: async () => {} }) } as unknown as Backend,
        queue: { name: 'push-apns' } as BullQueue,
        waiting: async () => 1,
        log: recordingLog(),
        options: { concurrency: 1, onDead },
        handler: async () => {},
        onDrained: () => {},
      })
      await jest.advanceTimersByTimeAsync(59_000)
      expect(onDead).not.toHaveBeenCalled()
      await jest.advanceTimersByTimeAsync(31_000)
      expect(onDead).toHaveBeenCalledWith('the worker of push-apns took nothing for 60 s while jobs waited')
      await worker.drain()
    } finally {
      jest.useRealTimers()
    }
  })

  it('reports nothing once stopped, also when a query was in flight', async () => {
    jest.useFakeTimers()
    try {
      const answer = Promise.withResolvers<number>()
      const onDead = jest.fn()
      const waiting = jest
        .fn(async () => 1)
        .mockResolvedValueOnce(1)
        .mockReturnValue(answer.promise)
      const stop = watch({ limitMs: 40, state: () => ({ taken: 0, free: true }), waiting, onDead })
      await jest.advanceTimersByTimeAsync(60)
      stop()
      answer.resolve(1)
      await jest.advanceTimersByTimeAsync(1_000)
      expect(onDead).not.toHaveBeenCalled()
    } finally {
      jest.useRealTimers()
    }
  })
})
