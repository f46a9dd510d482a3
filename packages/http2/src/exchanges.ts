import { FloodGuard } from './flood-guard.ts'
import {
  ConnectionError,
  ErrorCode,
  errorName,
  Flag,
  maxWindow,
  readUint32,
  rstStreamFrame,
  windowUpdateFrame,
} from './frames.ts'
import type { HeaderBlock } from './header-blocks.ts'
import type { Multicast } from './multicast.ts'
import type { Goaway, RequestFailure } from './multicast-request.ts'
import { ReceiveWindow } from './receive-window.ts'
import { finishReply, takeData, takeHeaders } from './reply-reader.ts'
import type { Sender } from './sender.ts'
import { Stream } from './stream.ts'
import { StreamTable } from './stream-table.ts'

export type ExchangeLimits = {
  /** Maximum number of open streams. */
  maxStreams: number
  maxReplyBytes: number
  maxHeaderListBytes: number
  /** Maximum bytes of unfinished replies in memory, over all streams. */
  receiveWindow: number
}

/** Called for a request that the server certainly did not process. */
export type OnUnsent = (multicast: Multicast, index: number, failure: RequestFailure) => void

/** The requests in flight on one connection, and the frames that the server sends for them. */
export class Exchanges {
  readonly window: ReceiveWindow
  readonly floods = new FloodGuard()
  answered = 0
  timeoutsSinceAnswer = 0
  /** Stream id of the next request. */
  nextId = 1
  private readonly streams: StreamTable
  private readonly sender: Sender
  private readonly limits: ExchangeLimits
  private readonly onUnsent: OnUnsent

  constructor(sender: Sender, limits: ExchangeLimits, onUnsent: OnUnsent) {
    this.sender = sender
    this.limits = limits
    this.onUnsent = onUnsent
    this.window = new ReceiveWindow(limits.receiveWindow)
    this.streams = new StreamTable(limits.maxStreams)
  }

  get live(): number {
    return this.streams.size
  }

  all(): readonly Stream[] {
    return this.streams.all()
  }

  /** Sends one request, or throws with nothing sent. */
  open(multicast: Multicast, index: number, now: number): void {
    const deadline = Math.min(now + multicast.timeoutMs, multicast.deadline)
    const stream = new Stream(this.nextId, multicast, index, deadline, this.sender.peer.initialWindowSize)
    this.sender.start(stream, multicast.shape)
    this.streams.add(stream)
    this.nextId += 2
  }

  requireOpened(id: number, what: string): void {
    if ((id & 1) === 1 && id < this.nextId) return
    throw new ConnectionError(ErrorCode.protocolError, `${what} on stream ${id}, which was never opened`)
  }

  data(flags: number, id: number, bytes: Buffer, start: number, end: number, now: number): void {
    let from = start
    let to = end
    if (flags & Flag.padded) {
      if (start === end || start + 1 + bytes[start]! > end) {
        throw new ConnectionError(ErrorCode.protocolError, 'DATA is shorter than its padding')
      }
      to = end - bytes[start]!
      from = start + 1
    }
    this.window.take(end - start)
    const stream = this.streams.get(id)
    const padding = end - start - (to - from)
    this.window.release(stream === undefined ? end - start : padding)
    if (stream === undefined || (from === to && (flags & Flag.endStream) === 0)) this.floods.count(now)
    if (stream === undefined) return
    if (!this.takeBody(stream, bytes, from, to)) return
    if (flags & Flag.endStream) this.finish(stream)
    // Padding uses the stream's window but no memory. It is returned, so that it cannot stall a reply that is within the limit.
    else if (padding > 0) this.sender.outbox.put(windowUpdateFrame(id, padding))
  }

  headers(block: HeaderBlock, now: number): void {
    const stream = this.streams.get(block.stream)
    if (stream === undefined) {
      this.floods.count(now)
    } else if (block.list.tooLarge) {
      const message = `the reply's headers are larger than ${this.limits.maxHeaderListBytes} bytes`
      this.fail(stream, 'oversize', message)
    } else {
      const wrong = takeHeaders(stream, block.list, block.endStream)
      if (wrong !== undefined) this.fail(stream, 'malformed', wrong)
      else if (block.endStream) this.finish(stream)
    }
  }

  reset(id: number, code: number, now: number): void {
    const stream = this.streams.get(id)
    if (stream === undefined) {
      this.floods.count(now)
      return
    }
    this.remove(stream)
    const message = `the server reset the stream with ${errorName(code)}`
    if (code === ErrorCode.refusedStream && stream.status === 0) {
      this.onUnsent(stream.multicast, stream.index, { kind: 'unsent', reason: 'refused', message, code })
    } else {
      const status = stream.status || undefined
      stream.multicast.fail(stream.index, { kind: 'unknown', reason: 'reset', message, code, status })
    }
  }

  widen(id: number, increment: number, now: number): void {
    const stream = this.streams.get(id)
    if (stream === undefined) {
      this.floods.count(now)
      return
    }
    stream.sendWindow += increment
    if (increment === 0) this.fail(stream, 'malformed', 'WINDOW_UPDATE with increment 0')
    else if (stream.sendWindow > maxWindow) {
      this.fail(stream, 'malformed', "the stream's window overflows", ErrorCode.flowControlError)
    }
  }

  /** Cancels requests whose time limit has passed. */
  sweep(now: number, goaway: Goaway | undefined): void {
    for (const stream of this.streams.all()) {
      const { multicast } = stream
      if (now < stream.deadline && now < multicast.deadline) continue
      // An abort by the caller is no sign of a hung server.
      const isLate = now >= stream.deadline
      if (isLate) this.timeoutsSinceAnswer += 1
      this.cancel(stream, ErrorCode.cancel)
      const late: RequestFailure = {
        kind: 'unknown',
        reason: 'timeout',
        message: 'no reply within the time limit',
        goaway,
      }
      const why: RequestFailure =
        !isLate && multicast.stopped?.reason === 'aborted' ? { ...multicast.stopped, kind: 'unknown' } : late
      multicast.fail(stream.index, stream.status === 0 ? why : { ...why, status: stream.status })
    }
  }

  /** Returns the requests that the server's GOAWAY excludes. */
  returnUnsentAbove(lastStream: number, failure: RequestFailure): void {
    for (const stream of this.streams.all()) {
      if (stream.id <= lastStream) continue
      this.remove(stream)
      this.onUnsent(stream.multicast, stream.index, failure)
    }
  }

  /** Reports every request in flight with `failure`: the connection has ended. */
  failAll(failure: RequestFailure): void {
    for (const stream of this.streams.all()) {
      this.remove(stream)
      stream.multicast.fail(
        stream.index,
        stream.status === 0 ? failure : { ...failure, status: stream.status },
      )
    }
  }

  private takeBody(stream: Stream, bytes: Buffer, from: number, to: number): boolean {
    const { maxReplyBytes } = this.limits
    if (stream.status === 0) {
      this.window.release(to - from)
      this.fail(stream, 'malformed', 'DATA before HEADERS')
      return false
    }
    if (stream.bodyLength + to - from > maxReplyBytes) {
      this.window.release(to - from)
      this.fail(stream, 'oversize', `the reply is larger than ${maxReplyBytes} bytes`)
      return false
    }
    takeData(stream, bytes, from, to)
    return true
  }

  private finish(stream: Stream): void {
    const reply = finishReply(stream)
    if (typeof reply === 'string') {
      this.fail(stream, 'malformed', reply)
      return
    }
    this.answered += 1
    this.timeoutsSinceAnswer = 0
    this.floods.reset()
    // The server may reply before it has read the whole body; the rest is then cancelled (RFC 9113 section 8.1).
    if (stream.unsent === undefined) this.remove(stream)
    else this.cancel(stream, ErrorCode.cancel)
    stream.multicast.reply(stream.index, reply)
  }

  private fail(
    stream: Stream,
    reason: 'malformed' | 'oversize',
    message: string,
    code: number = reason === 'oversize' ? ErrorCode.cancel : ErrorCode.protocolError,
  ): void {
    this.cancel(stream, code)
    stream.multicast.fail(stream.index, {
      kind: 'unknown',
      reason,
      message,
      status: stream.status || undefined,
    })
  }

  private cancel(stream: Stream, code: number): void {
    this.sender.outbox.put(rstStreamFrame(stream.id, code))
    this.remove(stream)
  }

  private remove(stream: Stream): void {
    this.streams.delete(stream)
    this.sender.forget(stream)
    this.window.release(stream.bodyLength)
  }
}

/** Reads the payload of a frame that consists of one 32-bit number. */
export function readNumber(what: string, bytes: Buffer, start: number, end: number): number {
  requireLength(what, end - start, 4)
  return readUint32(bytes, start)
}

export function requireLength(what: string, actual: number, wanted: number): void {
  if (actual !== wanted) {
    throw new ConnectionError(ErrorCode.frameSizeError, `${what} has ${actual} bytes instead of ${wanted}`)
  }
}
