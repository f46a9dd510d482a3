import {
  defaultFrameSize,
  defaultWindow,
  Flag,
  FrameType,
  frameHeaderBytes,
  maxWindow,
  putFrameHeader,
} from './frames.ts'
import { type CompiledBlock, type Field, HpackEncoder } from './hpack/encoder.ts'
import { entryOverhead } from './hpack/static-table.ts'
import { Outbox } from './outbox.ts'
import { initialPeerSettings, type PeerSettings } from './peer-settings.ts'
import { copyInto, putPath, putString, putText } from './put-bytes.ts'
import {
  checkPath,
  checkValue,
  InvalidRequest,
  type RequestShape,
  toBuffer,
  type VaryingField,
} from './request-shape.ts'
import type { Stream } from './stream.ts'

const pathOverhead = ':path'.length + entryOverhead
/** Delayed bodies are framed only until this many bytes wait for the socket. */
const maxPendingBytes = 262_144

const noBytes = Buffer.alloc(0)
const noValues: readonly (string | undefined)[] = []

function areSame(some: readonly Field[], others: readonly Field[]): boolean {
  if (some === others) return true
  if (some.length !== others.length) return false
  for (let at = 0; at < some.length; at++) {
    const one = some[at]!
    const other = others[at]!
    if (one.value !== other.value || one.name !== other.name) return false
  }
  return true
}

function valuesOf(varying: readonly VaryingField[], index: number): (string | undefined)[] {
  return varying.map(({ name, textOf }) => {
    const value = textOf(index)
    return value === undefined ? undefined : checkValue(name, value)
  })
}

/** Size of these fields, as RFC 9113 section 6.5.2 counts it. */
function varyingBytes(varying: readonly VaryingField[], values: readonly (string | undefined)[]): number {
  let bytes = 0
  for (let i = 0; i < varying.length; i++) {
    const value = values[i]
    if (value !== undefined) bytes += varying[i]!.name.length + value.length + entryOverhead
  }
  return bytes
}

/** Writes requests: header blocks from the compiled shared part, bodies as the peer's flow control allows. */
export class Sender {
  readonly outbox = new Outbox()
  peer: PeerSettings = initialPeerSettings
  /** The connection's send window. */
  window = defaultWindow
  private readonly encoder = new HpackEncoder()
  private compiled: CompiledBlock | undefined
  /** The fields that were compiled. The shape itself would keep the caller's last message in memory while the connection is idle. */
  private compiledPseudo: RequestShape['pseudo'] = []
  private compiledOrdinary: RequestShape['ordinary'] = []
  private readonly delayed = new Set<Stream>()

  /** Whether a new request could send at least the first bytes of its body. */
  get mayStart(): boolean {
    return this.window > 0 && !this.blockedByConnection
  }

  private blockedByConnection = false

  /** Writes the request, or throws InvalidRequest with nothing written. */
  start(stream: Stream, shape: RequestShape): void {
    const { index } = stream
    const path = shape.pathOf?.(index)
    if (shape.pathOf !== undefined) checkPath(path)
    const slot = shape.body.each === undefined ? shape.body.slot?.(index) : undefined
    if (shape.body.each !== undefined) {
      const body = shape.body.each(index)
      if (typeof body === 'string' && body.length > 0 && this.fits(stream, body.length * 3)) {
        this.writeHeaders(stream, shape, path, false)
        this.writeSlotted(stream, noBytes, body, noBytes)
        return
      }
      const bytes = toBuffer(body)
      this.writeHeaders(stream, shape, path, bytes.length === 0)
      if (bytes.length > 0) this.sendBody(stream, bytes)
      return
    }
    if (slot !== undefined && typeof slot !== 'string')
      throw new InvalidRequest('the slot of a body is not text')
    const { before, after } = shape.body
    const maxBytes = before.length + after.length + (slot === undefined ? 0 : slot.length * 3)
    this.writeHeaders(stream, shape, path, maxBytes === 0)
    if (maxBytes === 0) return
    if (this.fits(stream, maxBytes)) this.writeSlotted(stream, before, slot, after)
    else this.sendBody(stream, Buffer.concat([before, Buffer.from(slot ?? ''), after]))
  }

  private fits(stream: Stream, bytes: number): boolean {
    return bytes <= this.window && bytes <= stream.sendWindow && bytes <= defaultFrameSize
  }

  /** Applies new SETTINGS and adjusts the windows of `streams`. Returns the id of a stream whose window overflowed, or 0. */
  adopt(settings: PeerSettings, streams: Iterable<Stream>): number {
    const shift = settings.initialWindowSize - this.peer.initialWindowSize
    if (settings.headerTableSize !== this.peer.headerTableSize)
      this.encoder.setPeerTableSize(settings.headerTableSize)
    this.peer = settings
    if (shift === 0) return 0
    for (const stream of streams) {
      stream.sendWindow += shift
      if (stream.sendWindow > maxWindow) return stream.id
    }
    return 0
  }

  /** Sends delayed bodies as far as flow control allows now. */
  resume(): void {
    this.blockedByConnection = false
    for (const stream of this.delayed) {
      this.sendSome(stream)
      if (this.window <= 0 || this.outbox.pendingBytes > maxPendingBytes) break
    }
    this.blockedByConnection = this.window <= 0 && this.delayed.size > 0
  }

  forget(stream: Stream): void {
    if (stream.unsent === undefined) return
    stream.unsent = undefined
    this.delayed.delete(stream)
  }

  private writeHeaders(
    stream: Stream,
    shape: RequestShape,
    path: string | undefined,
    endStream: boolean,
  ): void {
    const { varying } = shape
    const values = varying.length === 0 ? noValues : valuesOf(varying, stream.index)
    const extra = varying.length === 0 ? 0 : varyingBytes(varying, values)
    const listBytes = shape.listBytes + extra + (path === undefined ? 0 : path.length + pathOverhead)
    if (listBytes > this.peer.maxHeaderListSize) {
      throw new InvalidRequest(
        `the headers have ${listBytes} bytes, the server accepts ${this.peer.maxHeaderListSize}`,
      )
    }
    // Nothing may throw from here on: compiling changes the table that the peer must mirror.
    const { head, tail } = this.compile(shape)
    const { outbox } = this
    // `extra` counts 32 bytes of overhead per field, more than a literal needs.
    outbox.reserve(
      frameHeaderBytes + head.length + tail.length + extra + (path === undefined ? 0 : path.length + 6),
    )
    const { chunk, at: start } = outbox
    let at = copyInto(chunk, start + frameHeaderBytes, head)
    if (path !== undefined) at = putPath(chunk, at, path)
    at = copyInto(chunk, at, tail)
    for (let i = 0; i < varying.length; i++) {
      const value = values[i]
      if (value !== undefined) at = putString(chunk, copyInto(chunk, at, varying[i]!.prefix), value)
    }
    const length = at - start - frameHeaderBytes
    const flags = endStream ? Flag.endStream : 0
    if (length > defaultFrameSize)
      this.writeSplit(stream.id, flags, Buffer.from(chunk.subarray(at - length, at)))
    else {
      putFrameHeader(chunk, start, length, FrameType.headers, flags | Flag.endHeaders, stream.id)
      outbox.at = at
    }
  }

  private writeSplit(id: number, flags: number, block: Buffer): void {
    for (let from = 0; from < block.length; from += defaultFrameSize) {
      const part = block.subarray(from, from + defaultFrameSize)
      const last = from + part.length === block.length ? Flag.endHeaders : 0
      const type = from === 0 ? FrameType.headers : FrameType.continuation
      this.outbox.reserve(frameHeaderBytes + part.length)
      putFrameHeader(
        this.outbox.chunk,
        this.outbox.at,
        part.length,
        type,
        (from === 0 ? flags : 0) | last,
        id,
      )
      this.outbox.at = copyInto(this.outbox.chunk, this.outbox.at + frameHeaderBytes, part)
    }
  }

  private compile(shape: RequestShape): CompiledBlock {
    const known = this.compiled
    // With one request per multicast, as in pushes of many applications, encoding would cost as much as encrypting.
    if (
      known !== undefined &&
      !known.once &&
      known.version === this.encoder.version &&
      areSame(this.compiledPseudo, shape.pseudo) &&
      areSame(this.compiledOrdinary, shape.ordinary)
    ) {
      return known
    }
    this.compiled = this.encoder.compile(shape.pseudo, shape.ordinary)
    this.compiledPseudo = shape.pseudo
    this.compiledOrdinary = shape.ordinary
    return this.compiled
  }

  /** The usual case: the whole body fits every limit and is written in place as one DATA frame. */
  private writeSlotted(stream: Stream, before: Buffer, slot: string | undefined, after: Buffer): void {
    const { outbox } = this
    outbox.reserve(
      frameHeaderBytes + before.length + after.length + (slot === undefined ? 0 : slot.length * 3),
    )
    const { chunk, at: start } = outbox
    let at = copyInto(chunk, start + frameHeaderBytes, before)
    if (slot !== undefined) at = putText(chunk, at, slot)
    at = copyInto(chunk, at, after)
    const length = at - start - frameHeaderBytes
    putFrameHeader(chunk, start, length, FrameType.data, Flag.endStream, stream.id)
    outbox.at = at
    this.window -= length
    stream.sendWindow -= length
  }

  private sendBody(stream: Stream, body: Buffer): void {
    stream.unsent = body
    this.delayed.add(stream)
    this.sendSome(stream)
    if (stream.unsent !== undefined && this.window <= 0) this.blockedByConnection = true
  }

  private sendSome(stream: Stream): void {
    while (stream.unsent !== undefined) {
      const room = Math.min(this.window, stream.sendWindow, defaultFrameSize)
      if (room <= 0) return
      const part = stream.unsent.subarray(0, room)
      const last = part.length === stream.unsent.length
      this.outbox.reserve(frameHeaderBytes + part.length)
      const { chunk, at } = this.outbox
      putFrameHeader(chunk, at, part.length, FrameType.data, last ? Flag.endStream : 0, stream.id)
      this.outbox.at = copyInto(chunk, at + frameHeaderBytes, part)
      this.window -= part.length
      stream.sendWindow -= part.length
      if (last) this.forget(stream)
      else stream.unsent = stream.unsent.subarray(room)
    }
  }
}
