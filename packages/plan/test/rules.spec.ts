import type { StoredCertificate } from '@herald/db/certificates'
import { PATIENCE_SECONDS } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import { availability } from '../src/rules.ts'

const NOW = Date.UTC(2026, 10, 15, 12)
const MINUTE = 60_000
const stored = { channel: 'fcm', state: 'open' } as StoredCertificate
const breakerOf = (openFor: number, retryIn: number) => ({
  openedAt: NOW - openFor,
  retryAt: NOW + retryIn,
  code: 'fcm.http_503',
  text: 'HTTP 503',
})

describe('whether a certificate sends at present', () => {
  it('says since when it is closed, why, and when it is checked next', () => {
    const closed = {
      ...stored,
      state: 'closed' as const,
      lastError: 'key revoked',
      closedAt: NOW - 5 * MINUTE,
      probeAt: NOW + 2 * MINUTE,
    }
    expect(availability({ stored: closed }, NOW)).toEqual({
      unavailable: {
        code: 'herald.certificate_closed',
        text: 'fcm is disabled since 2026-11-15 11:55 UTC: the vendor refuses its credentials (key revoked), next check at 2026-11-15 12:02 UTC',
      },
    })
  })

  it('keeps the channel while the breaker was opened recently, but not for direct release', () => {
    const breaker = breakerOf(PATIENCE_SECONDS * 1000 - 1, MINUTE)
    expect(availability({ stored, breaker }, NOW)).toEqual({ resting: true })
    expect(availability({ stored }, NOW)).toEqual({})
  })

  it('prefers another channel after the patience, except when a probe is due', () => {
    const openFor = PATIENCE_SECONDS * 1000
    expect(availability({ stored, breaker: breakerOf(openFor, MINUTE) }, NOW)).toEqual({
      resting: true,
      unavailable: {
        code: 'herald.vendor_silent',
        text: 'fcm has not answered since 2026-11-15 11:55 UTC (HTTP 503), next attempt at 2026-11-15 12:01 UTC',
      },
    })
    expect(availability({ stored, breaker: breakerOf(openFor, 0) }, NOW)).toEqual({ resting: true })
  })
})
