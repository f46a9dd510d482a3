import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import {
  ErrorCode,
  Flag,
  FrameType,
  goawayFrame,
  makeFrame,
  pingFrame,
  readUint32,
  rstStreamFrame,
  Setting,
  settingsAck,
  settingsFrame,
  windowUpdateFrame,
} from '../src/frames.ts'
import { answer, block, dataFrame, headersFrame } from './support/reply-frames.ts'
import { TestConnection, warmConnection } from './support/test-connection.ts'

const bytes = (length: number): Buffer => Buffer.alloc(length)
const { protocolError, frameSizeError, flowControlError, compressionError, enhanceYourCalm } = ErrorCode

const violations: [what: string, frames: Buffer[], code: number][] = [
  ['DATA for the connection', [dataFrame(0, 'x')], protocolError],
  ['DATA for a stream never opened', [dataFrame(99, 'x')], protocolError],
  ['DATA for a stream of the server', [dataFrame(2, 'x')], protocolError],
  [
    'DATA with more padding than bytes',
    [makeFrame(FrameType.data, Flag.padded, 3, Buffer.from([5, 1, 2]))],
    protocolError,
  ],
  ['DATA padded and empty', [makeFrame(FrameType.data, Flag.padded, 3)], protocolError],
  ['HEADERS for the connection', [headersFrame(0, { ':status': '200' })], protocolError],
  ['HEADERS for a stream never opened', [headersFrame(99, { ':status': '200' })], protocolError],
  [
    'HEADERS with more padding than bytes',
    [makeFrame(FrameType.headers, Flag.padded | Flag.endHeaders, 3, Buffer.from([9, 0x88]))],
    protocolError,
  ],
  [
    'HEADERS too short for their priority',
    [makeFrame(FrameType.headers, Flag.priority | Flag.endHeaders, 3, bytes(4))],
    protocolError,
  ],
  [
    'HEADERS that cannot be decoded',
    [makeFrame(FrameType.headers, Flag.endHeaders, 3, Buffer.from([0xff]))],
    compressionError,
  ],
  [
    'HEADERS that announce a large table',
    [makeFrame(FrameType.headers, Flag.endHeaders, 3, Buffer.from([0x3f, 0xff, 0x7f, 0x88]))],
    compressionError,
  ],
  [
    'CONTINUATION without HEADERS',
    [makeFrame(FrameType.continuation, Flag.endHeaders, 3, Buffer.from([0x88]))],
    protocolError,
  ],
  [
    'CONTINUATION for another stream',
    [
      makeFrame(FrameType.headers, 0, 3),
      makeFrame(FrameType.continuation, Flag.endHeaders, 5, Buffer.from([0x88])),
    ],
    protocolError,
  ],
  [
    'a frame inside a header block',
    [makeFrame(FrameType.headers, 0, 3), pingFrame(bytes(8), false)],
    protocolError,
  ],
  [
    'an unknown frame inside a header block',
    [makeFrame(FrameType.headers, 0, 3), makeFrame(0x77, 0, 3)],
    protocolError,
  ],
  [
    'an endless header block',
    [
      makeFrame(FrameType.headers, 0, 3),
      ...Array.from({ length: 8 }, () => makeFrame(FrameType.continuation, 0, 3, bytes(16_384))),
    ],
    enhanceYourCalm,
  ],
  [
    'endless empty CONTINUATION frames',
    [
      makeFrame(FrameType.headers, 0, 3),
      ...Array.from({ length: 1_100 }, () => makeFrame(FrameType.continuation, 0, 3)),
    ],
    enhanceYourCalm,
  ],
  ['RST_STREAM for the connection', [rstStreamFrame(0, 0)], protocolError],
  ['RST_STREAM for a stream never opened', [rstStreamFrame(99, 0)], protocolError],
  ['RST_STREAM of the wrong size', [makeFrame(FrameType.rstStream, 0, 3, bytes(5))], frameSizeError],
  ['SETTINGS for a stream', [makeFrame(FrameType.settings, 0, 3)], protocolError],
  ['SETTINGS of the wrong size', [makeFrame(FrameType.settings, 0, 0, bytes(7))], frameSizeError],
  [
    'SETTINGS that acknowledge with content',
    [makeFrame(FrameType.settings, Flag.ack, 0, bytes(6))],
    frameSizeError,
  ],
  ['SETTINGS that switch push on', [settingsFrame([[Setting.enablePush, 1]])], protocolError],
  [
    'SETTINGS with a window too large',
    [settingsFrame([[Setting.initialWindowSize, 0x80000000]])],
    flowControlError,
  ],
  ['SETTINGS with frames too small', [settingsFrame([[Setting.maxFrameSize, 16_383]])], protocolError],
  ['SETTINGS with frames too large', [settingsFrame([[Setting.maxFrameSize, 0x1000000]])], protocolError],
  [
    'SETTINGS that overflow a widened stream',
    [windowUpdateFrame(3, 0x7fff0000 - 65_535), settingsFrame([[Setting.initialWindowSize, 0x7fffffff]])],
    flowControlError,
  ],
  [
    'PUSH_PROMISE',
    [
      makeFrame(
        FrameType.pushPromise,
        Flag.endHeaders,
        3,
        Buffer.concat([bytes(4), block({ ':path': '/' })]),
      ),
    ],
    protocolError,
  ],
  ['PING for a stream', [makeFrame(FrameType.ping, 0, 3, bytes(8))], protocolError],
  ['PING of the wrong size', [makeFrame(FrameType.ping, 0, 0, bytes(7))], frameSizeError],
  ['PRIORITY for the connection', [makeFrame(FrameType.priority, 0, 0, bytes(5))], protocolError],
  ['PRIORITY of the wrong size', [makeFrame(FrameType.priority, 0, 3, bytes(4))], frameSizeError],
  ['GOAWAY for a stream', [makeFrame(FrameType.goaway, 0, 3, bytes(8))], protocolError],
  ['GOAWAY of the wrong size', [makeFrame(FrameType.goaway, 0, 0, bytes(7))], frameSizeError],
  ['WINDOW_UPDATE of nothing', [windowUpdateFrame(0, 0)], protocolError],
  ['WINDOW_UPDATE beyond 2^31', [windowUpdateFrame(0, 0x7fffffff)], flowControlError],
  ['WINDOW_UPDATE of the wrong size', [makeFrame(FrameType.windowUpdate, 0, 0, bytes(3))], frameSizeError],
  ['WINDOW_UPDATE for a stream never opened', [windowUpdateFrame(99, 1)], protocolError],
  ['a frame too large', [Buffer.from([0x01, 0, 0, 0, 0, 0, 0, 0, 3])], frameSizeError],
  ['a flood of PING', Array.from({ length: 10_001 }, () => pingFrame(bytes(8), false)), enhanceYourCalm],
  ['a flood of SETTINGS', Array.from({ length: 10_001 }, () => settingsFrame([])), enhanceYourCalm],
  ['a flood of acknowledgements', Array.from({ length: 10_001 }, () => settingsAck()), enhanceYourCalm],
  [
    'a flood of empty DATA',
    [headersFrame(3, { ':status': '200' }), ...Array.from({ length: 10_001 }, () => dataFrame(3, ''))],
    enhanceYourCalm,
  ],
  ['a flood of unknown frames', Array.from({ length: 10_001 }, () => makeFrame(0x55, 0, 0)), enhanceYourCalm],
  [
    'a flood of resets for a closed stream',
    Array.from({ length: 10_001 }, () => rstStreamFrame(1, 0)),
    enhanceYourCalm,
  ],
]

describe('a server that breaks the protocol', () => {
  it.each(violations)(
    'by %s loses the connection, and every request is reported once',
    (_what, frames, code) => {
      const bench = warmConnection()
      const { multicast, recorder } = bench.multicast({ count: 3, body: 'content' })
      bench.send(multicast)
      bench.log.take()
      bench.say(...frames, answer(5))
      expect(bench.connection.ended?.code).toBe(code)
      const [goaway] = bench.log.take(FrameType.goaway)
      expect(goaway && [readUint32(goaway.payload, 0), readUint32(goaway.payload, 4)]).toEqual([0, code])
      expect(recorder.tally()).toEqual({ 'unknown:closed': 3 })
      expect(recorder.twice).toEqual([])
      expect(bench.connection.capacity).toBe(0)
    },
  )

  it.each([
    ['uses HTTP/1', Buffer.from('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n')],
    ['starts with another frame', pingFrame(bytes(8), false)],
    ['starts with an acknowledgement', settingsAck()],
  ])('that %s loses the connection', (_what, bytes) => {
    const bench = new TestConnection()
    bench.say(bytes)
    expect(bench.connection.ended?.reason).toBe('closed')
    expect([protocolError, frameSizeError]).toContain(bench.connection.ended?.code)
  })
})

describe('with random frames from the server', () => {
  const stream = fc.constantFrom(0, 1, 2, 3, 5, 7, 9, 11, 99)
  const flags = fc.constantFrom(0, 1, 4, 5, 8, 9, 0x20, 0x2d, 0xff)
  const fields = fc.constantFrom<Record<string, string>>(
    { ':status': '200' },
    { ':status': '103' },
    { ':status': '400', 'content-length': '3' },
    { 'x-trailer': 'x' },
    {},
  )
  const frame = fc.oneof(
    fc.tuple(stream, fields, fc.boolean()).map(([id, list, end]) => headersFrame(id, list, end)),
    fc
      .tuple(stream, fc.uint8Array({ maxLength: 40 }), fc.boolean())
      .map(([id, data, end]) => dataFrame(id, data, end)),
    fc.tuple(stream, fc.nat(14)).map(([id, code]) => rstStreamFrame(id, code)),
    fc.tuple(stream, fc.nat(14)).map(([last, code]) => goawayFrame(last, code, 'bye')),
    fc.tuple(stream, fc.constantFrom(0, 1, 10, 1000)).map(([id, size]) => windowUpdateFrame(id, size)),
    fc.tuple(fc.nat(7), fc.constantFrom(0, 1, 5, 100, 65_535)).map((pair) => settingsFrame([pair])),
    fc.tuple(fc.nat(11), flags, stream, fc.uint8Array({ maxLength: 20 })).map((parts) => makeFrame(...parts)),
    fc.uint8Array({ maxLength: 12 }).map((junk) => Buffer.from(junk)),
  )
  const cut = fc.nat(40)

  it('every request is reported exactly once, and only the connection fails', () => {
    const seen = new Set<string>()
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 25 }), fc.array(cut, { maxLength: 20 }), (frames, cuts) => {
        const bench = warmConnection([[Setting.initialWindowSize, 20]])
        const { multicast, recorder } = bench.multicast({ count: 8, body: 'a body longer than the window' })
        bench.replays = true
        bench.send(multicast)
        let rest = Buffer.concat(frames)
        for (const size of [...cuts, rest.length]) {
          bench.say(rest.subarray(0, size))
          rest = rest.subarray(size)
          bench.send(multicast)
        }
        bench.connection.lost('the end')
        multicast.stop({ kind: 'unsent', reason: 'aborted', message: 'the end' }, 0)
        expect(recorder.reported).toBe(8)
        expect(recorder.twice).toEqual([])
        expect(bench.connection.exchanges.live).toBe(0)
        if (bench.goaways.length > 0) seen.add('goaway')
        for (const outcome of Object.keys(recorder.tally())) seen.add(outcome)
      }),
      { numRuns: 3_000, interruptAfterTimeLimit: 25_000 },
    )
    // The generator must produce all kinds of outcome, not only broken connections.
    for (const outcome of ['200', 'goaway', 'unknown:reset', 'unknown:closed', 'unknown:malformed']) {
      expect(seen).toContain(outcome)
    }
  })
})
