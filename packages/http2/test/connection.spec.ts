import { describe, expect, it, jest } from '@jest/globals'
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
  settingsFrame,
  windowUpdateFrame,
} from '../src/frames.ts'
import { HpackEncoder } from '../src/hpack/encoder.ts'
import { endsStream, headerOf } from './support/frame-log.ts'
import { answer, block, dataFrame, headersFrame } from './support/reply-frames.ts'
import { TestConnection, warmConnection } from './support/test-connection.ts'

const bodyOf = (bench: TestConnection, stream: number): string =>
  bench
    .read()
    .frames.filter((seen) => seen.type === FrameType.data && seen.stream === stream)
    .map((seen) => seen.payload.toString())
    .join('')

describe('opening', () => {
  it('starts with the preface, SETTINGS without push, and a wide window', () => {
    const bench = new TestConnection()
    const [settings, update] = bench.read().take()
    expect(settings?.type).toBe(FrameType.settings)
    expect(settings?.payload.subarray(0, 6).toString('hex')).toBe('000200000000')
    expect(update && readUint32(update.payload, 0)).toBe(1_048_576 - 65_535)
  })

  it('sends no request before the server has sent SETTINGS, then one, then many after its reply', () => {
    const bench = new TestConnection()
    const { multicast, recorder } = bench.multicast({ count: 50 })
    expect(bench.send(multicast)).toBe(0)
    bench.say(settingsFrame([]))
    expect(bench.send(multicast)).toBe(1)
    bench.say(answer(1))
    expect(bench.send(multicast)).toBe(49)
    expect(recorder.reported).toBe(1)
  })

  it('does not wait forever for the first reply', () => {
    const bench = new TestConnection()
    const { multicast } = bench.multicast({ count: 50 })
    bench.say(settingsFrame([]))
    bench.send(multicast)
    bench.connection.sweep(999)
    expect(bench.send(multicast)).toBe(0)
    bench.connection.sweep(1_000)
    expect(bench.send(multicast)).toBe(49)
  })
})

describe('requests', () => {
  it('of several multicasts with the same headers are encoded once, and again when a header changes', () => {
    const bench = warmConnection()
    const compile = jest.spyOn(HpackEncoder.prototype, 'compile')
    const headersOf = (token: string) => ({ authorization: `bearer ${token}`, 'x-topic': 'com.example.app' })
    const sent: unknown[] = []
    try {
      for (const token of ['one', 'one', 'one', 'two', 'two', 'two', 'one']) {
        bench.send(bench.multicast({ headers: headersOf(token) }).multicast)
        sent.push([token, compile.mock.calls.length])
      }
    } finally {
      compile.mockRestore()
    }
    // The first block of a header adds it to the server's table, the second has its index.
    expect(sent).toEqual([
      ['one', 1],
      ['one', 2],
      ['one', 2],
      ['two', 3],
      ['two', 4],
      ['two', 4],
      ['one', 5],
    ])
    const seen = bench.log.take().filter(({ type }) => type === FrameType.headers)
    expect(seen.map((frame) => headerOf(frame, 'authorization'))).toEqual(
      ['one', 'one', 'one', 'two', 'two', 'two', 'one'].map((token) => `bearer ${token}`),
    )
    expect(new Set(seen.map((frame) => headerOf(frame, 'x-topic')))).toEqual(new Set(['com.example.app']))
  })

  it('contain the shared headers, their own path and their own part of the body, the first as well as later ones', () => {
    const bench = warmConnection()
    const { multicast } = bench.multicast({
      count: 3,
      headers: { Authorization: 'bearer abc', 'apns-topic': 'com.example' },
      body: { before: '{"badge":', slot: (index) => String(index * 100), after: '}' },
    })
    bench.send(multicast)
    const shared = [':method', 'POST', ':scheme', 'https', ':authority', 'bench.test']
    const headers = bench.log.frames.filter((seen) => seen.type === FrameType.headers)
    expect(headers.map((seen) => seen.fields)).toEqual(
      [0, 1, 2].map((index) => [
        ...shared,
        ...[':path', `/to/${index}`, 'authorization', 'bearer abc', 'apns-topic', 'com.example'],
      ]),
    )
    expect([3, 5, 7].map((stream) => bodyOf(bench, stream))).toEqual([
      '{"badge":0}',
      '{"badge":100}',
      '{"badge":200}',
    ])
    expect(headers[1]!.payload.length).toBeLessThan(16)
  })

  it('write a path as a literal that is never indexed, whatever its length', () => {
    const bench = warmConnection()
    const paths = [
      '/',
      `/${'a'.repeat(125)}`,
      `/${'a'.repeat(126)}`,
      `/${'a'.repeat(300)}`,
      `/${'b'.repeat(20_000)}`,
    ]
    bench.send(bench.multicast({ count: paths.length, path: (index) => paths[index]! }).multicast)
    const blocks = bench.log.frames.filter((seen) => seen.fields !== undefined)
    expect(blocks.map((seen) => headerOf(seen, ':path'))).toEqual(paths)
    expect(blocks[1]!.payload.includes(Buffer.from([0x14, 126]))).toBe(true)
  })

  it('share a path that is the same for all', () => {
    const bench = warmConnection()
    bench.send(bench.multicast({ count: 3, path: '/v1/projects/p/messages:send' }).multicast)
    const blocks = bench.log.take(FrameType.headers)
    expect(blocks.map((seen) => headerOf(seen, ':path'))).toEqual(
      new Array(3).fill('/v1/projects/p/messages:send'),
    )
    expect(blocks[2]!.payload.length).toBeLessThan(10)
  })

  it('larger than a frame are continued without other frames in between', () => {
    const bench = warmConnection()
    const { multicast } = bench.multicast({ count: 2, headers: { 'x-large': 'v'.repeat(40_000) } })
    bench.send(multicast)
    expect(bench.log.frames.map((seen) => [seen.type, seen.flags])).toEqual(
      new Array(2)
        .fill([
          [FrameType.headers, Flag.endStream],
          [FrameType.continuation, 0],
          [FrameType.continuation, Flag.endHeaders],
        ])
        .flat(),
    )
    expect(headerOf(bench.log.frames[5], 'x-large')).toHaveLength(40_000)
  })

  it('of two alternating multicasts are decoded correctly, each with its own shared headers', () => {
    const bench = warmConnection()
    const one = bench.multicast({ count: 4, headers: { 'x-multicast': 'one' } }).multicast
    const two = bench.multicast({ count: 4, headers: { 'x-multicast': 'two' } }).multicast
    for (let turn = 0; turn < 4; turn++) {
      for (const multicast of [one, two]) bench.connection.open(multicast, multicast.take(), 0)
    }
    const multicasts = bench
      .read()
      .take(FrameType.headers)
      .map((seen) => headerOf(seen, 'x-multicast'))
    expect(multicasts).toEqual(['one', 'two', 'one', 'two', 'one', 'two', 'one', 'two'])
  })

  it('that differ by request follow the shared ones, and leave the compression state as it is', () => {
    const bench = warmConnection()
    const ids = ['first', undefined, 'x'.repeat(200)]
    const { multicast } = bench.multicast({
      count: 3,
      headers: { 'x-shared': 'same' },
      varying: [
        { name: 'X-Number', textOf: (index) => String(index) },
        { name: 'x-id', textOf: (index) => ids[index] },
      ],
      body: (index) => (index === 2 ? 'ö'.repeat(9000) : `body ${index}`),
    })
    bench.send(multicast)
    const other = bench.multicast({ count: 2, headers: { 'x-shared': 'same', 'x-id': 'shared' } }).multicast
    bench.send(other)
    const blocks = bench.log.frames.filter(({ type }) => type === FrameType.headers)
    expect(
      blocks.map((seen) => ['x-shared', 'x-number', 'x-id'].map((name) => headerOf(seen, name))),
    ).toEqual([
      ['same', '0', 'first'],
      ['same', '1', undefined],
      ['same', '2', 'x'.repeat(200)],
      ['same', undefined, 'shared'],
      ['same', undefined, 'shared'],
    ])
    const bodies = new Map<number, string>()
    for (const { type, stream, payload } of bench.log.frames)
      if (type === FrameType.data) bodies.set(stream, (bodies.get(stream) ?? '') + payload.toString('latin1'))
    const texts = [...bodies.values()].map((text) => Buffer.from(text, 'latin1').toString())
    expect(texts.slice(0, 3)).toEqual(['body 0', 'body 1', 'ö'.repeat(9000)])
  })

  it.each([
    [
      'a differing header that is no text',
      { varying: [{ name: 'x', textOf: () => 5 as never }] },
      'not a string',
    ],
    [
      'a line break in a differing header',
      { varying: [{ name: 'x', textOf: () => 'a\nb' }] },
      'cannot be sent',
    ],
    ['a path without a slash', { path: () => 'to/0' }, 'a path does not start with /'],
    ['a path with a space', { path: () => '/to 0' }, 'a character that cannot be sent'],
    ['a path that is not a string', { path: () => undefined as unknown as string }, 'a path is not a string'],
    ['a body that is not a string', { body: () => 5 as unknown as string }, 'a body is neither a string'],
    [
      'a slot that is not a string',
      { body: { before: '', slot: () => 5 as unknown as string, after: '' } },
      'the slot of a body',
    ],
    [
      'a function that throws',
      {
        path: () => {
          throw new Error('no such device')
        },
      },
      'no such device',
    ],
  ])('with %s fail alone and leave the compression state intact', (_name, wrong, message) => {
    const bench = warmConnection()
    const bad = bench.multicast({ headers: { 'x-new': 'never seen before' }, ...wrong })
    bench.send(bad.multicast)
    expect(bad.recorder.outcome(0)).toBe('unsent:invalid')
    expect(bad.recorder.failures.get(0)?.message).toContain(message)
    expect(bench.log.take()).toEqual([])
    const good = bench.multicast({ count: 2, headers: { 'x-new': 'never seen before' } })
    bench.send(good.multicast)
    const blocks = bench.log.take(FrameType.headers)
    expect(blocks.map((seen) => [seen.stream, headerOf(seen, 'x-new')])).toEqual([
      [3, 'never seen before'],
      [5, 'never seen before'],
    ])
  })

  it('with headers above the limit of the server are not sent', () => {
    const bench = warmConnection([[Setting.maxHeaderListSize, 300]])
    const { multicast, recorder } = bench.multicast({ count: 1, headers: { 'x-large': 'v'.repeat(200) } })
    bench.send(multicast)
    expect(recorder.failures.get(0)?.message).toContain('the server accepts 300')
  })

  it('end with their headers when there is no body', () => {
    const bench = warmConnection()
    bench.send(bench.multicast({ count: 1 }).multicast)
    bench.send(bench.multicast({ count: 1, body: '' }).multicast)
    bench.send(bench.multicast({ count: 1, body: () => '' }).multicast)
    expect(bench.log.frames.map((seen) => [seen.type, endsStream(seen)])).toEqual(
      new Array(3).fill([FrameType.headers, true]),
    )
  })

  it('send text beyond ASCII as UTF-8', () => {
    const bench = warmConnection()
    bench.send(
      bench.multicast({ count: 1, body: { before: '"', slot: () => 'héllo 你好 😀', after: '"' } }).multicast,
    )
    expect(bodyOf(bench, 3)).toBe('"héllo 你好 😀"')
  })
})

describe('SETTINGS', () => {
  it('may lower the number of streams to one and to none, and raise it again, at any time', () => {
    const bench = warmConnection([[Setting.maxConcurrentStreams, 10]])
    const { multicast } = bench.multicast({ count: 100 })
    expect(bench.send(multicast)).toBe(10)
    bench.say(settingsFrame([[Setting.maxConcurrentStreams, 1]]))
    bench.say(answer(3), answer(5))
    expect(bench.send(multicast)).toBe(0)
    bench.say(...[7, 9, 11, 13, 15, 17, 19].map((stream) => answer(stream)))
    expect(bench.send(multicast)).toBe(0)
    bench.say(answer(21))
    expect(bench.send(multicast)).toBe(1)
    bench.say(settingsFrame([[Setting.maxConcurrentStreams, 0]]), answer(23))
    expect(bench.send(multicast)).toBe(0)
    bench.say(settingsFrame([[Setting.maxConcurrentStreams, 25]]))
    expect(bench.send(multicast)).toBe(25)
  })

  it('are acknowledged, each of them', () => {
    const bench = warmConnection()
    bench.say(settingsFrame([]), settingsFrame([[0x99, 7]]))
    expect(bench.log.take(FrameType.settings).map((seen) => [seen.flags, seen.payload.length])).toEqual([
      [1, 0],
      [1, 0],
    ])
  })

  it('may make a window negative: nothing is sent until it is positive again', () => {
    const bench = warmConnection([[Setting.initialWindowSize, 10]])
    const { multicast, recorder } = bench.multicast({ count: 1, body: 'abcdefghijklmnopqrstuvwxyz' })
    bench.send(multicast)
    expect(bodyOf(bench, 3)).toBe('abcdefghij')
    bench.say(settingsFrame([[Setting.initialWindowSize, 0]]))
    bench.say(windowUpdateFrame(3, 10))
    expect(bodyOf(bench, 3)).toBe('abcdefghij')
    bench.say(windowUpdateFrame(3, 1))
    expect(bodyOf(bench, 3)).toBe('abcdefghijk')
    bench.say(settingsFrame([[Setting.initialWindowSize, 100]]))
    expect(bodyOf(bench, 3)).toBe('abcdefghijklmnopqrstuvwxyz')
    bench.say(answer(3))
    expect(recorder.outcome(0)).toBe('200')
  })

  it('may empty and restore the header table between requests', () => {
    const bench = warmConnection()
    const { multicast } = bench.multicast({ count: 6 })
    for (const size of [4096, 0, 60, 4096, 100_000]) {
      bench.say(settingsFrame([[Setting.headerTableSize, size]]))
      bench.connection.open(multicast, multicast.take(), 0)
    }
    const seen = bench
      .read()
      .take(FrameType.headers)
      .map((frame) => headerOf(frame, 'x-shared'))
    expect(seen).toEqual(new Array(5).fill('the same for all'))
  })
})

describe('flow control', () => {
  it('never sends more than the connection window, and goes on where it stopped', () => {
    const bench = warmConnection([[Setting.initialWindowSize, 1_000_000]])
    const body = 'x'.repeat(40_000)
    const { multicast, recorder } = bench.multicast({ count: 3, body })
    expect(bench.send(multicast)).toBe(2)
    const sent = () => [3, 5, 7].map((stream) => bodyOf(bench, stream).length)
    expect(sent()).toEqual([40_000, 25_535, 0])
    bench.say(windowUpdateFrame(0, 20_000))
    expect(sent()).toEqual([40_000, 40_000, 0])
    expect(bench.send(multicast)).toBe(1)
    expect(sent()).toEqual([40_000, 40_000, 5_535])
    bench.say(windowUpdateFrame(0, 100_000))
    expect(sent()).toEqual([40_000, 40_000, 40_000])
    bench.say(answer(3), answer(5), answer(7))
    expect(recorder.tally()).toEqual({ 200: 3 })
  })

  it('lets other requests overtake one that is blocked by its own window', () => {
    const bench = warmConnection([[Setting.initialWindowSize, 5]])
    bench.send(bench.multicast({ count: 1, body: 'too long for its window' }).multicast)
    bench.send(bench.multicast({ count: 1, body: 'fits' }).multicast)
    expect([bodyOf(bench, 3), bodyOf(bench, 5)]).toEqual(['too l', 'fits'])
  })

  it('cuts bodies into frames of the default size even if the server allows larger ones', () => {
    const bench = warmConnection([
      [Setting.initialWindowSize, 1_000_000],
      [Setting.maxFrameSize, 1_000_000],
    ])
    bench.send(bench.multicast({ count: 1, body: 'x'.repeat(50_000) }).multicast)
    const sizes = bench.log.take(FrameType.data).map((seen) => seen.payload.length)
    expect(sizes).toEqual([16_384, 16_384, 16_384, 50_000 - 3 * 16_384])
  })

  it('returns window for complete replies, including padding and frames on closed streams', () => {
    const bench = warmConnection([], { receiveWindow: 100_000 })
    const given = () =>
      bench
        .read()
        .take(FrameType.windowUpdate)
        .filter((seen) => seen.stream === 0)
        .reduce((sum, seen) => sum + readUint32(seen.payload, 0), 0)
    const { multicast } = bench.multicast({ count: 20 })
    bench.send(multicast)
    let total = 0
    for (let stream = 3; stream < 43; stream += 2) {
      bench.say(headersFrame(stream, { ':status': '200' }), dataFrame(stream, Buffer.alloc(16_000), true))
      total += given()
    }
    expect(total).toBeGreaterThan(200_000)
    expect(bench.connection.ended).toBeUndefined()
    // The stream is closed, but its bytes still count.
    for (let again = 0; again < 20; again++) bench.say(dataFrame(3, Buffer.alloc(16_000)))
    expect(given()).toBeGreaterThan(250_000)
  })

  it('closes the connection when the server exceeds the window', () => {
    const bench = warmConnection([], { receiveWindow: 65_535 })
    const { multicast, recorder } = bench.multicast({ count: 5 })
    bench.send(multicast)
    for (let stream = 3; stream < 13; stream += 2) {
      bench.say(headersFrame(stream, { ':status': '200' }), dataFrame(stream, Buffer.alloc(16_384)))
    }
    expect(bench.connection.ended?.code).toBe(ErrorCode.flowControlError)
    expect(recorder.tally()).toEqual({ 'unknown:closed': 5 })
    expect(recorder.failures.get(0)?.status).toBe(200)
  })

  it('returns padding to its stream, so that it cannot stall a reply', () => {
    const bench = warmConnection()
    bench.send(bench.multicast({ count: 1 }).multicast)
    const padded = makeFrame(
      FrameType.data,
      Flag.padded,
      3,
      Buffer.concat([Buffer.from([200]), Buffer.alloc(200)]),
    )
    bench.say(headersFrame(3, { ':status': '200' }), padded)
    expect(
      bench.log.take(FrameType.windowUpdate).map((seen) => [seen.stream, readUint32(seen.payload, 0)]),
    ).toEqual([[3, 201]])
  })
})

describe('replies', () => {
  it('may have any form that the protocol allows', () => {
    const bench = warmConnection()
    const { multicast, recorder } = bench.multicast({ count: 1 })
    bench.send(multicast)
    const fields = block({ ':status': '410', 'apns-id': 'abc', 'x-many': 'one' })
    const padding = Buffer.alloc(7)
    const priority = Buffer.from([0x80, 0, 0, 0, 16])
    const head = Buffer.concat([Buffer.from([7]), priority, fields.subarray(0, 5), padding])
    bench.say(
      headersFrame(3, { ':status': '103', link: '</x>' }),
      headersFrame(3, { ':status': '100' }),
      makeFrame(FrameType.headers, Flag.padded | Flag.priority, 3, head),
      makeFrame(FrameType.continuation, 0, 3),
      makeFrame(FrameType.continuation, 0, 3, fields.subarray(5)),
      makeFrame(FrameType.continuation, Flag.endHeaders, 3, block({ 'x-many': 'two' })),
      dataFrame(3, '{"reason"'),
      makeFrame(0x99, 0xff, 3, Buffer.from('of another extension')),
      makeFrame(FrameType.priority, 0, 3, priority),
      makeFrame(
        FrameType.data,
        Flag.padded,
        3,
        Buffer.concat([Buffer.from([7]), Buffer.from(':"Gone"}'), padding]),
      ),
      headersFrame(3, { 'x-trailer': 'late' }, true),
    )
    const reply = recorder.replies.get(0)!
    expect(reply.status).toBe(410)
    expect(reply.body.toString()).toBe('{"reason":"Gone"}')
    expect({ ...reply.headers }).toEqual({ 'apns-id': 'abc', 'x-many': 'one, two' })
    expect([reply.header('apns-id'), reply.header('x-many'), reply.header('none')]).toEqual([
      'abc',
      'one, two',
      undefined,
    ])
  })

  it('that arrive before the body is sent are accepted, and the rest of the body is not sent', () => {
    const bench = warmConnection([[Setting.initialWindowSize, 3]])
    const { multicast, recorder } = bench.multicast({ count: 1, body: 'a long body' })
    bench.send(multicast)
    bench.log.take()
    bench.say(answer(3, 413, 'too long'), rstStreamFrame(3, ErrorCode.noError), windowUpdateFrame(3, 100))
    expect(recorder.outcome(0)).toBe('413')
    expect(bench.log.frames.map((seen) => seen.type)).toEqual([FrameType.rstStream])
    expect(bench.connection.exchanges.live).toBe(0)
  })

  it.each<[string, Buffer[], string, number]>([
    [
      'a body over the limit',
      [headersFrame(3, { ':status': '200' }), dataFrame(3, 'x'.repeat(33), true)],
      'oversize',
      ErrorCode.cancel,
    ],
    [
      'a body over the limit in pieces',
      [headersFrame(3, { ':status': '200' }), ...Array.from({ length: 33 }, () => dataFrame(3, 'x'))],
      'oversize',
      ErrorCode.cancel,
    ],
    [
      'headers over the limit',
      [headersFrame(3, { ':status': '200', 'x-large': 'v'.repeat(500) }, true)],
      'oversize',
      ErrorCode.cancel,
    ],
    ['no status', [headersFrame(3, { 'x-status': '200' }, true)], 'malformed', ErrorCode.protocolError],
    [
      'a status that is not a number',
      [headersFrame(3, { ':status': '2xx' }, true)],
      'malformed',
      ErrorCode.protocolError,
    ],
    [
      'a status after other headers',
      [headersFrame(3, { server: 'x', ':status': '200' }, true)],
      'malformed',
      ErrorCode.protocolError,
    ],
    ['status 101', [headersFrame(3, { ':status': '101' })], 'malformed', ErrorCode.protocolError],
    [
      'an informational end',
      [headersFrame(3, { ':status': '103' }, true)],
      'malformed',
      ErrorCode.protocolError,
    ],
    [
      'a pseudo header of requests',
      [headersFrame(3, { ':status': '200', ':path': '/' }, true)],
      'malformed',
      ErrorCode.protocolError,
    ],
    [
      'an upper-case header',
      [headersFrame(3, { ':status': '200', 'X-Case': '1' }, true)],
      'malformed',
      ErrorCode.protocolError,
    ],
    [
      'a connection header',
      [headersFrame(3, { ':status': '200', connection: 'close' }, true)],
      'malformed',
      ErrorCode.protocolError,
    ],
    [
      'a wrong content-length',
      [headersFrame(3, { ':status': '200', 'content-length': '5' }), dataFrame(3, 'four', true)],
      'malformed',
      ErrorCode.protocolError,
    ],
    [
      'a content-length without body',
      [headersFrame(3, { ':status': '200', 'content-length': '5' }, true)],
      'malformed',
      ErrorCode.protocolError,
    ],
    ['data before headers', [dataFrame(3, 'early')], 'malformed', ErrorCode.protocolError],
    [
      'trailers that do not end',
      [headersFrame(3, { ':status': '200' }), headersFrame(3, { 'x-late': '1' })],
      'malformed',
      ErrorCode.protocolError,
    ],
    [
      'trailers with a pseudo header',
      [headersFrame(3, { ':status': '200' }), headersFrame(3, { ':status': '200' }, true)],
      'malformed',
      ErrorCode.protocolError,
    ],
    [
      'endless informational headers',
      Array.from({ length: 33 }, () => headersFrame(3, { ':status': '102' })),
      'malformed',
      ErrorCode.protocolError,
    ],
    ['a window update of nothing', [windowUpdateFrame(3, 0)], 'malformed', ErrorCode.protocolError],
    [
      'a window update beyond 2^31',
      [windowUpdateFrame(3, 0x7fffffff)],
      'malformed',
      ErrorCode.flowControlError,
    ],
  ])('with %s fail their stream alone', (_name, frames, reason, code) => {
    const bench = warmConnection([], { maxReplyBytes: 32, maxHeaderListBytes: 400 })
    const { multicast, recorder } = bench.multicast({ count: 2 })
    bench.send(multicast)
    bench.log.take()
    bench.say(...frames)
    expect(recorder.outcome(0)).toBe(`unknown:${reason}`)
    const [reset] = bench.log.take(FrameType.rstStream)
    expect([reset?.stream, reset && readUint32(reset.payload, 0)]).toEqual([3, code])
    bench.say(answer(5))
    expect([recorder.outcome(1), recorder.twice, bench.connection.ended]).toEqual(['200', [], undefined])
  })

  it.each([[204], [304]])('with status %i may have a content-length without a body', (status) => {
    const bench = warmConnection()
    const { multicast, recorder } = bench.multicast()
    bench.send(multicast)
    bench.say(headersFrame(3, { ':status': String(status), 'content-length': '17' }, true))
    expect(recorder.outcome(0)).toBe(String(status))
  })
})

describe('ends of streams', () => {
  it('REFUSED_STREAM is unsent, every other reset unknown', () => {
    const bench = warmConnection()
    const { multicast, recorder } = bench.multicast({ count: 4 })
    bench.send(multicast)
    bench.say(
      rstStreamFrame(3, ErrorCode.refusedStream),
      rstStreamFrame(5, ErrorCode.internalError),
      headersFrame(7, { ':status': '200' }),
      rstStreamFrame(7, ErrorCode.refusedStream),
      rstStreamFrame(9, 0xdead),
    )
    expect(recorder.outcomes(4)).toEqual([
      'unsent:refused',
      'unknown:reset',
      'unknown:reset',
      'unknown:reset',
    ])
    expect(recorder.failures.get(2)?.status).toBe(200)
    expect(recorder.failures.get(3)?.message).toContain('error 57005')
  })

  it('the time limit of a request cancels it; a later reply is ignored but still decoded', () => {
    const bench = warmConnection()
    const { multicast, recorder } = bench.multicast({ count: 2, timeoutMs: 100 })
    bench.send(multicast)
    bench.connection.sweep(bench.now + 99)
    expect(recorder.reported).toBe(0)
    bench.connection.sweep(bench.now + 100)
    expect(recorder.outcomes(2)).toEqual(['unknown:timeout', 'unknown:timeout'])
    const resets = bench.read().take(FrameType.rstStream)
    expect(resets.map((seen) => readUint32(seen.payload, 0))).toEqual([ErrorCode.cancel, ErrorCode.cancel])
    // The late reply adds a field to the table that the next one refers to.
    const indexed = Buffer.from([0x88, 0x40, 1, 0x61, 1, 0x62])
    const next = bench.multicast()
    bench.send(next.multicast)
    bench.say(makeFrame(FrameType.headers, 5, 3, indexed), dataFrame(5, 'late', true))
    bench.say(makeFrame(FrameType.headers, 5, 7, Buffer.from([0x88, 0xbe])))
    expect(next.recorder.replies.get(0)?.header('a')).toBe('b')
    expect(recorder.twice).toEqual([])
  })

  it('the connection opens no stream beyond the last id and is then draining', () => {
    const bench = warmConnection([], { lastStreamId: 7 })
    const { multicast } = bench.multicast({ count: 10 })
    expect(bench.send(multicast)).toBe(3)
    expect([bench.connection.capacity, bench.connection.draining]).toEqual([0, true])
  })
})

describe('GOAWAY', () => {
  it('returns the streams above its last one and lets the others finish', () => {
    const bench = warmConnection()
    const { multicast, recorder } = bench.multicast({ count: 3 })
    bench.send(multicast)
    bench.say(goawayFrame(5, ErrorCode.noError, '{"reason":"Shutdown"}'))
    expect(recorder.outcomes(3)).toEqual([undefined, undefined, 'unsent:goaway'])
    expect(recorder.failures.get(2)?.goaway?.debug).toBe('{"reason":"Shutdown"}')
    expect(bench.connection.capacity).toBe(0)
    bench.say(answer(3), answer(5))
    expect(recorder.tally()).toEqual({ 200: 2, 'unsent:goaway': 1 })
  })

  it('may be repeated with a lower last stream, but not with a higher one', () => {
    const bench = warmConnection()
    const { multicast, recorder } = bench.multicast({ count: 3 })
    bench.send(multicast)
    bench.say(goawayFrame(0x7fffffff, ErrorCode.noError))
    expect(recorder.reported).toBe(0)
    bench.say(goawayFrame(3, ErrorCode.enhanceYourCalm), goawayFrame(9, ErrorCode.noError))
    expect(recorder.outcomes(3)).toEqual([undefined, 'unsent:goaway', 'unsent:goaway'])
    expect(bench.goaways.map((goaway) => goaway.lastStream)).toEqual([0x7fffffff, 3, 3])
    bench.connection.lost('the socket broke')
    expect(recorder.outcome(0)).toBe('unknown:closed')
  })
})

describe('PING', () => {
  it('is answered with its own payload', () => {
    const bench = warmConnection()
    bench.say(pingFrame(Buffer.from('12345678'), false))
    expect(bench.log.take().map((seen) => [seen.type, seen.flags, seen.payload.toString()])).toEqual([
      [6, 1, '12345678'],
    ])
  })

  it('acknowledgements are matched by number and measure the round trip', () => {
    const bench = warmConnection()
    const { connection } = bench
    connection.ping(bench.now)
    connection.ping(bench.now)
    const pings = bench.read().take(FrameType.ping)
    expect(pings).toHaveLength(1)
    bench.now += 40
    bench.say(pingFrame(Buffer.from('notours!'), true))
    expect(connection.heartbeat.waited(bench.now)).toBe(40)
    bench.say(pingFrame(pings[0]!.payload, true))
    expect([connection.heartbeat.waited(bench.now), connection.heartbeat.roundTripMs]).toEqual([0, 40])
  })
})
