import type { Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { Connection, type ConnectionEvents, type ConnectionLimits } from './connection.ts'
import { dial } from './dial.ts'
import type { Endpoint, TlsOptions } from './endpoint.ts'
import { ErrorCode } from './frames.ts'
import type { Job } from './job.ts'
import type { Goaway } from './multicast.ts'

export type LinkOptions = {
  endpoint: Endpoint
  tls: TlsOptions
  limits: ConnectionLimits
  connectTimeoutMs: number
  pingEveryMs: number
  pingTimeoutMs: number
}

export type LinkEvents = Pick<ConnectionEvents, 'onUnsent'> & {
  /** Something came or may be sent: there may be capacity. */
  onProgress(): void
  onReady(): void
  onGoaway(goaway: Goaway): void
  /** Called once, when nothing more will come. */
  onClosed(end: LinkEnd): void
}

/** How a link ended. `clean` when it served and was let go in order: the next may be opened without a wait. */
export type LinkEnd = { message: string; clean: boolean; wasReady: boolean }

/** With requests under way, silence is questioned sooner than on an idle connection. */
const suspiciousSilenceMs = 5_000
/** So many requests without one answer in between: the server behind this connection is hung although it answers pings. */
const hungAfterTimeouts = 16
const maxUnreadBytes = 4 * 1024 * 1024
/** One write of so many bytes carries some hundreds of requests; more would only wait in memory. */
const writeBytes = 65_536
const farewellMs = 1_000

/** One connection with its socket: dials, reads, writes, keeps watch. */
export class Link {
  ready = false
  closed = false
  readonly openedAt: number
  connection: Connection | undefined
  bytesWritten = 0
  private readonly options: LinkOptions
  private readonly events: LinkEvents
  private readonly dialing = new AbortController()
  private readonly connectTimer: NodeJS.Timeout
  private socket: Socket | undefined
  /** Settles when the socket is gone too. */
  readonly gone: Promise<void>
  private resolveGone: () => void = () => {}

  constructor(options: LinkOptions, events: LinkEvents) {
    this.options = options
    this.events = events
    this.openedAt = performance.now()
    this.gone = new Promise((resolve) => {
      this.resolveGone = resolve
    })
    this.connectTimer = setTimeout(() => {
      this.abandon(`no HTTP/2 connection was established within ${options.connectTimeoutMs} ms`)
    }, options.connectTimeoutMs)
    dial(options.endpoint, options.tls, this.dialing.signal).then(
      (socket) => this.attach(socket),
      (error: Error) => this.finish(error.message),
    )
  }

  /** How many requests may be opened now. */
  get capacity(): number {
    if (!this.ready || this.socket === undefined || this.socket.writableNeedDrain) return 0
    return this.connection!.capacity
  }

  get saturated(): boolean {
    return this.ready && !this.draining && this.capacity === 0
  }

  get draining(): boolean {
    return this.connection?.draining ?? false
  }

  /** Sends up to `most` of the job's requests. */
  send(job: Job, most: number, now: number): void {
    const connection = this.connection!
    const { sender } = connection
    for (let sent = 0; sent < most && sender.mayStart; sent++) {
      const index = job.take()
      if (index < 0) return
      connection.open(job, index, now)
      if (sender.outbox.pendingBytes < writeBytes) continue
      this.flush()
      if (this.capacity === 0) return
    }
  }

  /** Hands everything written so far to the socket. */
  flush(): void {
    const { socket, connection } = this
    if (socket === undefined || connection === undefined) return
    const { outbox } = connection.sender
    if (outbox.pendingBytes > 0 && !socket.destroyed) {
      for (const piece of outbox.take()) {
        this.bytesWritten += piece.length
        socket.write(piece, () => outbox.recycle(piece))
      }
      // Requests stop when the socket is full; only answers to the peer's own frames can pile up beyond that.
      if (socket.writableLength > maxUnreadBytes) this.abandon('the server does not read what it is sent')
    }
    if (connection.ended !== undefined) this.finish(connection.ended.message, true)
    else if (connection.draining && connection.exchanges.live === 0) this.close('it was drained')
  }

  /** Looks after time limits and health. */
  tick(now: number): void {
    const { connection } = this
    if (connection === undefined || !this.ready || this.closed) return
    connection.sweep(now)
    if (connection.exchanges.timeoutsSinceAnswer >= hungAfterTimeouts) connection.retire()
    const silence = now - connection.lastReceived
    const limit =
      connection.exchanges.live > 0
        ? Math.min(suspiciousSilenceMs, this.options.pingEveryMs)
        : this.options.pingEveryMs
    if (silence >= limit) connection.ping(now)
    if (connection.heartbeat.waited(now) > this.options.pingTimeoutMs) {
      this.abandon(`a ping stayed unanswered for ${this.options.pingTimeoutMs} ms`)
    } else this.flush()
  }

  /** Closes in order, now; requests under way become `unknown`. */
  close(message: string): void {
    this.connection?.close(message)
    if (this.connection === undefined) this.abandon(message)
    else this.flush()
  }

  private attach(socket: Socket): void {
    if (this.closed) {
      socket.destroy()
      return
    }
    if (socket.destroyed) {
      this.finish('the connection was lost')
      return
    }
    this.socket = socket
    const connection = new Connection(
      this.options.limits,
      {
        onReady: () => this.becomeReady(),
        onUnsent: this.events.onUnsent,
        onGoaway: this.events.onGoaway,
      },
      performance.now(),
    )
    this.connection = connection
    let socketError = ''
    socket.on('data', (chunk: Buffer) => {
      connection.receive(chunk, performance.now())
      this.events.onProgress()
    })
    socket.on('drain', () => {
      connection.resume()
      this.events.onProgress()
    })
    socket.on('error', (error) => {
      socketError = error.message
    })
    socket.on('end', () => this.abandon('the server closed the connection'))
    socket.on('close', () => this.abandon(socketError || 'the connection was lost'))
    this.flush()
  }

  private becomeReady(): void {
    clearTimeout(this.connectTimer)
    this.ready = true
    this.events.onReady()
  }

  /** Ends without a farewell. */
  private abandon(message: string): void {
    this.connection?.lost(message)
    this.finish(message)
  }

  private finish(message: string, farewell = false): void {
    if (this.closed) return
    this.closed = true
    clearTimeout(this.connectTimer)
    this.dialing.abort(new Error(message))
    this.connection?.lost(message)
    this.letGo(farewell)
    const served = this.connection !== undefined && this.connection.exchanges.answered > 0
    const code = this.connection?.goaway?.code ?? this.connection?.ended?.code
    this.events.onClosed({ message, clean: served && code === ErrorCode.noError, wasReady: this.ready })
  }

  private letGo(farewell: boolean): void {
    const { socket } = this
    if (socket === undefined || socket.closed) {
      this.resolveGone()
      return
    }
    socket.once('close', this.resolveGone)
    if (!farewell) {
      socket.destroy()
      return
    }
    // The farewell gets a moment to leave; a peer that does not read it cannot hold us longer.
    socket.destroySoon()
    const timer = setTimeout(() => socket.destroy(), farewellMs)
    socket.once('close', () => clearTimeout(timer))
  }
}
