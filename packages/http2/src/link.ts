import type { Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { Connection, type ConnectionEvents, type ConnectionLimits } from './connection.ts'
import { dial, notHttp2 } from './dial.ts'
import type { Endpoint, TlsOptions } from './endpoint.ts'
import { ErrorCode } from './frames.ts'
import type { Multicast } from './multicast.ts'
import type { Goaway } from './multicast-request.ts'

export type LinkOptions = {
  endpoint: Endpoint
  tls: TlsOptions
  limits: ConnectionLimits
  connectTimeoutMs: number
  pingEveryMs: number
  pingTimeoutMs: number
}

export type LinkEvents = Pick<ConnectionEvents, 'onUnsent'> & {
  /** Data was received or the socket is writable again: there may be capacity. */
  onProgress(): void
  onReady(): void
  onGoaway(goaway: Goaway): void
  /** Called once, when the link has ended. */
  onClosed(end: LinkEnd): void
}

/** How a link ended. `clean`: it got replies and ended without an error, so the next may be opened without a wait. */
export type LinkEnd = { message: string; clean: boolean; wasReady: boolean }

/** With requests in flight, a silent connection is pinged sooner than an idle one. */
const busySilenceMs = 5_000
/** After this number of timeouts without a reply in between, the server counts as hung although it acknowledges pings. */
const hungAfterTimeouts = 16
const maxUnreadBytes = 4 * 1024 * 1024
/** One write of this size carries some hundreds of requests; a larger one would only wait in memory. */
const writeBytes = 65_536
/** Maximum time for a final GOAWAY to leave the socket. */
const lingerMs = 1_000

/** Node's messages about certificates lack the code, which names the cause exactly. */
function messageOf(error: Error & { code?: unknown }): string {
  const { code, message } = error
  return typeof code === 'string' && !message.includes(code) ? `${message} (${code})` : message
}

/** A server with HTTP/2 begins with the length of its SETTINGS, whose first byte is 0, one that expects TLS with an alert. */
function isText(firstChunk: Buffer): boolean {
  const byte = firstChunk[0]!
  return byte >= 0x20 && byte <= 0x7e
}

/** One connection with its socket: connects, reads, writes, checks liveness. */
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
  private readonly socketClosed = Promise.withResolvers<void>()
  /** Resolves when the socket is closed too. */
  readonly gone = this.socketClosed.promise

  constructor(options: LinkOptions, events: LinkEvents) {
    this.options = options
    this.events = events
    this.openedAt = performance.now()
    this.connectTimer = setTimeout(() => {
      this.abandon(`no HTTP/2 connection was established within ${options.connectTimeoutMs} ms`)
    }, options.connectTimeoutMs)
    dial(options.endpoint, options.tls, this.dialing.signal).then(
      (socket) => this.attach(socket),
      (error: Error) => this.finish(messageOf(error)),
    )
  }

  /** Number of requests that may be opened now. */
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

  /** Sends up to `max` of the multicast's requests. */
  send(multicast: Multicast, max: number, now: number): void {
    const connection = this.connection!
    const { sender } = connection
    for (let sent = 0; sent < max && sender.mayStart; sent++) {
      const index = multicast.take()
      if (index < 0) return
      connection.open(multicast, index, now)
      if (sender.outbox.pendingBytes < writeBytes) continue
      this.flush()
      if (this.capacity === 0) return
    }
  }

  /** Writes the outbox to the socket. */
  flush(): void {
    const { socket, connection } = this
    if (socket === undefined || connection === undefined) return
    const { outbox } = connection.sender
    if (outbox.pendingBytes > 0 && !socket.destroyed) {
      for (const piece of outbox.take()) {
        this.bytesWritten += piece.length
        socket.write(piece, () => outbox.recycle(piece))
      }
      // No request is sent while the socket is full, so only acknowledgements of the peer's frames can exceed this limit.
      if (socket.writableLength > maxUnreadBytes) this.abandon('the server does not read from the connection')
    }
    if (connection.ended !== undefined) this.finish(connection.ended.message, true)
    else if (connection.draining && connection.exchanges.live === 0) this.close('the connection was drained')
  }

  /** Enforces time limits and checks that the server still responds. */
  tick(now: number): void {
    const { connection } = this
    if (connection === undefined || !this.ready || this.closed) return
    connection.sweep(now)
    if (connection.exchanges.timeoutsSinceAnswer >= hungAfterTimeouts) connection.retire()
    const silence = now - connection.lastReceived
    const limit =
      connection.exchanges.live > 0
        ? Math.min(busySilenceMs, this.options.pingEveryMs)
        : this.options.pingEveryMs
    if (silence >= limit) connection.ping(now)
    if (connection.heartbeat.waited(now) > this.options.pingTimeoutMs) {
      this.abandon(`no PING acknowledgement within ${this.options.pingTimeoutMs} ms`)
    } else this.flush()
  }

  /** How long an idle link needs no tick. */
  idleMs(now: number): number {
    const { connection } = this
    // The time limit of connecting has its own timer.
    if (connection === undefined || !this.ready) return this.options.pingEveryMs
    if (connection.heartbeat.waited(now) > 0 || connection.draining) return 0
    return Math.max(0, connection.lastReceived + this.options.pingEveryMs - now)
  }

  /** Closes now, with a GOAWAY; requests in flight become `unknown`. */
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
    // Without TLS nothing was negotiated: a server without HTTP/2 replies to the preface as to a bad request.
    if (!this.options.endpoint.secure)
      socket.once('data', (chunk: Buffer) => {
        if (isText(chunk)) this.abandon(notHttp2(this.options.endpoint, 'it replied with text'))
      })
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

  /** Ends without a GOAWAY. */
  private abandon(message: string): void {
    this.connection?.lost(message)
    this.finish(message)
  }

  private finish(message: string, linger = false): void {
    if (this.closed) return
    this.closed = true
    clearTimeout(this.connectTimer)
    this.dialing.abort(new Error(message))
    this.connection?.lost(message)
    this.closeSocket(linger)
    const served = this.connection !== undefined && this.connection.exchanges.answered > 0
    const code = this.connection?.goaway?.code ?? this.connection?.ended?.code
    this.events.onClosed({ message, clean: served && code === ErrorCode.noError, wasReady: this.ready })
  }

  /** `linger`: a GOAWAY is still to be written. */
  private closeSocket(linger: boolean): void {
    const { socket } = this
    if (socket === undefined || socket.closed) {
      this.socketClosed.resolve()
      return
    }
    socket.once('close', this.socketClosed.resolve)
    if (!linger) {
      socket.destroy()
      return
    }
    socket.destroySoon()
    const timer = setTimeout(() => socket.destroy(), lingerMs)
    socket.once('close', () => clearTimeout(timer))
  }
}
