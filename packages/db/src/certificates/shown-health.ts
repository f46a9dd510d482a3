import { describeReason, type ShownHealth } from '@herald/domain'
import type { Breaker } from './breaker.ts'
import type { StoredCertificate } from './certificates.ts'
import type { StoredHold } from './holds.ts'

export type Health = Pick<StoredCertificate, 'checkError' | 'checkErrorAt'> & {
  breaker?: Breaker
  holds: readonly StoredHold[]
}

/** What is the matter with a certificate, as operators see it. */
export function shownHealth(health: Health, now: number): ShownHealth {
  const { breaker, holds, checkError, checkErrorAt } = health
  return {
    breaker: breaker
      ? {
          since: seconds(breaker.openedAt),
          retry_at: seconds(breaker.retryAt),
          code: breaker.code,
          reason: describeReason(breaker),
        }
      : null,
    holds: holds.map((hold) => ({
      scope: hold.scope,
      kind: hold.kind,
      code: hold.code,
      reason: describeReason(hold),
      since: seconds(hold.firstAt),
      until: seconds(hold.until),
      active: hold.until > now,
    })),
    check_error: checkError ?? null,
    check_error_at: checkErrorAt === undefined ? null : seconds(checkErrorAt),
  }
}

const seconds = (ms: number) => Math.floor(ms / 1000)
