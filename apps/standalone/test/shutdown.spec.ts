import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { createShutdown } from '../src/shutdown.ts'

beforeEach(() => void jest.useFakeTimers())
afterEach(() => void jest.useRealTimers())

function shutdown(drain: () => Promise<void>) {
  const events: string[] = []
  const said: string[] = []
  const onSignal = createShutdown({
    drain,
    force: async () => void events.push('force'),
    late: () => ['worker-apns'],
    say: (sentence) => void said.push(sentence),
    exit: (code) => void events.push(`exit ${code}`),
  })
  return { events, said, onSignal }
}
const never = () => new Promise<void>(() => {})
const settle = () => jest.advanceTimersByTimeAsync(0)

describe('a signal', () => {
  it('drains and ends with 0', async () => {
    const { events, onSignal } = shutdown(async () => {})
    onSignal('SIGTERM')
    await settle()
    expect(events).toEqual(['exit 0'])
  })

  it('forces the end when it is a second Ctrl-C', async () => {
    const { events, onSignal } = shutdown(never)
    onSignal('SIGINT')
    await jest.advanceTimersByTimeAsync(1000)
    onSignal('SIGINT')
    onSignal('SIGINT')
    await settle()
    expect(events).toEqual(['force', 'exit 1'])
  })

  it('ignores the copy of a Ctrl-C and a second SIGTERM', async () => {
    const { events, onSignal } = shutdown(never)
    onSignal('SIGINT')
    onSignal('SIGINT')
    await jest.advanceTimersByTimeAsync(1000)
    onSignal('SIGTERM')
    await settle()
    expect(events).toEqual([])
  })

  it('forces the end after 30 seconds', async () => {
    const { events, said, onSignal } = shutdown(never)
    onSignal('SIGTERM')
    await jest.advanceTimersByTimeAsync(29_900)
    expect(events).toEqual([])
    await jest.advanceTimersByTimeAsync(200)
    expect(events).toEqual(['force', 'exit 1'])
    expect(said.at(-1)).toBe('worker-apns did not stop within 30 s')
  })

  it('forces the end when draining fails', async () => {
    const { events, onSignal } = shutdown(() => Promise.reject(new Error('stuck')))
    onSignal('SIGTERM')
    await settle()
    expect(events).toEqual(['force', 'exit 1'])
  })
})
