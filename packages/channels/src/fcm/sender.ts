import type { Reason } from '@herald/domain'
import type { TransportDeps } from '../channel.ts'
import { retryAfterSeconds } from '../shared/http.ts'
import { openVendorPool } from '../shared/vendor-pool.ts'
import type { FcmReply } from './classify.ts'
import type { FcmSettings } from './settings.ts'

/** Send requests with one access token; `slot` is the part of the body that differs. */
export type FcmCall = {
  accessToken: string
  count: number
  body: { before: string; slot(at: number): string; after: string }
  signal: AbortSignal
  /** Exactly one of the two is called for each request. */
  onReply(at: number, reply: FcmReply): void
  onFailure(at: number, reason: Reason): void
}

/** Sends requests to Google, over HTTP/2 or through firebase-admin. */
type FcmSender = { post(call: FcmCall): Promise<void>; close(): Promise<void> }

export type OpenFcmSender = (settings: FcmSettings, deps: TransportDeps) => FcmSender

export const openMulticastSender: OpenFcmSender = ({ projectId }, deps) => {
  const base = new URL(deps.urls.fcm)
  const path = `${base.pathname.replace(/\/+$/, '')}/v1/projects/${projectId}/messages:send`
  const pool = openVendorPool({ origin: base.origin, deps })
  return {
    post: ({ accessToken, count, body, signal, onReply, onFailure }) =>
      pool.multicast({
        headers: {
          authorization: `Bearer ${accessToken}`,
          'content-type': 'application/json; charset=UTF-8',
        },
        count,
        path,
        body,
        signal,
        onReply(at, reply) {
          if (reply.status === 200) return onReply(at, { status: 200, body: '' })
          const retryAfter = retryAfterSeconds(reply.headers, deps.now())
          onReply(at, { status: reply.status, body: reply.body.toString(), retryAfter })
        },
        onFailure: (at, failure) => onFailure(at, failure.reason),
      }),
    close: pool.close,
  }
}
