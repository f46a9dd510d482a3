import { connect, createServer, type Socket } from 'node:net'
import { listen, until } from '@herald/testkit'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { limitCall } from '../src/call-limit.ts'

const timeoutMs = 543_210

/** How far the clock is ahead. */
let later = 0
const spyOnTimers = () => jest.spyOn(globalThis, 'setTimeout')
let timers: ReturnType<typeof spyOnTimers>
beforeEach(() => {
  later = 0
  const now = performance.now.bind(performance)
  jest.spyOn(performance, 'now').mockImplementation(() => now() + later)
  timers = spyOnTimers()
})
afterEach(() => void jest.restoreAllMocks())

/** Runs the timer of the limit. */
const expire = () => timers.mock.calls.find(([, ms]) => ms === timeoutMs)![0]()
const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

describe('the time limit of a call', () => {
  it('ends the call at once if its timer is not late', () => {
    const limit = limitCall(timeoutMs, [])
    expire()
    expect(limit.signal.aborted).toBe(true)
    limit.release()
  })

  it('ends it after the replies that arrived while the event loop stood still', async () => {
    const accepted = Promise.withResolvers<Socket>()
    const server = createServer((socket) => accepted.resolve(socket))
    const client = connect(await listen(server), '127.0.0.1')
    const socket = await accepted.promise
    const seen: string[] = []
    client.on('data', () => seen.push('reply'))
    const limit = limitCall(timeoutMs, [])
    limit.signal.addEventListener('abort', () => seen.push('end'))
    // As after a stall: the timer runs before the socket is read.
    setImmediate(() => {
      socket.write('x')
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
      later = 2 * timeoutMs
      expire()
    })
    await until(() => seen.length === 2)
    expect(seen).toEqual(['reply', 'end'])
    limit.release()
    client.destroy()
    socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })

  it('does not end a call that ended in between', async () => {
    const limit = limitCall(timeoutMs, [])
    later = 2 * timeoutMs
    expire()
    limit.release()
    await nextTurn()
    await nextTurn()
    expect(limit.signal.aborted).toBe(false)
  })
})
