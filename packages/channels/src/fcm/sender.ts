import type { Reason } from '@herald/domain'
import type { TransportDeps } from '../channel.ts'
import { openConnections } from '../shared/connections.ts'
import { retryAfterSeconds } from '../shared/http.ts'
import { share } from '../shared/share.ts'
import { openVendorPool } from '../shared/vendor-pool.ts'
import type { FcmReply } from './classify.ts'
import type { FcmSettings } from './settings.ts'

/** Send requests with one access token; `slot` is the part of the body that differs. */
export type FcmCall = {
  accessToken: string
  count: number
  body: { before: string; slot(at: number): string; after: string }
  signal: AbortSignal
  /** Aborts when nothing more is to be sent; requests in flight end by their reply. */
  stopSending: AbortSignal
  /** Exactly one of the two is called for each request. */
  onReply(at: number, reply: FcmReply): void
  onFailure(at: number, reason: Reason): void
}

/** Another is opened only when all are full; Google takes 100 requests at a time per connection. */
const MAX_CONNECTIONS = 16
/** How old refused connections must be to be replaced: many certificates with wrong keys must not replace those of all others. */
const REPLACE_AFTER_MS = 60_000

/** Sends requests to Google, over HTTP/2 or through firebase-admin. */
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
  const open = () =>
    openConnections(() => openVendorPool({ origin: base.origin, deps, maxConnections: MAX_CONNECTIONS }))
  const connections = isOwn ? open() : share(['fcm', base.origin, deps.proxy, deps.ca, deps.timeoutMs], open)
  return {
    async post({ accessToken, count, body, signal, stopSending, onReply, onFailure }) {
      const lease = connections.lease()
      try {
        await lease.pool.multicast({
          headers: {
            authorization: `Bearer ${accessToken}`,
            'content-type': 'application/json; charset=UTF-8',
          },
          count,
          path,
          body,
          signal,
          stopSending,
          onReply(at, reply) {
            if (reply.status === 200) return onReply(at, { status: 200, body: '' })
            const retryAfter = retryAfterSeconds(reply.headers, deps.now())
            onReply(at, { status: reply.status, body: reply.body.toString(), retryAfter })
          },
          onFailure: (at, failure) => onFailure(at, failure.reason),
        })
      } finally {
        lease.release()
      }
    },
    renew() {
      const lease = connections.lease()
      if (performance.now() - lease.openedAt >= REPLACE_AFTER_MS) lease.retire()
      lease.release()
    },
    close: connections.close,
  }
}
