import { ownReasons, type Reason } from '@herald/domain'
import { type MulticastRequest, openPool, type Reply, type RequestFailure } from '@herald/http2'
import type { TransportDeps } from '../channel.ts'
import { abortWith } from './abort.ts'
import { codeIn, connectionProblem } from './connection-problem.ts'
import { vendorTls } from './vendor-tls.ts'

/** One request to many recipients; the pool sets the time limits. */
type VendorMulticast = Pick<
  MulticastRequest,
  'count' | 'headers' | 'varying' | 'path' | 'body' | 'stopSending'
> & {
  signal: AbortSignal
  /** Exactly one of the two is called for each index. */
  onReply(index: number, reply: Reply): void
  onFailure(index: number, failure: VendorFailure): void
}

/** There is no reply. The text of `reason` is short and contains neither address nor token. */
type VendorFailure = {
  reason: Reason
  /** The request cannot be written, e.g. a token that cannot be part of a path. */
  invalid: boolean
  /** Debug data of the vendor's GOAWAY on that connection. */
  goaway?: string
}

export type VendorPool = { multicast(request: VendorMulticast): Promise<void>; close(): Promise<void> }

type VendorPoolOptions = {
  /** Scheme, host and port. */
  origin: string
  deps: Pick<TransportDeps, 'ca' | 'proxy' | 'timeoutMs'>
  /** PEM of a client certificate. */
  identity?: { cert: string; key: string }
  maxConnections?: number
  /** Whether another connection would get the same GOAWAY. */
  isFinal?(goaway: string): boolean
}

/** A vendor that hangs must not block a batch: after this multiple of the timeout, unsent requests return to the runner. */
const deadlineFactor = 3
const closeGraceMs = 1000

/**
 * Connections to one vendor for one credential. When the vendor cannot be reached, all waiting requests fail at once, so that the
 * runner can decide what to do instead of waiting for the pool.
 */
export function openVendorPool(options: VendorPoolOptions): VendorPool {
  const { ca, proxy, timeoutMs } = options.deps
  const running = new Set<(failure: VendorFailure) => void>()
  let ready = 0

  const pool = openPool({
    origin: options.origin,
    tls: options.identity ? { ...vendorTls(ca), ...options.identity } : vendorTls(ca),
    proxy,
    connectTimeoutMs: timeoutMs,
    maxConnections: options.maxConnections,
    onEvent(event) {
      if (event.kind === 'connected') ready++
      else if (event.kind === 'goaway') {
        const { debug } = event.goaway
        if (options.isFinal?.(debug)) failAll({ reason: reasonOf('goaway'), invalid: false, goaway: debug })
      } else if (event.established) ready--
      else if (ready === 0) failAll({ reason: reasonOf('connect', event.message), invalid: false })
    },
  })

  function failAll(failure: VendorFailure): void {
    for (const stop of [...running]) stop(failure)
  }

  return {
    async multicast(request) {
      const stopped = new AbortController()
      const unlink = abortWith(stopped, request.signal)
      let cause: VendorFailure | undefined
      const stop = (failure: VendorFailure) => {
        cause ??= failure
        stopped.abort()
      }
      running.add(stop)
      try {
        await pool.multicast({
          ...request,
          timeoutMs,
          deadlineMs: timeoutMs * deadlineFactor,
          signal: stopped.signal,
          onFailure: (index, failure) =>
            request.onFailure(index, failure.reason === 'aborted' && cause ? cause : readFailure(failure)),
        })
      } finally {
        unlink()
        running.delete(stop)
      }
    },
    close: () => pool.close(closeGraceMs),
  }
}

function readFailure(failure: RequestFailure): VendorFailure {
  return {
    reason: reasonOf(failure.reason, failure.message),
    invalid: failure.reason === 'invalid',
    goaway: failure.goaway?.debug,
  }
}

/** What happened to a request, in plain words. */
const events: Readonly<Record<RequestFailure['reason'], string>> = {
  invalid: 'the request cannot be written',
  connect: 'no connection could be established',
  aborted: 'the send was stopped',
  deadline: 'the request could not be sent within the time limit',
  timeout: 'no reply within the time limit',
  refused: 'the server refused the request unprocessed',
  goaway: 'the server closed the connection before it processed the request',
  reset: 'the server cancelled the request',
  closed: 'the connection was closed before the reply',
  malformed: 'the reply violates HTTP/2',
  oversize: 'the reply is too large',
}

function reasonOf(kind: RequestFailure['reason'], message = ''): Reason {
  const problem = connectionProblem(codeIn(message), message)
  if (kind === 'connect') return ownReasons.vendor_unreachable(problem ?? events.connect)
  if (kind === 'closed' && problem) return ownReasons.vendor_unreachable(`${events.closed}: ${problem}`)
  if (kind === 'timeout' || kind === 'deadline') return ownReasons.vendor_timeout(events[kind])
  if (kind === 'malformed' || kind === 'oversize') return ownReasons.vendor_reply_unreadable(events[kind])
  return ownReasons.vendor_unreachable(events[kind])
}
