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
import type { Job } from './job.ts'
import type { Failure, Goaway } from './multicast.ts'
import { readSettings } from './peer-settings.ts'
import { InvalidRequest } from './request-shape.ts'
import { Sender } from './sender.ts'

export type ConnectionLimits = ExchangeLimits & {
  /** The highest stream id used; lower than the protocol's only in tests. */
  lastStreamId: number
}

export type ConnectionEvents = {
  /** The server's first SETTINGS came: requests may be sent. */
  onReady(): void
  onUnsent: OnUnsent
  onGoaway(goaway: Goaway): void
}

/** How long the first request of a connection goes alone, when its answer does not come. */
const probeMs = 1_000
const maxDebugBytes = 1_024

/**
 * The HTTP/2 protocol of one client connection, without the socket: bytes come in by `receive` and go out by the sender's
 * outbox. Answers and failures are told to the jobs. Times are milliseconds on any steady clock, always the caller's.
 */
export class Connection {
  readonly sender = new Sender()
  readonly heartbeat = new Heartbeat()
  readonly exchanges: Exchanges
  goaway: Goaway | undefined
  /** Set once: why the connection is over. Nothing more is read or opened then. */
  ended: Failure | undefined
  lastReceived: number
  private readonly limits: ConnectionLimits
  private readonly events: ConnectionEvents
  private readonly reader: FrameReader
  private readonly blocks: HeaderBlocks
  private ready = false
  /** The first request goes alone: APNs allows one stream until it has seen a good provider token. */
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
    this.greet()
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

  /** How many requests may be opened now. */
  get capacity(): number {
    if (!this.ready || this.ended !== undefined || this.draining || !this.sender.mayStart) return 0
    const idsLeft = (this.limits.lastStreamId - this.exchanges.nextId) / 2 + 1
    return Math.max(0, Math.min(this.streamLimit - this.exchanges.live, Math.floor(idsLeft)))
  }

  /** Opens no more streams; those under way end normally. */
  retire(): void {
    this.retired = true
  }

  /** Sends one request. Call only while there is capacity. */
  open(job: Job, index: number, now: number): void {
    this.probeStarted ??= now
    try {
      this.exchanges.open(job, index, now)
    } catch (error) {
      const message =
        error instanceof InvalidRequest ? error.message : `the caller's own function failed: ${error}`
      job.fail(index, { kind: 'unsent', reason: 'invalid', message })
    }
  }

  receive(chunk: Buffer, now: number): void {
    if (this.ended !== undefined) return
    this.now = now
    this.lastReceived = now
    try {
      this.reader.push(chunk)
    } catch (error) {
      // Anything else is our own fault; it too must end the connection rather than leave its requests unreported.
      this.close(
        error instanceof Error ? error.message : String(error),
        error instanceof ConnectionError ? error.code : ErrorCode.internalError,
      )
    }
    if (this.windowChanged) this.resume()
    this.giveWindowBack()
  }

  /** Sends held-back bodies as far as windows and the outbox allow; to be called when the socket has room again. */
  resume(): void {
    this.windowChanged = false
    if (this.ended === undefined) this.sender.resume()
  }

  /** Gives up requests whose time is over. */
  sweep(now: number): void {
    if (this.probeStarted !== undefined && now - this.probeStarted >= probeMs) this.probed = true
    this.exchanges.sweep(now, this.goaway)
    this.giveWindowBack()
  }

  /** Asks for a sign of life, unless that question is still open. */
  ping(now: number): void {
    const frame = this.heartbeat.ask(now)
    if (frame !== undefined) this.sender.outbox.put(frame)
  }

  /** Ends the connection with a GOAWAY; requests under way become `unknown`. */
  close(message: string, code: number = ErrorCode.noError): void {
    if (this.ended !== undefined) return
    // The server opens no streams here, so the last one processed is 0.
    this.sender.outbox.put(goawayFrame(0, code, code === ErrorCode.noError ? '' : message))
    this.end({ kind: 'unknown', reason: 'closed', message, code, goaway: this.goaway })
  }

  /** The socket is gone; requests under way become `unknown`. */
  lost(message: string): void {
    if (this.ended === undefined)
      this.end({ kind: 'unknown', reason: 'closed', message, goaway: this.goaway })
  }

  private greet(): void {
    const { outbox } = this.sender
    const { maxReplyBytes, maxHeaderListBytes } = this.limits
    outbox.put(clientPreface)
    outbox.put(
      settingsFrame([
        [Setting.enablePush, 0],
        // One byte more than is taken, so that a longer answer shows itself instead of waiting for window.
        [Setting.initialWindowSize, maxReplyBytes + 1],
        [Setting.maxHeaderListSize, maxHeaderListBytes],
      ]),
    )
    const widened = this.exchanges.window.full - defaultWindow
    if (widened > 0) outbox.put(windowUpdateFrame(0, widened))
  }

  private end(failure: Failure): void {
    this.ended = failure
    this.exchanges.failAll(failure)
  }

  private requireOrder(type: number, flags: number, id: number): void {
    if (!this.ready && (type !== FrameType.settings || flags & Flag.ack)) {
      throw new ConnectionError(ErrorCode.protocolError, 'the server did not begin with SETTINGS')
    }
    const { openStream } = this.blocks
    const continues = type === FrameType.continuation
    if (openStream !== 0 && !(continues && id === openStream)) {
      throw new ConnectionError(ErrorCode.protocolError, 'a header block was interrupted by another frame')
    }
    if (openStream === 0 && continues) {
      throw new ConnectionError(ErrorCode.protocolError, 'CONTINUATION came without HEADERS')
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
        throw new ConnectionError(ErrorCode.protocolError, 'the server pushed although push is switched off')
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
        if (id === 0) throw new ConnectionError(ErrorCode.protocolError, 'PRIORITY came for the connection')
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
    const message = `the server said goodbye with ${errorName(goaway.code)} before it took the stream`
    this.exchanges.handBackAbove(goaway.lastStream, {
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
    if (increment === 0) throw new ConnectionError(ErrorCode.protocolError, 'WINDOW_UPDATE is for no bytes')
    this.sender.window += increment
    if (this.sender.window > maxWindow) {
      throw new ConnectionError(ErrorCode.flowControlError, "the connection's window overflows")
    }
  }

  private giveWindowBack(): void {
    if (this.ended !== undefined) return
    const bytes = this.exchanges.window.giveBack()
    if (bytes > 0) this.sender.outbox.put(windowUpdateFrame(0, bytes))
  }
}

function requireConnection(what: string, id: number): void {
  if (id !== 0) throw new ConnectionError(ErrorCode.protocolError, `${what} came for a stream`)
}
