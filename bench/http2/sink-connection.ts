import type { Socket } from 'node:net'
import {
  clientPreface,
  Flag,
  FrameReader,
  FrameType,
  frameHeaderBytes,
  HeaderBlocks,
  pingFrame,
  putFrameHeader,
  Setting,
  settingsAck,
  settingsFrame,
  windowUpdateFrame,
} from '@herald/http2'
import { type DistinctSet, Fingerprint } from './distinct-set.ts'

export type SinkCounts = { requests: number; distinct: DistinctSet }

const window = 16 * 1024 * 1024
const outBytes = 65_536
/** Streams whose path is kept until their body has arrived; far more than can be open at the same time. */
const slots = 1 << 16
/** Written buffers of all connections, which are used again to keep the garbage collector idle. */
const spare: Buffer[] = []

/** `:status: 200` and one literal field. The HPACK table is not used, so every response has the same bytes. */
const accepted = Buffer.concat([
  Buffer.from([0x88]),
  literal('apns-id', 'eabeae54-14a8-11e5-b60b-1697f925ec7b'),
])
const acceptedJson = Buffer.concat([Buffer.from([0x88]), literal('content-type', 'application/json')])
const noBytes: Buffer = Buffer.alloc(0)
const messageName = Buffer.from('{"name":"projects/bench/messages/0:1500415314455276%31bd1c9631bd1c96"}')

const tokenName = Buffer.from('"token":"')
const quote = 0x22

/** Identifies the device by the token in the body, if there is one: a retry may have another time to live. */
function addToken(print: Fingerprint, bytes: Buffer, start: number, end: number): void {
  const found = bytes.indexOf(tokenName, start)
  const token = found + tokenName.length
  const until = found < 0 || token > end ? -1 : bytes.indexOf(quote, token)
  if (until < 0 || until > end) print.add(bytes, start, end)
  else print.add(bytes, token, until)
}

/**
 * Responds to every HTTP/2 request with 200 (below /v1/ with a JSON body) and counts the distinct pairs of path and body, or
 * of path and token. It checks nothing that counting does not need.
 */
export function serveSink(socket: Socket, counts: SinkCounts, maxStreams: number): void {
  const blocks = new HeaderBlocks(65_536)
  // Filled as streams are opened: a thousand connections of one push each would otherwise make 65 million of them.
  const prints: Fingerprint[] = []
  const json: boolean[] = []
  let out = noBytes
  let at = 0
  let unacknowledged = 0
  let preface = 0

  const reader = new FrameReader((type, flags, stream, bytes, start, end) => {
    const slot = (stream >> 1) & (slots - 1)
    if (type === FrameType.headers || type === FrameType.continuation) {
      const block =
        type === FrameType.headers
          ? blocks.headers(flags, stream, bytes, start, end)
          : blocks.continuation(flags, bytes, start, end)
      if (block === undefined) return true
      const path = findValue(block.list.fields, ':path')
      prints[slot] ??= new Fingerprint()
      prints[slot].restart(path)
      json[slot] = path.startsWith('/v1/')
      if (block.endStream) respond(stream, slot)
    } else if (type === FrameType.data) {
      unacknowledged += end - start
      const last = (flags & Flag.endStream) !== 0
      if (last && json[slot]) addToken(prints[slot]!, bytes, start, end)
      else prints[slot]!.add(bytes, start, end)
      if (last) respond(stream, slot)
    } else if (type === FrameType.settings && (flags & Flag.ack) === 0) put(settingsAck())
    else if (type === FrameType.ping && (flags & Flag.ack) === 0)
      put(pingFrame(bytes.subarray(start, end), true))
    return true
  })

  function respond(stream: number, slot: number): void {
    counts.requests += 1
    counts.distinct.add(prints[slot]!)
    if (json[slot]) {
      frame(FrameType.headers, Flag.endHeaders, stream, acceptedJson)
      frame(FrameType.data, Flag.endStream, stream, messageName)
    } else {
      frame(FrameType.headers, Flag.endHeaders | Flag.endStream, stream, accepted)
    }
  }

  function frame(type: number, flags: number, stream: number, payload: Buffer): void {
    reserve(frameHeaderBytes + payload.length)
    putFrameHeader(out, at, payload.length, type, flags, stream)
    out.set(payload, at + frameHeaderBytes)
    at += frameHeaderBytes + payload.length
  }

  function put(bytes: Buffer): void {
    reserve(bytes.length)
    out.set(bytes, at)
    at += bytes.length
  }

  function reserve(bytes: number): void {
    if (out.length - at >= bytes) return
    flush()
    out = spare.pop() ?? Buffer.allocUnsafeSlow(outBytes)
  }

  function flush(): void {
    if (at === 0) return
    const written = out
    socket.write(out.subarray(0, at), () => spare.push(written))
    out = noBytes
    at = 0
  }

  socket.on('data', (chunk: Buffer) => {
    let from = 0
    if (preface < clientPreface.length) {
      from = Math.min(clientPreface.length - preface, chunk.length)
      preface += from
    }
    reader.push(chunk.subarray(from))
    if (unacknowledged * 2 > window) {
      put(windowUpdateFrame(0, unacknowledged))
      unacknowledged = 0
    }
    flush()
  })
  socket.on('error', () => socket.destroy())
  put(
    settingsFrame([
      [Setting.maxConcurrentStreams, maxStreams],
      [Setting.initialWindowSize, 1024 * 1024],
    ]),
  )
  put(windowUpdateFrame(0, window - 65_535))
  flush()
}

function literal(name: string, value: string): Buffer {
  return Buffer.concat([
    Buffer.from([0, name.length]),
    Buffer.from(name),
    Buffer.from([value.length]),
    Buffer.from(value),
  ])
}

function findValue(fields: readonly string[], name: string): string {
  for (let at = 0; at < fields.length; at += 2) if (fields[at] === name) return fields[at + 1]!
  return ''
}
