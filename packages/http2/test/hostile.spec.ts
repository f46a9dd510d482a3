import { afterEach, describe, expect, it } from '@jest/globals'
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
import { until } from './support/until.ts'

const pools = makePools()
afterEach(() => pools.closeAll())

async function against(script: RawScript) {
  const server = pools.keep(await startRawServer(script))
  return { server, pool: pools.pool({ origin: server.origin, maxConnections: 1, random: () => 1 }) }
}

// Long enough for a busy machine to answer in time where the server does answer.
const limits = { timeoutMs: 800, deadlineMs: 3_000 }

/** Answers the first request of a connection properly, so that the next ones come many at a time. */
const afterFirst =
  (act: (connection: RawConnection, stream: number) => void): RawScript['onRequest'] =>
  (connection, stream) =>
    stream === 1 ? connection.send(answer(1)) : act(connection, stream)

describe('a hostile server', () => {
  const cases: [what: string, script: RawScript, outcomes: string[]][] = [
    ['never answers', { onRequest: () => {} }, ['unknown:timeout', 'unsent:deadline', 'unsent:connect']],
    ['never says SETTINGS', { onConnect: () => {} }, ['unsent:connect', 'unsent:deadline']],
    ['closes at once', { onConnect: ({ socket }) => socket.end() }, ['unsent:connect']],
    [
      'speaks HTTP/1',
      { onConnect: ({ socket }) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n') },
      ['unsent:connect'],
    ],
    [
      'says goodbye at once',
      {
        onConnect: ({ send }) =>
          send(settingsFrame([]), goawayFrame(0, 0, '{"reason":"BadCertificateEnvironment"}')),
      },
      ['unsent:connect'],
    ],
    [
      'says goodbye to every request',
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
      'gives no window',
      { onConnect: ({ send }) => send(settingsFrame([[Setting.initialWindowSize, 0]])) },
      ['unknown:timeout', 'unsent:deadline', 'unsent:connect'],
    ],
    [
      'opens a header block and says no more',
      { onRequest: ({ send }, stream) => send(makeFrame(FrameType.headers, 0, stream, Buffer.from([0x88]))) },
      ['unknown:timeout', 'unknown:closed', 'unsent:deadline', 'unsent:connect'],
    ],
    [
      'answers with headers and no end',
      { onRequest: ({ send }, stream) => send(headersFrame(stream, { ':status': '200' })) },
      ['unknown:timeout', 'unsent:deadline', 'unsent:connect'],
    ],
    [
      'answers without end, byte by byte',
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
      'answers with bodies larger than wanted',
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
      'floods with pings it never reads the answers of',
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
      'half-closes after the first answer',
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
      'answers what was never asked',
      { onRequest: afterFirst(({ send }) => send(answer(0x7ffffff1))) },
      ['200', 'unknown:closed', 'unsent:connect'],
    ],
    [
      'answers everything twice',
      { onRequest: ({ send }, stream) => send(answer(stream), answer(stream)) },
      ['200'],
    ],
    [
      'answers and then resets',
      {
        onRequest: ({ send }, stream) =>
          send(answer(stream), rstStreamFrame(stream, ErrorCode.internalError)),
      },
      ['200'],
    ],
    [
      'changes its mind about everything with each answer',
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
    'that %s hears from us and is outlived: each of 60 is reported once',
    async (_what, script, allowed) => {
      const { pool } = await against(script)
      const recorder = await multicast(pool, { count: 60, ...limits })
      expect(recorder.reported).toBe(60)
      expect(recorder.twice).toEqual([])
      for (const outcome of Object.keys(recorder.tally())) expect(allowed).toContain(outcome)
    },
  )

  it('is left for a connection that keeps the rules, with nothing sent twice', async () => {
    const { pool, server } = await against({
      onRequest: (connection, stream) => {
        const broken = connection.number === 0 && stream > 1
        connection.send(broken ? Buffer.alloc(500, 0xaa) : answer(stream))
      },
    })
    const recorder = await multicast(pool, { count: 2_000, deadlineMs: 10_000 })
    // What was under way when the first connection broke is unknown and stays so.
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

  it('that does not read does not make us hoard: requests wait instead', async () => {
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
    // The socket took what the kernel's buffers hold, some megabytes of the eighty.
    expect(bytesWritten).toBeLessThan(16_000_000)
    expect(streams).toBeLessThanOrEqual(1_000)
    await done
    expect(recorder.reported).toBe(5_000)
    expect(recorder.twice).toEqual([])
  })

  it('that stops answering pings is given up long before the requests time out', async () => {
    const server = pools.keep(await startRawServer({ onRequest: afterFirst(({ socket }) => socket.pause()) }))
    const pool = pools.pool({ origin: server.origin, maxConnections: 1, pingEveryMs: 50, pingTimeoutMs: 150 })
    const recorder = await multicast(pool, { count: 20, timeoutMs: 20_000, deadlineMs: 1_000 })
    expect(recorder.tally()).toMatchObject({ 200: 1 })
    expect([...recorder.failures.values()].some(({ message }) => message.includes('ping'))).toBe(true)
  })

  it('that answers pings and nothing else is left for another connection', async () => {
    const { pool, server } = await against({
      onFrame: ({ send }, { type, flags, payload }) => {
        if (type === FrameType.ping && (flags & Flag.ack) === 0) send(pingFrame(payload, true))
      },
      onRequest: (connection, stream) => {
        if (connection.number > 0) connection.send(answer(stream))
      },
    })
    const first = await multicast(pool, { count: 30, timeoutMs: 1_200, deadlineMs: 20_000 })
    expect(first.tally()).toEqual({ 'unknown:timeout': 30 })
    const second = await multicast(pool, { count: 30, deadlineMs: 20_000 })
    expect(second.tally()).toEqual({ 200: 30 })
    expect(server.connections).toHaveLength(2)
  })

  it('cannot make us hold more than the window of unfinished answers', async () => {
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
