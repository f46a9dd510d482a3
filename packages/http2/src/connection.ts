import { type ExchangeLimits, Exchanges, type OnUnsent, readNumber, requireLength } from './exchanges.ts'
import { FrameReader } from './frame-reader.ts'
import {
  ConnectionError,
  clientPreface,
  defaultWindow,
  ErrorCode,
  errorName,
  Flag,
  FrameType,
  goawayFrame,
  maxStreamId,
  maxWindow,
  pingFrame,
  readUint32,
  Setting,
  settingsAck,
  settingsFrame,
  windowUpdateFrame,
} from './frames.ts'
import { type HeaderBlock, HeaderBlocks } from './header-blocks.ts'
import { Heartbeat } from './heartbeat.ts'
import type { Multicast } from './multicast.ts'
import type { Goaway, RequestFailure } from './multicast-request.ts'
import { readSettings } from './peer-settings.ts'
import { InvalidRequest } from './request-shape.ts'
import { Sender } from './sender.ts'

export type ConnectionLimits = ExchangeLimits & {
  /** The highest stream id used; lower than the protocol's only in tests. */
  lastStreamId: number
}

export type ConnectionEvents = {
  /** The server's first SETTINGS was received: requests may be sent. */
  onReady(): void
  onUnsent: OnUnsent
  onGoaway(goaway: Goaway): void
}

/** Maximum time for which the first request of a connection is the only one, if it gets no reply. */
const probeMs = 1_000
const maxDebugBytes = 1_024

/**
 * The HTTP/2 protocol of one client connection, without the socket: input goes to `receive`, output to the sender's outbox.
 * Replies and failures are reported to the multicasts. Times are milliseconds on the caller's monotonic clock.
 */
export class Connection {
  readonly sender = new Sender()
  readonly heartbeat = new Heartbeat()
  readonly exchanges: Exchanges
  goaway: Goaway | undefined
  /** Why the connection ended; nothing is read or opened afterwards. */
  ended: RequestFailure | undefined
  lastReceived: number
  private readonly limits: ConnectionLimits
  private readonly events: ConnectionEvents
  private readonly reader: FrameReader
  private readonly blocks: HeaderBlocks
  private ready = false
  /** The first request is sent alone: a push service may allow one stream until it has accepted a provider token. */
  private probeStarted: number | undefined
  private probed = false
  private retired = false
  private now: number
  private windowChanged = false

  constructor(limits: ConnectionLimits, events: ConnectionEvents, now: number) {
    this.limits = limits
    this.events = events
    this.now = now
    this.lastReceived = now
    this.exchanges = new Exchanges(this.sender, limits, events.onUnsent)
    this.blocks = new HeaderBlocks(limits.maxHeaderListBytes)
    this.reader = new FrameReader((type, flags, id, bytes, start, end) => {
      this.requireOrder(type, flags, id)
      this.onFrame(type, flags, id, bytes, start, end)
      return this.ended === undefined
    })
    this.sendPreface()
  }

  /** No new stream will be opened here. */
  get draining(): boolean {
    return this.retired || this.goaway !== undefined || this.exchanges.nextId > this.limits.lastStreamId
  }

  get streamLimit(): number {
    if (!this.probed && this.exchanges.answered === 0)
      return Math.min(this.sender.peer.maxConcurrentStreams, 1)
    return Math.min(this.sender.peer.maxConcurrentStreams, this.limits.maxStreams)
  }

  /** Number of requests that may be opened now. */
  get capacity(): number {
    if (!this.ready || this.ended !== undefined || this.draining || !this.sender.mayStart) return 0
    const idsLeft = (this.limits.lastStreamId - this.exchanges.nextId) / 2 + 1
    return Math.max(0, Math.min(this.streamLimit - this.exchanges.live, Math.floor(idsLeft)))
  }

  /** Opens no more streams; open streams end normally. */
  retire(): void {
    this.retired = true
  }

  /** Sends one request. Call only while `capacity` is above 0. */
  open(multicast: Multicast, index: number, now: number): void {
    this.probeStarted ??= now
    try {
      this.exchanges.open(multicast, index, now)
    } catch (error) {
      const message =
        error instanceof InvalidRequest ? error.message : `the caller's function threw: ${error}`
      multicast.fail(index, { kind: 'unsent', reason: 'invalid', message })
    }
  }

  receive(chunk: Buffer, now: number): void {
    if (this.ended !== undefined) return
    this.now = now
    this.lastReceived = now
    try {
      this.reader.push(chunk)
    } catch (error) {
      // An error of another class is a bug in this client; it must end the connection too, or its requests would stay unreported.
      this.close(
        error instanceof Error ? error.message : String(error),
        error instanceof ConnectionError ? error.code : ErrorCode.internalError,
      )
    }
    if (this.windowChanged) this.resume()
    this.returnWindow()
  }

  /** Sends delayed bodies as far as windows and the outbox allow; to be called when the socket is writable again. */
  resume(): void {
    this.windowChanged = false
    if (this.ended === undefined) this.sender.resume()
  }

  /** Cancels requests whose time limit has passed. */
  sweep(now: number): void {
    if (this.probeStarted !== undefined && now - this.probeStarted >= probeMs) this.probed = true
    this.exchanges.sweep(now, this.goaway)
    this.returnWindow()
  }

  /** Sends a PING unless one is still unacknowledged. */
  ping(now: number): void {
    const frame = this.heartbeat.start(now)
    if (frame !== undefined) this.sender.outbox.put(frame)
  }

  /** Ends the connection with a GOAWAY; requests in flight become `unknown`. */
  close(message: string, code: number = ErrorCode.noError): void {
    if (this.ended !== undefined) return
    // The server opens no streams on this connection, so the last one processed is 0.
    this.sender.outbox.put(goawayFrame(0, code, code === ErrorCode.noError ? '' : message))
    this.end({ kind: 'unknown', reason: 'closed', message, code, goaway: this.goaway })
  }

  /** The socket is closed; requests in flight become `unknown`. */
  lost(message: string): void {
    if (this.ended === undefined)
      this.end({ kind: 'unknown', reason: 'closed', message, goaway: this.goaway })
  }

  private sendPreface(): void {
    const { outbox } = this.sender
    const { maxReplyBytes, maxHeaderListBytes } = this.limits
    outbox.put(clientPreface)
    outbox.put(
      settingsFrame([
        [Setting.enablePush, 0],
        // One byte above the limit, so that an oversized reply is detected instead of stalling on flow control.
        [Setting.initialWindowSize, maxReplyBytes + 1],
        [Setting.maxHeaderListSize, maxHeaderListBytes],
      ]),
    )
    const widened = this.exchanges.window.full - defaultWindow
    if (widened > 0) outbox.put(windowUpdateFrame(0, widened))
  }

  private end(failure: RequestFailure): void {
    this.ended = failure
    this.exchanges.failAll(failure)
  }

  private requireOrder(type: number, flags: number, id: number): void {
    if (!this.ready && (type !== FrameType.settings || flags & Flag.ack)) {
      throw new ConnectionError(ErrorCode.protocolError, 'the server did not start with SETTINGS')
    }
    const { openStream } = this.blocks
    const continues = type === FrameType.continuation
    if (openStream !== 0 && !(continues && id === openStream)) {
      throw new ConnectionError(ErrorCode.protocolError, 'another frame interrupted a header block')
    }
    if (openStream === 0 && continues) {
      throw new ConnectionError(ErrorCode.protocolError, 'CONTINUATION without HEADERS')
    }
  }

  private onFrame(type: number, flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    switch (type) {
      case FrameType.data:
        this.exchanges.requireOpened(id, 'DATA')
        this.exchanges.data(flags, id, bytes, start, end, this.now)
        break
      case FrameType.headers:
        this.exchanges.requireOpened(id, 'HEADERS')
        this.onBlock(this.blocks.headers(flags, id, bytes, start, end))
        break
      case FrameType.continuation:
        this.onBlock(this.blocks.continuation(flags, bytes, start, end))
        break
      case FrameType.rstStream:
        this.exchanges.requireOpened(id, 'RST_STREAM')
        this.exchanges.reset(id, readNumber('RST_STREAM', bytes, start, end), this.now)
        break
      case FrameType.windowUpdate:
        this.onWindowUpdate(id, readNumber('WINDOW_UPDATE', bytes, start, end) & maxWindow)
        break
      case FrameType.pushPromise:
        throw new ConnectionError(ErrorCode.protocolError, 'the server pushed although push is disabled')
      default:
        this.exchanges.floods.count(this.now)
        this.onControl(type, flags, id, bytes, start, end)
    }
  }

  private onControl(
    type: number,
    flags: number,
    id: number,
    bytes: Buffer,
    start: number,
    end: number,
  ): void {
    switch (type) {
      case FrameType.settings:
        requireConnection('SETTINGS', id)
        this.onSettings(flags, bytes, start, end)
        break
      case FrameType.ping:
        requireConnection('PING', id)
        requireLength('PING', end - start, 8)
        if (flags & Flag.ack) this.heartbeat.acknowledge(bytes.subarray(start, end), this.now)
        else this.sender.outbox.put(pingFrame(bytes.subarray(start, end), true))
        break
      case FrameType.goaway:
        requireConnection('GOAWAY', id)
        this.onGoaway(bytes, start, end)
        break
      case FrameType.priority:
        if (id === 0) throw new ConnectionError(ErrorCode.protocolError, 'PRIORITY on stream 0')
        requireLength('PRIORITY', end - start, 5)
        break
    }
  }

  private onBlock(block: HeaderBlock | undefined): void {
    if (block !== undefined) this.exchanges.headers(block, this.now)
  }

  private onSettings(flags: number, bytes: Buffer, start: number, end: number): void {
    if (flags & Flag.ack) {
      requireLength('an acknowledging SETTINGS', end - start, 0)
      return
    }
    const overflowed = this.sender.adopt(
      readSettings(this.sender.peer, bytes, start, end),
      this.exchanges.all(),
    )
    if (overflowed !== 0) {
      throw new ConnectionError(
        ErrorCode.flowControlError,
        `INITIAL_WINDOW_SIZE overflows stream ${overflowed}`,
      )
    }
    this.windowChanged = true
    this.sender.outbox.put(settingsAck())
    if (this.ready) return
    this.ready = true
    this.events.onReady()
  }

  private onGoaway(bytes: Buffer, start: number, end: number): void {
    if (end - start < 8)
      throw new ConnectionError(ErrorCode.frameSizeError, 'GOAWAY has fewer than eight bytes')
    const goaway: Goaway = {
      // A second GOAWAY may lower the last stream, never raise it.
      lastStream: Math.min(readUint32(bytes, start) & maxStreamId, this.goaway?.lastStream ?? maxStreamId),
      code: readUint32(bytes, start + 4),
      debug: bytes.toString('utf8', start + 8, Math.min(end, start + 8 + maxDebugBytes)),
    }
    this.goaway = goaway
    this.events.onGoaway(goaway)
    const message = `the server sent GOAWAY (${errorName(goaway.code)}) before it processed the stream`
    this.exchanges.returnUnsentAbove(goaway.lastStream, {
      kind: 'unsent',
      reason: 'goaway',
      message,
      code: goaway.code,
      goaway,
    })
  }

  private onWindowUpdate(id: number, increment: number): void {
    this.windowChanged = true
    if (id !== 0) {
      this.exchanges.requireOpened(id, 'WINDOW_UPDATE')
      this.exchanges.widen(id, increment, this.now)
      return
    }
    if (increment === 0) throw new ConnectionError(ErrorCode.protocolError, 'WINDOW_UPDATE with increment 0')
    this.sender.window += increment
    if (this.sender.window > maxWindow) {
      throw new ConnectionError(ErrorCode.flowControlError, "the connection's window overflows")
    }
  }

  private returnWindow(): void {
    if (this.ended !== undefined) return
    const bytes = this.exchanges.window.takeReleased()
    if (bytes > 0) this.sender.outbox.put(windowUpdateFrame(0, bytes))
  }
}

function requireConnection(what: string, id: number): void {
  if (id !== 0) throw new ConnectionError(ErrorCode.protocolError, `${what} on a stream`)
}
