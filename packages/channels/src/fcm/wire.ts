import type { TransportDeps } from '../channel.ts'
import { retryAfterSeconds } from '../shared/http.ts'
import { openVendorPool } from '../shared/vendor-pool.ts'
import type { FcmSettings } from './settings.ts'

/** Send requests under one access token, each a JSON text around its own slot. */
export type FcmCall = {
  accessToken: string
  count: number
  body: { before: string; slot(at: number): string; after: string }
  signal: AbortSignal
  /** Exactly one of the two is called for each place. */
  onReply(at: number, reply: FcmAnswer): void
  onFailure(at: number, reason: string): void
}

export type FcmAnswer = { status: number; body: string; retryAfter?: number }

/** The way a call takes to Google. */
type FcmWire = { post(call: FcmCall): Promise<void>; close(): Promise<void> }

export type OpenFcmWire = (settings: FcmSettings, deps: TransportDeps) => FcmWire

export const openMulticastWire: OpenFcmWire = ({ projectId }, deps) => {
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
