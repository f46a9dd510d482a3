import { rootCertificates } from 'node:tls'
import { describe, expect, it } from '@jest/globals'
import { vendorTls } from '../../src/shared/vendor-tls.ts'

describe('whom calls to vendors trust', () => {
  it('is the same object for the same authority, so that all connections share a context', () => {
    expect(vendorTls('one')).toBe(vendorTls('one'))
    expect(vendorTls(undefined)).toBe(vendorTls(''))
  })

  it('is the authority of the settings in addition to the usual ones', () => {
    expect(vendorTls('one').ca).toEqual([...rootCertificates, 'one'])
    expect(vendorTls('two')).not.toBe(vendorTls('one'))
    expect(vendorTls(undefined).ca).toBeUndefined()
  })
})
