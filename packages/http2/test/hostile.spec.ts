import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import {
  ErrorCode,
  Flag,
  FrameType,
  goawayFrame,
  makeFrame,
  pingFrame,
  rstStreamFrame,
  Setting,
  settingsFrame,
  windowUpdateFrame,
} from '../src/frames.ts'
import { begin, makePools, multicast } from './support/pools.ts'
import { type RawConnection, type RawScript, startRawServer } from './support/raw-server.ts'
import { answer, dataFrame, headersFrame } from './support/reply-frames.ts'
import { clockOfTurns } from './support/stopped-clock.ts'
import { until } from './support/until.ts'

const pools = makePools()
let clock: ReturnType<typeof clockOfTurns>
beforeEach(() => {
  clock = clockOfTurns()
})
afterEach(async () => {
  await pools.closeAll()
  clock.stop()
  jest.restoreAllMocks()
})

async function against(script: RawScript) {
  const server = pools.keep(await startRawServer(script))
  return { server, pool: pools.pool({ origin: server.origin, maxConnections: 1, random: () => 1 }) }
}

// By the clock of turns: long enough for every reply.
const limits = { timeoutMs: 800, deadlineMs: 3_000 }

/** Replies to the first request of a connection, so that the client sends the next ones concurrently. */
const afterFirst =
  (act: (connection: RawConnection, stream: number) => void): RawScript['onRequest'] =>
  (connection, stream) =>
    stream === 1 ? connection.send(answer(1)) : act(connection, stream)

describe('a hostile server', () => {
  const cases: [what: string, script: RawScript, outcomes: string[]][] = [
    ['never answers', { onRequest: () => {} }, ['unknown:timeout', 'unsent:deadline', 'unsent:connect']],
    ['never sends SETTINGS', { onConnect: () => {} }, ['unsent:connect', 'unsent:deadline']],
    ['closes at once', { onConnect: ({ socket }) => socket.end() }, ['unsent:connect']],
    [
      'speaks HTTP/1',
      { onConnect: ({ socket }) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n') },
      ['unsent:connect'],
    ],
    [
      'sends GOAWAY immediately',
      {
        onConnect: ({ send }) =>
          send(settingsFrame([]), goawayFrame(0, 0, '{"reason":"BadCertificateEnvironment"}')),
      },
      ['unsent:connect'],
    ],
    [
      'sends GOAWAY for every request',
      { onRequest: ({ send }) => send(goawayFrame(0, 0, '{"reason":"BadCertificate"}')) },
      ['unsent:goaway', 'unsent:connect'],
    ],
    [
      'refuses every stream',
      { onRequest: ({ send }, stream) => send(rstStreamFrame(stream, ErrorCode.refusedStream)) },
      ['unsent:refused'],
    ],
    [
      'resets every stream',
      { onRequest: ({ send }, stream) => send(rstStreamFrame(stream, ErrorCode.internalError)) },
      ['unknown:reset'],
    ],
    [
      'sends garbage',
      { onRequest: afterFirst(({ send }) => send(Buffer.alloc(500, 0xaa))) },
      ['200', 'unknown:closed', 'unsent:connect'],
    ],
    [
      'allows no stream at all',
      { onConnect: ({ send }) => send(settingsFrame([[Setting.maxConcurrentStreams, 0]])) },
      ['unsent:deadline'],
    ],
    [
      'grants no window',
      { onConnect: ({ send }) => send(settingsFrame([[Setting.initialWindowSize, 0]])) },
      ['unknown:timeout', 'unsent:deadline', 'unsent:connect'],
    ],
    [
      'starts a header block and does not continue it',
      { onRequest: ({ send }, stream) => send(makeFrame(FrameType.headers, 0, stream, Buffer.from([0x88]))) },
      ['unknown:timeout', 'unknown:closed', 'unsent:deadline', 'unsent:connect'],
    ],
    [
      'replies with headers and no end',
      { onRequest: ({ send }, stream) => send(headersFrame(stream, { ':status': '200' })) },
      ['unknown:timeout', 'unsent:deadline', 'unsent:connect'],
    ],
    [
      'replies endlessly, byte by byte',
      {
        onRequest: afterFirst(({ send }, stream) => {
          send(
            headersFrame(stream, { ':status': '200' }),
            ...Array.from({ length: 3_000 }, () => dataFrame(stream, 'x')),
          )
        }),
      },
      ['200', 'unknown:timeout', 'unsent:deadline', 'unsent:connect', 'unknown:closed'],
    ],
    [
      'replies with bodies above the limit',
      {
        onRequest: ({ send }, stream) => {
          send(
            headersFrame(stream, { ':status': '200' }),
            ...Array.from({ length: 6 }, () => dataFrame(stream, Buffer.alloc(16_000))),
          )
        },
      },
      ['unknown:oversize', 'unknown:closed', 'unsent:connect'],
    ],
    [
      'floods with pings and never reads the acknowledgements',
      {
        onRequest: ({ send, socket }) => {
          socket.pause()
          for (let at = 0; at < 200; at++)
            send(...Array.from({ length: 500 }, () => pingFrame(Buffer.alloc(8), false)))
        },
      },
      ['unknown:closed', 'unsent:connect', 'unsent:deadline', 'unknown:timeout'],
    ],
    [
      'overflows the window',
      { onRequest: ({ send }) => send(windowUpdateFrame(0, 0x7fffffff)) },
      ['unknown:closed', 'unsent:connect'],
    ],
    [
      'half-closes after the first reply',
      {
        onRequest: ({ send, socket }, stream) => {
          send(answer(stream))
          socket.end()
        },
      },
      ['200', 'unknown:closed', 'unsent:connect', 'unsent:deadline'],
    ],
    [
      'cuts the connection in the middle of a frame',
      {
        onRequest: afterFirst(({ socket, send }, stream) => {
          send(answer(stream).subarray(0, 7))
          socket.end()
        }),
      },
      ['200', 'unknown:closed', 'unsent:connect'],
    ],
    [
      'resets the connection',
      { onRequest: afterFirst(({ socket }) => void socket.resetAndDestroy()) },
      ['200', 'unknown:closed', 'unsent:connect'],
    ],
    [
      'replies on streams that were never opened',
      { onRequest: afterFirst(({ send }) => send(answer(0x7ffffff1))) },
      ['200', 'unknown:closed', 'unsent:connect'],
    ],
    ['replies twice', { onRequest: ({ send }, stream) => send(answer(stream), answer(stream)) }, ['200']],
    [
      'replies and then resets',
      {
        onRequest: ({ send }, stream) =>
          send(answer(stream), rstStreamFrame(stream, ErrorCode.internalError)),
      },
      ['200'],
    ],
    [
      'changes all its settings with each reply',
      {
        onRequest: ({ send }, stream) =>
          send(
            settingsFrame([
              [Setting.maxConcurrentStreams, stream % 7],
              [Setting.headerTableSize, (stream * 37) % 300],
              [Setting.initialWindowSize, (stream * 11) % 90],
            ]),
            answer(stream),
            settingsFrame([
              [Setting.maxConcurrentStreams, 9],
              [Setting.initialWindowSize, 1000],
            ]),
          ),
      },
      ['200'],
    ],
  ]

  it.each(cases)(
    'that %s does not stop the client: each of 60 requests is reported once',
    async (_what, script, allowed) => {
      const { pool } = await against(script)
      const recorder = await multicast(pool, { count: 60, ...limits })
      expect(recorder.reported).toBe(60)
      expect(recorder.twice).toEqual([])
      for (const outcome of Object.keys(recorder.tally())) expect(allowed).toContain(outcome)
    },
  )

  it('is replaced by a connection that follows the protocol, with nothing sent twice', async () => {
    const { pool, server } = await against({
      onRequest: (connection, stream) => {
        const broken = connection.number === 0 && stream > 1
        connection.send(broken ? Buffer.alloc(500, 0xaa) : answer(stream))
      },
    })
    const recorder = await multicast(pool, { count: 2_000 })
    // Requests in flight when the first connection broke stay unknown.
    const { 200: answered = 0, 'unknown:closed': unknown = 0 } = recorder.tally()
    expect([answered + unknown, unknown > 0 && unknown <= 1_000]).toEqual([2_000, true])
    expect(new Set(server.paths).size).toBe(server.paths.length)
  })

  it('that writes byte by byte is understood', async () => {
    const { pool } = await against({
      onConnect: ({ socket }) => {
        const bytes = settingsFrame([[Setting.maxConcurrentStreams, 3]])
        for (const byte of bytes) socket.write(Uint8Array.of(byte))
      },
      onRequest: ({ socket }, stream, path) => {
        for (const byte of answer(stream, 200, `for ${path}`)) socket.write(Uint8Array.of(byte))
      },
    })
    const recorder = await multicast(pool, { count: 50 })
    for (let index = 0; index < 50; index++)
      expect(recorder.replies.get(index)?.body.toString()).toBe(`for /to/${index}`)
  })

  it('that does not read does not fill our memory: requests wait instead', async () => {
    const { pool, server } = await against({
      onConnect: ({ send }) =>
        send(
          settingsFrame([[Setting.initialWindowSize, 0x7fffffff]]),
          windowUpdateFrame(0, 0x7fffffff - 65_535),
        ),
      onRequest: afterFirst(({ socket }) => socket.pause()),
    })
    const body = Buffer.alloc(16_000)
    const { recorder, done } = begin(pool, { count: 5_000, body, timeoutMs: 1_500, deadlineMs: 1_500 })
    await until('the server stopped reading', () => server.connections[0]?.socket.isPaused() === true)
    await new Promise((resolve) => setTimeout(resolve, 500))
    const { streams, bytesWritten } = pool.stats().connections[0]!
    // The socket accepted what fits into the kernel's buffers, some megabytes of the eighty.
    expect(bytesWritten).toBeLessThan(16_000_000)
    expect(streams).toBeLessThanOrEqual(1_000)
    await done
    expect(recorder.reported).toBe(5_000)
    expect(recorder.twice).toEqual([])
  })

  it('that stops acknowledging pings is abandoned long before the requests time out', async () => {
    const server = pools.keep(await startRawServer({ onRequest: afterFirst(({ socket }) => socket.pause()) }))
    const pool = pools.pool({ origin: server.origin, maxConnections: 1, pingEveryMs: 50, pingTimeoutMs: 150 })
    const recorder = await multicast(pool, { count: 20, timeoutMs: 20_000, deadlineMs: 1_000 })
    expect(recorder.tally()).toMatchObject({ 200: 1 })
    expect([...recorder.failures.values()].some(({ message }) => message.includes('PING'))).toBe(true)
  })

  it('that only acknowledges pings is replaced by another connection', async () => {
    const { pool, server } = await against({
      onFrame: ({ send }, { type, flags, payload }) => {
        if (type === FrameType.ping && (flags & Flag.ack) === 0) send(pingFrame(payload, true))
      },
      onRequest: (connection, stream) => {
        if (connection.number > 0) connection.send(answer(stream))
      },
    })
    const first = await multicast(pool, { count: 30, timeoutMs: 1_200 })
    expect(first.tally()).toEqual({ 'unknown:timeout': 30 })
    const second = await multicast(pool, { count: 30 })
    expect(second.tally()).toEqual({ 200: 30 })
    expect(server.connections).toHaveLength(2)
  })

  it('cannot make us store more than the window of unfinished replies', async () => {
    const { pool } = await against({
      onRequest: afterFirst(({ send }, stream) => {
        send(
          headersFrame(stream, { ':status': '200' }),
          ...Array.from({ length: 4 }, () => dataFrame(stream, Buffer.alloc(16_000))),
        )
      }),
    })
    const before = process.memoryUsage().arrayBuffers
    const { recorder, done } = begin(pool, { count: 1_001, timeoutMs: 1_500, deadlineMs: 6_000 })
    await until(
      'the flood was stopped',
      () => recorder.reported === 1_001 || pool.stats().connections.length === 0,
    )
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100_000_000)
    await done
    expect(recorder.reported).toBe(1_001)
  })
})
