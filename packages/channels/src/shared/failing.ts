import type { Outcome } from '@herald/domain'
import { type HttpReply, retryAfterSeconds } from './http.ts'

export type FailingKind = Exclude<Outcome['kind'], 'accepted' | 'quota'>

/** A failing outcome; one that is worth a wait takes the wait that the vendor's answer names. */
export function failing(
  kind: FailingKind,
  reason: string,
  { headers }: Pick<HttpReply, 'headers'>,
  nowMs: number,
): Outcome {
  if (kind !== 'throttled' && kind !== 'unavailable') return { kind, reason }
  const retryAfter = retryAfterSeconds(headers, nowMs)
  return retryAfter === undefined ? { kind, reason } : { kind, reason, retryAfter }
}
