import type { Reason } from '@herald/domain'
import type { FcmReply } from './classify.ts'

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
