import { performance } from 'node:perf_hooks'
import { readEndpoint, type TlsOptions } from './endpoint.ts'
import { maxStreamId } from './frames.ts'
import { Job, type Totals } from './job.ts'
import { LinkSet, type PoolEvent } from './link-set.ts'
import type { Failure, Multicast } from './multicast.ts'
import { InvalidRequest, shapeRequest } from './request-shape.ts'
import { type PoolStats, readStats } from './stats.ts'

export type PoolOptions = {
  /** `https://host:port`; `http://` speaks HTTP/2 without TLS, by prior knowledge. */
  origin: string
  tls?: TlsOptions
  /** `http://user:password@host:port` (or https) of a proxy that knows CONNECT. */
  proxy?: string
  /** Default 4; one is opened when needed, another when all are full. */
  maxConnections?: number
  /** Streams open at once on a connection, if the server allows so many; default 1000. */
  maxStreams?: number
  /** Default 10 s, from the first packet to the server's SETTINGS. */
  connectTimeoutMs?: number
  /** Silence after which a connection is asked for a sign of life, default 60 s; at most 5 s while requests are open. */
  pingEveryMs?: number
  /** Default 10 s. */
  pingTimeoutMs?: number
  /** Larger bodies fail as `oversize`; default 64 KiB. */
  maxReplyBytes?: number
  /** Larger header lists fail as `oversize`; default 16 KiB. */
  maxHeaderListBytes?: number
  /** How often one request is sent again after the server certainly did not process it; default 4. */
  maxReplays?: number
  onEvent?: (event: PoolEvent) => void
  /** Only tests lower it. */
  lastStreamId?: number
  random?: () => number
}

export type Pool = {
  /**
   * Resolves when every index has been reported. Rejects at once, with nothing reported, when the request cannot be sent as
   * it is or the pool is closed; and at the end when a callback threw (all are reported even then).
   */
  multicast(request: Multicast): Promise<void>
  stats(): PoolStats
  /** Reports what is unsent, lets what is under way finish within `graceMs` (default 5 s), then closes the connections. */
  close(graceMs?: number): Promise<void>
}

/** Bytes of unfinished answers one connection holds at most. */
const receiveWindow = 16 * 1024 * 1024
/** Requests one job sends before the next has its turn. */
const quantum = 64
const busyTickMs = 50
const idleTickMs = 1_000

/** Opens no connection yet: the first multicast does. */
export function openPool(options: PoolOptions): Pool {
  const endpoint = readEndpoint(options.origin, options.proxy)
  const totals: Totals = { replies: 0, unsent: 0, unknown: 0, replays: 0 }
  const jobs: Job[] = []
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
      onUnsent: (job, index, failure) => job.takeBack(index, failure),
      onProgress: schedule,
      // On its own: a listener that throws must not do so in the middle of the protocol.
      onEvent: (event) => queueMicrotask(() => options.onEvent?.(event)),
    },
  )

  /** Later in this turn of the event loop, so that everything received in it is answered by one write. */
  function schedule(): void {
    if (scheduled) return
    scheduled = true
    setImmediate(pump)
  }

  function pump(): void {
    scheduled = false
    const now = performance.now()
    let job = nextWaiting()
    while (job !== undefined) {
      const link = set.roomiest()
      if (link === undefined) break
      link.send(job, Math.min(quantum, link.capacity), now)
      job = nextWaiting()
    }
    for (const link of set.links) link.flush()
    if (job !== undefined) set.grow(now)
    arm()
  }

  function nextWaiting(): Job | undefined {
    for (let tried = 0; tried < jobs.length; tried++) {
      turn = (turn + 1) % jobs.length
      const job = jobs[turn]!
      if (job.waiting > 0 && job.stopped === undefined) return job
    }
    return undefined
  }

  function tick(): void {
    // An abort ticks out of turn: the timer it forestalls must not go on beside the next one.
    clearTimeout(timer)
    timer = undefined
    const now = performance.now()
    for (const job of [...jobs]) {
      if (now >= job.deadline && job.stopped === undefined) job.stop(lateFailure(set), now)
      else if (job.waiting > 0 && set.hopelessUntil(job.deadline)) job.stop(noConnection(set), job.deadline)
    }
    for (const link of set.links) link.tick(now)
    pump()
  }

  function arm(): void {
    if (jobs.length > 0) {
      if (timer?.hasRef()) return
      clearTimeout(timer)
      timer = setTimeout(tick, busyTickMs)
    } else if (timer === undefined && set.links.size > 0) timer = setTimeout(tick, idleTickMs).unref()
  }

  function start(request: Multicast): Promise<void> {
    if (closing !== undefined) throw new InvalidRequest('the pool is closed')
    checkNumbers(request)
    const shape = shapeRequest(request, endpoint)
    if (request.count === 0) return Promise.resolve()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const { signal } = request
    const job = new Job(
      shape,
      request,
      performance.now(),
      options.maxReplays ?? 4,
      totals,
      (callbackError) => {
        signal?.removeEventListener('abort', onAbort)
        jobs.splice(jobs.indexOf(job), 1)
        if (callbackError === undefined) resolve()
        else reject(callbackError)
      },
    )
    function onAbort(): void {
      job.stop(abortFailure, performance.now())
      setImmediate(tick)
    }
    jobs.push(job)
    schedule()
    if (signal?.aborted) {
      // Stopped before the first pump, told after this call has returned.
      job.stopped = abortFailure
      setImmediate(onAbort)
    } else signal?.addEventListener('abort', onAbort)
    return promise
  }

  async function shutDown(graceMs: number): Promise<void> {
    const deadline = performance.now() + graceMs
    // Not synchronously: the caller may be one of our own callbacks, in the middle of a received chunk.
    await new Promise((resolve) => setImmediate(resolve))
    for (const job of [...jobs]) job.stop(closedFailure, deadline)
    while (jobs.length > 0) await new Promise((resolve) => setTimeout(resolve, 5))
    clearTimeout(timer)
    const links = [...set.links]
    for (const link of links) link.close('the pool was closed')
    await Promise.all(links.map((link) => link.gone))
  }

  return {
    multicast: async (request) => start(request),
    stats: () => readStats(set, jobs, totals),
    close: (graceMs = 5_000) => {
      closing ??= shutDown(graceMs)
      return closing
    },
  }
}

function checkNumbers({ count, timeoutMs = 1, deadlineMs = 1 }: Multicast): void {
  if (!Number.isSafeInteger(count) || count < 0)
    throw new InvalidRequest(`count is ${count}, not a whole number`)
  // An endless limit would let a silent server hold the call for ever.
  for (const [name, value] of Object.entries({ timeoutMs, deadlineMs })) {
    if (!Number.isFinite(value) || value < 0)
      throw new InvalidRequest(`${name} is ${value}, not a number of milliseconds`)
  }
}

const abortFailure: Failure = { kind: 'unsent', reason: 'aborted', message: 'the caller gave it up' }
const closedFailure: Failure = { kind: 'unsent', reason: 'aborted', message: 'the pool was closed' }

function noConnection(set: LinkSet): Failure {
  const message = `no connection could be had: ${set.lastError}`
  return { kind: 'unsent', reason: 'connect', message, goaway: set.lastGoaway }
}

/** Time ran out: for want of a connection, or because there was too much to send. */
function lateFailure(set: LinkSet): Failure {
  for (const link of set.links) {
    if (link.ready && !link.draining)
      return { kind: 'unsent', reason: 'deadline', message: 'the time of the call was over' }
  }
  return noConnection(set)
}
