import { rootCertificates } from 'node:tls'
import { type Failure, type Multicast, openPool, type Reply } from '@herald/http2'
import type { TransportDeps } from '../channel.ts'
import { follow } from './follow.ts'

/** One request to many recipients; time limits are the pool's. */
type VendorMulticast = Pick<Multicast, 'count' | 'headers' | 'path' | 'body'> & {
  signal: AbortSignal
  /** Exactly one of the two is called for each index. */
  onReply(index: number, reply: Reply): void
  onFailure(index: number, failure: VendorFailure): void
}

/** There is no answer. `reason` is short and holds neither address nor token. */
type VendorFailure = {
  reason: string
  /** The request itself cannot be written, e.g. a token that is no part of a path. */
  invalid: boolean
  /** The vendor's parting words on that connection. */
  goaway?: string
}

export type VendorPool = { multicast(request: VendorMulticast): Promise<void>; close(): Promise<void> }

type VendorPoolOptions = {
  /** Scheme, host and port. */
  origin: string
  deps: Pick<TransportDeps, 'ca' | 'proxy' | 'timeoutMs'>
  /** PEM of a client certificate. */
  identity?: { cert: string; key: string }
  /** Parting words after which another connection would hear the same. */
  isFinal?(goaway: string): boolean
}

/** A stuck vendor must not hold a batch for long: what is still unsent then goes back to the runner. */
const deadlineFactor = 3
const closeGraceMs = 1000

/**
 * Connections to one vendor for one credential. Where the vendor cannot be reached, everybody waiting is told at once: the
 * runner knows better than a waiting pool what to do with the time.
 */
export function openVendorPool(options: VendorPoolOptions): VendorPool {
  const { ca, proxy, timeoutMs } = options.deps
  const running = new Set<(trouble: VendorFailure) => void>()
  let ready = 0

  const pool = openPool({
    origin: options.origin,
    tls: { ...(ca ? { ca: [...rootCertificates, ca] } : {}), ...options.identity },
    proxy,
    connectTimeoutMs: timeoutMs,
    onEvent(event) {
      if (event.kind === 'connected') ready++
      else if (event.kind === 'goaway') {
        const { debug } = event.goaway
        if (options.isFinal?.(debug)) giveUp({ reason: 'goaway', invalid: false, goaway: debug })
      } else if (event.established) ready--
      else if (ready === 0) giveUp({ reason: withCode('connect', event.message), invalid: false })
    },
  })

  function giveUp(trouble: VendorFailure): void {
    for (const stop of [...running]) stop(trouble)
  }

  return {
    async multicast(request) {
      const stopped = new AbortController()
      const letGo = follow(stopped, request.signal)
      let trouble: VendorFailure | undefined
      const stop = (cause: VendorFailure) => {
        trouble ??= cause
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
            request.onFailure(
              index,
              failure.reason === 'aborted' && trouble ? trouble : readFailure(failure),
            ),
        })
      } finally {
        letGo()
        running.delete(stop)
      }
    },
    close: () => pool.close(closeGraceMs),
  }
}

function readFailure(failure: Failure): VendorFailure {
  return {
    reason: withCode(failure.reason, failure.message),
    invalid: failure.reason === 'invalid',
    goaway: failure.goaway?.debug,
  }
}

/** The system's or TLS's own word for the cause; the rest of the message names hosts and ports. */
function withCode(reason: string, message: string): string {
  const code = /alert [a-z ]+|\b(?:E[A-Z]{4,}|ERR_[A-Z0-9_]+|[A-Z]+_[A-Z_]+)\b/.exec(message)?.[0].trim()
  return code ? `${reason} (${code})` : reason
}
