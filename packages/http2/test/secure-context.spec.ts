import { describe, expect, it } from '@jest/globals'
import { secureContextOf, trustOf } from '../src/secure-context.ts'
import { ca, server as identity } from './support/certificates.ts'

describe('the TLS context', () => {
  it('is made once for all connections with the same options', () => {
    const tls = { ca }
    expect(secureContextOf(tls)).toBe(secureContextOf(tls))
  })

  it('is not shared with another credential', () => {
    const tls = { ca, ...identity }
    expect(secureContextOf(tls)).not.toBe(secureContextOf({ ca }))
    expect(() => secureContextOf({ ca, cert: identity.cert, key: 'no key' })).toThrow()
  })

  it('of proxies is one for all credentials, and has none', () => {
    expect(trustOf({ ca, ...identity })).toEqual({ ca })
    expect(trustOf({ ca, ...identity })).toBe(trustOf({ ca }))
    expect(trustOf({ ca: 'text', ...identity })).toEqual({ ca: 'text' })
    expect(trustOf(identity)).toEqual({})
  })
})
