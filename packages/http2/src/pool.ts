import { performance } from 'node:perf_hooks'
import { runWhenRead, sleep } from '@herald/async'
import { readEndpoint, type TlsOptions } from './endpoint.ts'
import { maxStreamId } from './frames.ts'
import { LinkSet, type PoolEvent } from './link-set.ts'
import { Multicast, type Totals } from './multicast.ts'
import type { MulticastRequest, RequestFailure } from './multicast-request.ts'
import { InvalidRequest, shapeRequest } from './request-shape.ts'
import { type PoolStats, readStats } from './stats.ts'

export type PoolOptions = {
  /** `https://host:port`; `http://` is HTTP/2 without TLS, with prior knowledge. */
  origin: string
  tls?: TlsOptions
  /** `http://user:password@host:port` (or https) of a proxy that supports CONNECT. */
  proxy?: string
  /** Default 4; another one is opened only when all are full. */
  maxConnections?: number
  /** Maximum number of open streams per connection (default 1000); the server may set a lower limit. */
  maxStreams?: number
  /** From the first packet to the server's SETTINGS; default 10 s. */
  connectTimeoutMs?: number
  /** A connection is pinged after this time without data (default 60 s; at most 5 s while requests are open). */
  pingEveryMs?: number
  /** Default 10 s. */
  pingTimeoutMs?: number
  /** Larger bodies fail as `oversize`; default 64 KiB. */
  maxReplyBytes?: number
  /** Larger header lists fail as `oversize`; default 16 KiB. */
  maxHeaderListBytes?: number
  /** How often a request is sent again that the server certainly did not process; default 4. */
  maxReplays?: number
  onEvent?: (event: PoolEvent) => void
  /** Only tests lower it. */
  lastStreamId?: number
  random?: () => number
}

export type Pool = {
  /**
   * Resolves when every index has been reported. Rejects immediately, with nothing reported, when the request is invalid or the
   * pool is closed; and at the end when a callback threw (all indices are reported even then).
   */
  multicast(request: MulticastRequest): Promise<void>
  stats(): PoolStats
  /** Reports unsent requests, waits for requests in flight up to `graceMs` (default 5 s), then closes the connections. */
  close(graceMs?: number): Promise<void>
}

/** Maximum bytes of unfinished replies in memory per connection. */
const receiveWindow = 16 * 1024 * 1024
/** Number of requests that one multicast sends before the next one gets its turn. */
const quantum = 64
const busyTickMs = 50
const idleTickMs = 1_000

/** Connections are opened by the first multicast, not here. */
export function openPool(options: PoolOptions): Pool {
  const endpoint = readEndpoint(options.origin, options.proxy)
  const totals: Totals = { replies: 0, unsent: 0, unknown: 0, replays: 0 }
  const multicasts: Multicast[] = []
  let turn = 0
  let scheduled = false
  let closing: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined

  const set = new LinkSet(
    {
      endpoint,
      tls: options.tls ?? {},
      limits: {
        maxStreams: options.maxStreams ?? 1_000,
        maxReplyBytes: options.maxReplyBytes ?? 65_536,
        maxHeaderListBytes: options.maxHeaderListBytes ?? 16_384,
        receiveWindow,
        lastStreamId: options.lastStreamId ?? maxStreamId,
      },
      connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
      pingEveryMs: options.pingEveryMs ?? 60_000,
      pingTimeoutMs: options.pingTimeoutMs ?? 10_000,
      maxConnections: options.maxConnections ?? 4,
      random: options.random ?? Math.random,
    },
    {
      onUnsent: (multicast, index, failure) => multicast.replay(index, failure),
      onProgress: schedule,
      // Deferred: a listener that throws must not interrupt the processing of a frame.
      onEvent: (event) => queueMicrotask(() => options.onEvent?.(event)),
    },
  )

  /** Deferred to the end of this event loop turn, so that everything received in it leads to one write. */
  function schedule(): void {
    if (scheduled) return
    scheduled = true
    setImmediate(pump)
  }

  function pump(): void {
    scheduled = false
    const now = performance.now()
    let multicast = nextWaiting()
    while (multicast !== undefined) {
      const link = set.withMostCapacity()
      if (link === undefined) break
      link.send(multicast, Math.min(quantum, link.capacity), now)
      multicast = nextWaiting()
    }
    for (const link of set.links) link.flush()
    if (multicast !== undefined) set.grow(now)
    arm()
  }

  function nextWaiting(): Multicast | undefined {
    for (let tried = 0; tried < multicasts.length; tried++) {
      turn = (turn + 1) % multicasts.length
      const multicast = multicasts[turn]!
      if (multicast.unsentCount > 0 && multicast.stopped === undefined) return multicast
    }
    return undefined
  }

  function tick(): void {
    // An abort calls `tick` ahead of the timer, which must then not run in addition to the next one.
    clearTimeout(timer)
    timer = undefined
    const now = performance.now()
    for (const multicast of [...multicasts]) {
      if (now >= multicast.deadline && multicast.stopped === undefined) multicast.stop(lateFailure(set), now)
      else if (multicast.unsentCount > 0 && set.cannotSendBefore(multicast.deadline))
        multicast.stop(noConnection(set), multicast.deadline)
    }
    for (const link of set.links) link.tick(now)
    pump()
  }

  function arm(): void {
    if (multicasts.length > 0) {
      if (timer?.hasRef()) return
      clearTimeout(timer)
      timer = tickIn(busyTickMs)
    } else if (timer === undefined && set.links.size > 0) timer = tickIn(idleWaitMs()).unref()
  }

  function tickIn(ms: number): NodeJS.Timeout {
    return setTimeout(runWhenRead, ms, performance.now() + ms, tick)
  }

  /** Until a link has to be pinged, or its ping to be acknowledged: a look each second at thousands of idle pools would cost. */
  function idleWaitMs(): number {
    const now = performance.now()
    let wait = Number.POSITIVE_INFINITY
    for (const link of set.links) wait = Math.min(wait, link.idleMs(now))
    // Whole seconds, because Node keeps a list of timers for each duration.
    return Math.max(1, Math.ceil(wait / idleTickMs)) * idleTickMs
  }

  function start(request: MulticastRequest): Promise<void> {
    if (closing !== undefined) throw new InvalidRequest('the pool is closed')
    checkNumbers(request)
    const shape = shapeRequest(request, endpoint)
    if (request.count === 0) return Promise.resolve()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const { signal, stopSending } = request
    const multicast = new Multicast(
      shape,
      request,
      performance.now(),
      options.maxReplays ?? 4,
      totals,
      (callbackError) => {
        signal?.removeEventListener('abort', onAbort)
        stopSending?.removeEventListener('abort', onStopSending)
        multicasts.splice(multicasts.indexOf(multicast), 1)
        if (callbackError === undefined) resolve()
        else reject(callbackError)
      },
    )
    function onAbort(): void {
      multicast.stop(abortFailure, performance.now())
      setImmediate(tick)
    }
    function onStopSending(): void {
      multicast.stop(abortFailure, multicast.deadline)
    }
    multicasts.push(multicast)
    schedule()
    if (signal?.aborted || stopSending?.aborted) {
      // Stopped before the first pump, but reported only after this call has returned.
      multicast.stopped = abortFailure
      setImmediate(onAbort)
    } else {
      signal?.addEventListener('abort', onAbort)
      stopSending?.addEventListener('abort', onStopSending)
    }
    return promise
  }

  async function shutDown(graceMs: number): Promise<void> {
    const deadline = performance.now() + graceMs
    // Deferred: the caller may be one of our callbacks, in the middle of a received chunk.
    await new Promise((resolve) => setImmediate(resolve))
    for (const multicast of [...multicasts]) multicast.stop(closedFailure, deadline)
    while (multicasts.length > 0) await sleep(5)
    clearTimeout(timer)
    const links = [...set.links]
    for (const link of links) link.close('the pool was closed')
    await Promise.all(links.map((link) => link.gone))
  }

  return {
    multicast: async (request) => start(request),
    stats: () => readStats(set, multicasts, totals),
    close: (graceMs = 5_000) => {
      closing ??= shutDown(graceMs)
      return closing
    },
  }
}

function checkNumbers({ count, timeoutMs = 1, deadlineMs = 1 }: MulticastRequest): void {
  if (!Number.isSafeInteger(count) || count < 0)
    throw new InvalidRequest(`count is ${count}, not a whole number`)
  // Without a finite limit, a silent server would keep the call open forever.
  for (const [name, value] of Object.entries({ timeoutMs, deadlineMs })) {
    if (!Number.isFinite(value) || value < 0)
      throw new InvalidRequest(`${name} is ${value}, not a number of milliseconds`)
  }
}

const abortFailure: RequestFailure = {
  kind: 'unsent',
  reason: 'aborted',
  message: 'the caller aborted the request',
}
const closedFailure: RequestFailure = { kind: 'unsent', reason: 'aborted', message: 'the pool was closed' }

function noConnection(set: LinkSet): RequestFailure {
  const message = `no connection could be established: ${set.lastError}`
  return { kind: 'unsent', reason: 'connect', message, goaway: set.lastGoaway }
}

/** The time limit of a call passed, either without a connection or because there was too much to send. */
function lateFailure(set: LinkSet): RequestFailure {
  for (const link of set.links) {
    if (link.ready && !link.draining)
      return {
        kind: 'unsent',
        reason: 'deadline',
        message: 'the time limit of the call passed before it was sent',
      }
  }
  return noConnection(set)
}
