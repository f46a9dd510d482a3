import type { TransportDeps } from '../channel.ts'
import { connectionProblem } from '../shared/connection-problem.ts'
import { openConnections } from '../shared/connections.ts'
import { retryAfterSeconds } from '../shared/http.ts'
import { share } from '../shared/share.ts'
import { openVendorPool } from '../shared/vendor-pool.ts'
import type { FcmCall } from './call.ts'
import { openHttp1Sender } from './http1.ts'
import type { FcmSettings } from './settings.ts'

/** Another is opened only when all are full; Google takes 100 requests at a time per connection. */
const MAX_CONNECTIONS = 16
/** How old refused connections must be to be replaced: many certificates with wrong keys must not replace those of all others. */
const REPLACE_AFTER_MS = 60_000
/** How long HTTP/1.1 is used before HTTP/2 is tried again: the proxy that did not support it may be gone. */
const HTTP1_MS = 600_000

/** Sends requests to Google, with our own client or through firebase-admin. */
type FcmSender = {
  post(call: FcmCall): Promise<void>
  /** Google refused the credential over the present connections: later requests use new ones. */
  renew(): void
  close(): Promise<void>
}

/** `isOwn`: over connections that no other transport uses. */
export type OpenFcmSender = (settings: FcmSettings, deps: TransportDeps, isOwn?: boolean) => FcmSender

/** The credential is in a header, so all certificates use the same connections: with one each, a worker would have thousands. */
export const openMulticastSender: OpenFcmSender = ({ projectId }, deps, isOwn = false) => {
  const base = new URL(deps.urls.fcm)
  const path = `${base.pathname.replace(/\/+$/, '')}/v1/projects/${projectId}/messages:send`
  const open = () => openProtocols(base.origin, deps)
  const protocols = isOwn ? open() : share(['fcm', base.origin, deps.proxy, deps.ca, deps.timeoutMs], open)

  /** Returns the requests that were not sent because the server does not support HTTP/2. */
  async function postOverHttp2(call: FcmCall, headers: Record<string, string>): Promise<number[]> {
    const { count, body, signal, stopSending, onReply, onFailure } = call
    const unsent: number[] = []
    const lease = protocols.lease()
    try {
      await lease.pool.multicast({
        headers,
        count,
        path,
        body,
        signal,
        stopSending,
        onReply(at, reply) {
          if (reply.status === 200) return onReply(at, reply)
          const retryAfter = retryAfterSeconds(reply.headers, deps.now())
          onReply(at, { status: reply.status, body: reply.body, retryAfter })
        },
        onFailure(at, { reason }) {
          if (reason.text === notHttp2) unsent.push(at)
          else onFailure(at, reason)
        },
      })
    } finally {
      lease.release()
    }
    return unsent
  }

  return {
    async post(call) {
      const headers = {
        authorization: `Bearer ${call.accessToken}`,
        'content-type': 'application/json; charset=UTF-8',
      }
      let indexes: number[]
      if (protocols.isHttp1()) indexes = Array.from({ length: call.count }, (_, index) => index)
      else {
        indexes = await postOverHttp2(call, headers)
        if (indexes.length === 0) return
        protocols.useHttp1()
      }
      await protocols.http1.post(base.origin + path, headers, call, indexes)
    },
    renew() {
      const lease = protocols.lease()
      if (performance.now() - lease.openedAt >= REPLACE_AFTER_MS) lease.retire()
      lease.release()
    },
    close: protocols.close,
  }
}

/** The text of the reason why a server without HTTP/2 got no request. */
const notHttp2 = connectionProblem(undefined, 'did not agree to HTTP/2')

/** Connections for HTTP/2, and for HTTP/1.1 while the server or a proxy before it does not support HTTP/2. */
function openProtocols(origin: string, deps: TransportDeps) {
  const connections = openConnections(() => openVendorPool({ origin, deps, maxConnections: MAX_CONNECTIONS }))
  const http1 = openHttp1Sender(deps)
  let http1Until = 0
  return {
    lease: connections.lease,
    http1,
    isHttp1: () => performance.now() < http1Until,
    useHttp1() {
      http1Until = performance.now() + HTTP1_MS
    },
    async close() {
      await Promise.all([connections.close(), http1.close()])
    },
  }
}
