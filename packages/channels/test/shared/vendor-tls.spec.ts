import { rootCertificates } from 'node:tls'
import { describe, expect, it } from '@jest/globals'
import { vendorTls } from '../../src/shared/vendor-tls.ts'

describe('the authorities of calls to vendors', () => {
  it('are the same object for the same setting, so that all connections share a context', () => {
    expect(vendorTls('one')).toBe(vendorTls('one'))
    expect(vendorTls(undefined)).toBe(vendorTls(''))
  })

  it('are that of the settings and the usual ones', () => {
    expect(vendorTls('one').ca).toEqual([...rootCertificates, 'one'])
    expect(vendorTls('two')).not.toBe(vendorTls('one'))
    expect(vendorTls(undefined).ca).toBeUndefined()
  })
})
