import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { freePort } from '@herald/testkit'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import {
  ErrorCode,
  Flag,
  FrameType,
  goawayFrame,
  readUint32,
  Setting,
  settingsFrame,
  windowUpdateFrame,
} from '../src/frames.ts'
import type { PoolEvent } from '../src/link-set.ts'
import { openPool } from '../src/pool.ts'
import { InvalidRequest } from '../src/request-shape.ts'
import { begin, makePools, multicast } from './support/pools.ts'
import { startRawServer } from './support/raw-server.ts'
import { answer } from './support/reply-frames.ts'
import { stoppedClock } from './support/stopped-clock.ts'
import { until } from './support/until.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const pools = makePools()
afterEach(() => {
  jest.restoreAllMocks()
  return pools.closeAll()
})

const echo = {
  onRequest: ({ send }: { send(frame: Uint8Array): void }, stream: number) => send(answer(stream)),
}

describe('a pool', () => {
  it('connects at the first request only, and resolves immediately for a count of 0', async () => {
    const server = pools.keep(await startRawServer(echo))
    const pool = pools.pool({ origin: server.origin, maxConnections: 1 })
    expect((await multicast(pool, { count: 0 })).reported).toBe(0)
    expect(server.connections).toHaveLength(0)
    expect((await multicast(pool, { count: 5 })).tally()).toEqual({ 200: 5 })
    expect(pool.stats()).toMatchObject({ opened: 1, replies: 5, unsent: 0, unknown: 0, waiting: 0 })
  })

  it('keeps nothing of a finished request while its connection is idle', async () => {
    const server = pools.keep(await startRawServer(echo))
    const pool = pools.pool({ origin: server.origin, maxConnections: 1 })
    const sendMessage = async () => {
      const message = { text: 'a message' }
      const textOf = () => message.text
      await multicast(pool, {
        count: 1,
        path: () => `/${message.text.length}`,
        varying: [{ name: 'x', textOf }],
        body: textOf,
      })
      return new WeakRef(message)
    }
    const message = await sendMessage()
    await until('the message is collected', () => {
      collectGarbage()
      return message.deref() === undefined
    })
    expect(pool.stats()).toMatchObject({ opened: 1, replies: 1 })
  })

  it.each([
    [{ origin: 'somewhere' }, 'the origin is not a valid URL'],
    [{ origin: 'ftp://somewhere' }, 'the origin must start with https:// or http://'],
    [{ origin: 'https://somewhere/path' }, 'must consist of scheme, host and port only'],
    [{ origin: 'https://somewhere', proxy: 'nowhere' }, 'the proxy is not a valid URL'],
  ])('refuses %j', (options, message) => {
    expect(() => openPool(options)).toThrow(message)
  })

  it.each([
    [{ count: -1 }, 'count is -1'],
    [{ count: 1.5 }, 'count is 1.5'],
    [{ count: 1, timeoutMs: Number.POSITIVE_INFINITY }, 'timeoutMs is Infinity'],
    [{ count: 1, deadlineMs: -5 }, 'deadlineMs is -5'],
    [{ count: 1, headers: { 'x y': '1' } }, '"x y" is not a valid header name'],
    [{ count: 1, headers: { connection: 'close' } }, 'connection is not allowed'],
    [{ count: 1, headers: { ':path': '/x' } }, 'cannot be set'],
    [{ count: 1, headers: { x: 'é€' } }, 'the header x has a character that cannot be sent'],
    [{ count: 1, headers: { x: 5 as unknown as string } }, 'the header x is not a string'],
    [{ count: 1, path: 'to' }, 'a path does not start with /'],
  ])('rejects the request %j with the reason and reports nothing', async (request, message) => {
    const pool = pools.pool({ origin: 'http://localhost:1' })
    const { recorder, done } = begin(pool, request)
    await expect(done).rejects.toThrow(InvalidRequest)
    await expect(begin(pool, request).done).rejects.toThrow(message)
    expect(recorder.reported).toBe(0)
  })

  it('reports requests it could not send before the deadline, with the reason', async () => {
    const events: PoolEvent[] = []
    const pool = pools.pool({
      origin: `http://localhost:${await freePort()}`,
      onEvent: (event) => events.push(event),
    })
    const clock = stoppedClock()
    const { recorder, done } = begin(pool, { count: 3, deadlineMs: 5_000 })
    await until('the first attempt failed', () => events.length > 0)
    expect(recorder.reported).toBe(0)
    clock.advance(5_000)
    await done
    expect(recorder.tally()).toEqual({ 'unsent:connect': 3 })
    expect(recorder.failures.get(0)?.message).toContain('ECONNREFUSED')
  })

  it('reads the replies that arrived while the event loop stood still before it judges time limits', async () => {
    const server = pools.keep(await startRawServer({}))
    const pool = pools.pool({ origin: server.origin })
    const clock = stoppedClock()
    const { recorder, done } = begin(pool, { count: 1, timeoutMs: 5_000 })
    await until('the server has the request', () => server.paths.length === 1)
    // After an immediate Node runs the timers that are due, as that of the pool's next tick, before it reads sockets.
    setImmediate(() => {
      server.connections[0]!.send(answer(1))
      clock.advance(10_000)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
    })
    await done
    expect(recorder.tally()).toEqual({ 200: 1 })
  })

  it('does not wait when the backoff ends after the deadline', async () => {
    const pool = pools.pool({ origin: `http://localhost:${await freePort()}`, random: () => 0 })
    // The clock stands still: a request that waited for its deadline would never be reported.
    const clock = stoppedClock()
    for (const deadlineMs of [100, 600, 999]) {
      const recorder = await multicast(pool, { count: 3, deadlineMs })
      expect(recorder.tally()).toEqual({ 'unsent:connect': 3 })
      expect(pool.stats().opened).toBe(1)
    }
    clock.advance(1_000)
    expect((await multicast(pool, { count: 3, deadlineMs: 600 })).tally()).toEqual({ 'unsent:connect': 3 })
    expect(pool.stats().opened).toBe(2)
  })

  it('reconnects when the server is back, after the backoff', async () => {
    const port = await freePort()
    const events: PoolEvent[] = []
    const pool = pools.pool({
      origin: `http://localhost:${port}`,
      random: () => 1,
      onEvent: (event) => events.push(event),
    })
    const { recorder, done } = begin(pool, { count: 3 })
    await until('two attempts failed', () => events.length >= 2)
    pools.keep(await startRawServer(echo, undefined, port))
    await done
    expect(recorder.tally()).toEqual({ 200: 3 })
    const waits = events.flatMap((event) => (event.kind === 'closed' ? [event.nextAttemptMs] : []))
    expect(waits.slice(0, 2)).toEqual([500, 1_000])
  })

  it('abandons a connection that is not established in time', async () => {
    const server = pools.keep(await startRawServer({ onConnect: () => {} }))
    const pool = pools.pool({ origin: server.origin, connectTimeoutMs: 50 })
    // So that it is not the limit of the call that ends it.
    stoppedClock()
    const recorder = await multicast(pool, { count: 2, deadlineMs: 200 })
    expect(recorder.tally()).toEqual({ 'unsent:connect': 2 })
    expect(pool.stats().lastError).toContain('within 50 ms')
  })

  it('reports the debug data of a GOAWAY that came before any reply', async () => {
    const server = pools.keep(
      await startRawServer({
        onRequest: ({ send }) => send(goawayFrame(0, 0, '{"reason":"BadCertificateEnvironment"}')),
      }),
    )
    const events: PoolEvent[] = []
    const pool = pools.pool({ origin: server.origin, maxReplays: 0, onEvent: (event) => events.push(event) })
    const recorder = await multicast(pool, { count: 1 })
    expect(recorder.failures.get(0)).toMatchObject({ kind: 'unsent', reason: 'goaway' })
    expect(recorder.failures.get(0)?.goaway?.debug).toBe('{"reason":"BadCertificateEnvironment"}')
    expect(events.find((event) => event.kind === 'goaway')).toMatchObject({
      goaway: { code: ErrorCode.noError, lastStream: 0 },
    })
  })

  it('opens another connection when all are full, up to its limit and not too fast', async () => {
    const held: (() => void)[] = []
    const server = pools.keep(
      await startRawServer({
        onConnect: ({ send }) => send(settingsFrame([[Setting.maxConcurrentStreams, 2]])),
        onRequest: ({ send }, stream) => {
          if (stream === 1) send(answer(stream))
          else held.push(() => send(answer(stream)))
        },
      }),
    )
    const pool = pools.pool({ origin: server.origin, maxConnections: 3 })
    const clock = stoppedClock()
    const { recorder, done } = begin(pool, { count: 20 })
    for (const connections of [1, 2, 3]) {
      await until('each connection holds two streams', () => held.length === 2 * connections)
      // The pool reads the clock in every round.
      clock.advance(499)
      await clock.read(20)
      expect(server.connections).toHaveLength(connections)
      clock.advance(1)
    }
    await clock.read(20)
    expect(server.connections).toHaveLength(3)
    const release = setInterval(() => held.splice(0).forEach((go) => void go()), 5)
    await done
    clearInterval(release)
    expect(recorder.tally()).toEqual({ 200: 20 })
    expect(server.connections).toHaveLength(3)
  })

  it('continues over a new connection when stream ids run out', async () => {
    const server = pools.keep(await startRawServer(echo))
    const pool = pools.pool({ origin: server.origin, lastStreamId: 199, maxConnections: 1 })
    const recorder = await multicast(pool, { count: 1_000 })
    expect(recorder.tally()).toEqual({ 200: 1_000 })
    expect(server.connections).toHaveLength(10)
    expect(new Set(server.paths).size).toBe(1_000)
  })

  it('interleaves a small multicast with a large one', async () => {
    let requests = 0
    const started = Promise.withResolvers<void>()
    const server = pools.keep(
      await startRawServer({
        onConnect: ({ send }) => {
          send(settingsFrame([[Setting.maxConcurrentStreams, 50]]), windowUpdateFrame(0, 1_000_000_000))
        },
        onRequest: ({ send }, stream) => {
          if (++requests === 500) started.resolve()
          send(answer(stream))
        },
      }),
    )
    const pool = pools.pool({ origin: server.origin, maxConnections: 1 })
    const large = begin(pool, { count: 20_000 })
    await started.promise
    const small = await multicast(pool, { count: 5, path: (index) => `/small/${index}` })
    expect(small.tally()).toEqual({ 200: 5 })
    expect(large.recorder.reported).toBeLessThan(19_000)
    await large.done
    expect(large.recorder.tally()).toEqual({ 200: 20_000 })
  })

  it('reports all even when a callback throws, and rejects with that error', async () => {
    const server = pools.keep(await startRawServer(echo))
    const pool = pools.pool({ origin: server.origin })
    let calls = 0
    const done = pool.multicast({
      count: 10,
      headers: {},
      path: (index) => (index === 4 ? 'wrong' : '/'),
      onReply: () => {
        calls += 1
        throw new Error('the callback is broken')
      },
      onFailure: () => {
        calls += 1
      },
    })
    await expect(done).rejects.toThrow('the callback is broken')
    expect(calls).toBe(10)
  })

  it('calls back only after multicast has returned', async () => {
    const pool = pools.pool({ origin: 'http://localhost:1' })
    const { recorder, done } = begin(pool, { count: 3, signal: AbortSignal.abort() })
    expect(recorder.reported).toBe(0)
    await done
    expect(recorder.tally()).toEqual({ 'unsent:aborted': 3 })
  })

  it('stops at an abort: waiting requests are unsent, requests in flight are cancelled and unknown', async () => {
    const resets: number[] = []
    const server = pools.keep(
      await startRawServer({
        onConnect: ({ send }) => send(settingsFrame([[Setting.maxConcurrentStreams, 10]])),
        onRequest: ({ send }, stream) => (stream === 1 ? send(answer(1)) : undefined),
        onFrame: (_connection, { type, payload }) => {
          if (type === FrameType.rstStream) resets.push(readUint32(payload, 0))
        },
      }),
    )
    const pool = pools.pool({ origin: server.origin, maxConnections: 1 })
    const abort = new AbortController()
    const { recorder, done } = begin(pool, { count: 100, signal: abort.signal })
    await until('ten are in flight', () => server.paths.length === 11)
    abort.abort()
    expect(recorder.tally()).toEqual({ 200: 1, 'unsent:aborted': 89 })
    await done
    expect(recorder.tally()).toEqual({ 200: 1, 'unsent:aborted': 89, 'unknown:aborted': 10 })
    await until('the server saw the cancels', () => resets.length === 10)
    expect(new Set(resets)).toEqual(new Set([ErrorCode.cancel]))
    // The connection is used again after an abort.
    await multicast(pool, { count: 20, timeoutMs: 50 })
    expect(pool.stats().opened).toBe(1)
  })

  it('stops sending: waiting requests are unsent, requests in flight end by their reply or time limit', async () => {
    const held: (() => void)[] = []
    const server = pools.keep(
      await startRawServer({
        onConnect: ({ send }) => send(settingsFrame([[Setting.maxConcurrentStreams, 10]])),
        onRequest: ({ send }, stream) => {
          if (stream === 1) send(answer(1))
          else held.push(() => send(answer(stream)))
        },
      }),
    )
    const pool = pools.pool({ origin: server.origin, maxConnections: 1 })
    const clock = stoppedClock()
    const stop = new AbortController()
    const { recorder, done } = begin(pool, { count: 100, timeoutMs: 1_000, stopSending: stop.signal })
    await until('ten are in flight', () => held.length === 10)
    stop.abort()
    expect(recorder.tally()).toEqual({ 200: 1, 'unsent:aborted': 89 })
    for (const go of held.slice(1)) go()
    await until('nine are answered', () => recorder.replies.size === 10)
    clock.advance(1_000)
    await done
    expect(recorder.tally()).toEqual({ 200: 10, 'unsent:aborted': 89, 'unknown:timeout': 1 })
    expect(server.paths).toHaveLength(11)
  })

  it('sends nothing of a call that was stopped before it started', async () => {
    const server = pools.keep(await startRawServer(echo))
    const pool = pools.pool({ origin: server.origin })
    await multicast(pool, { count: 1 })
    const recorder = await multicast(pool, { count: 3, stopSending: AbortSignal.abort() })
    expect(recorder.tally()).toEqual({ 'unsent:aborted': 3 })
    expect(server.paths).toEqual(['/to/0'])
  })

  it('sends nothing of a call that was aborted before it started, even over an open connection', async () => {
    const server = pools.keep(await startRawServer(echo))
    const pool = pools.pool({ origin: server.origin })
    await multicast(pool, { count: 1 })
    const recorder = await multicast(pool, { count: 3, signal: AbortSignal.abort() })
    expect(recorder.tally()).toEqual({ 'unsent:aborted': 3 })
    await multicast(pool, { count: 1, path: '/after' })
    expect(server.paths).toEqual(['/to/0', '/after'])
  })

  it('keeps one timer, however many calls were aborted', async () => {
    const server = pools.keep(await startRawServer({ onRequest: () => {} }))
    const pool = pools.pool({ origin: server.origin })
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const hanging = new AbortController()
    const { done } = begin(pool, { count: 1, signal: hanging.signal })
    await until('it is in flight', () => server.paths.length === 1)
    const before = timers()
    for (let i = 0; i < 20; i++) {
      const abort = new AbortController()
      const aborted = begin(pool, { count: 1, signal: abort.signal })
      abort.abort()
      await aborted.done
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(timers()).toBeLessThanOrEqual(before + 1)
    hanging.abort()
    await done
  })

  it('looks at an idle connection only when its next ping is due', async () => {
    const server = pools.keep(await startRawServer({ onRequest: ({ send }, stream) => send(answer(stream)) }))
    const timers = jest.spyOn(globalThis, 'setTimeout')
    try {
      await multicast(pools.pool({ origin: server.origin, pingEveryMs: 3_600_000 }), { count: 1 })
      await until('it waits', () => timers.mock.calls.some(([, ms]) => (ms ?? 0) >= 3_000_000))
    } finally {
      timers.mockRestore()
    }
  })

  it('closes with a GOAWAY after requests in flight, and accepts nothing more', async () => {
    const held: (() => void)[] = []
    const server = pools.keep(
      await startRawServer({
        onRequest: ({ send }, stream) => {
          if (stream === 1) send(answer(1))
          else held.push(() => send(answer(stream)))
        },
      }),
    )
    const pool = pools.pool({ origin: server.origin, maxStreams: 10, maxConnections: 1 })
    const { recorder, done } = begin(pool, { count: 50 })
    await until('ten are in flight', () => held.length === 10)
    const closed = pool.close(120_000)
    await expect(begin(pool, { count: 1 }).done).rejects.toThrow('the pool is closed')
    await until('the waiting are reported', () => recorder.failures.size === 39)
    for (const go of held) go()
    await Promise.all([done, closed])
    expect(recorder.tally()).toEqual({ 200: 11, 'unsent:aborted': 39 })
    const { log } = server.connections[0]!
    await until('the server received the GOAWAY', () =>
      log.frames.some(({ type }) => type === FrameType.goaway),
    )
    expect(pool.stats().connections).toEqual([])
  })

  it('may be closed from its own callback, in the middle of a received chunk', async () => {
    const server = pools.keep(await startRawServer(echo))
    const pool = pools.pool({ origin: server.origin, maxStreams: 20, maxConnections: 1 })
    let closed: Promise<void> | undefined
    let reported = 0
    await pool.multicast({
      count: 1_000,
      headers: {},
      path: '/',
      onReply: () => {
        reported += 1
        if (reported === 10) closed = pool.close(1_000)
      },
      onFailure: () => {
        reported += 1
      },
    })
    await closed
    expect(reported).toBe(1_000)
  })

  it('ends every request with END_STREAM and nothing after it', async () => {
    const server = pools.keep(await startRawServer(echo))
    await multicast(pools.pool({ origin: server.origin }), { count: 200 })
    const ended = new Set<number>()
    for (const { type, flags, stream } of server.connections[0]!.log.frames) {
      if (type !== FrameType.data && type !== FrameType.headers) continue
      expect(ended.has(stream)).toBe(false)
      if (flags & Flag.endStream) ended.add(stream)
    }
    expect(ended.size).toBe(200)
  })
})
