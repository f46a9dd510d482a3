import { describe, expect, it } from '@jest/globals'
import { describeReason, ownReasonNames, ownReasons, vendorCodeOf, vendorReason } from '../src/index.ts'

describe('Herald’s own reasons', () => {
  it('have a snake-case code and a text', () => {
    for (const name of ownReasonNames) {
      expect(name).toMatch(/^[a-z]+(_[a-z]+)*$/)
      const reason = ownReasons[name]
      if (typeof reason !== 'function')
        expect(reason).toEqual({ code: `herald.${name}`, text: expect.any(String) })
    }
    expect(ownReasons.no_certificate('oppo', 'production')).toEqual({
      code: 'herald.no_certificate',
      text: 'oppo has no production certificate',
    })
  })
})

describe('a vendor’s reason', () => {
  it.each([
    ['80300007', 'all tokens invalid', '80300007', '80300007 all tokens invalid'],
    ['80100000.noRight', 'noRight', '80100000', '80100000 noRight'],
    ['Unregistered', '410 Unregistered', 'Unregistered', '410 Unregistered'],
    ['http_503', 'HTTP 503 flow control', 'http_503', 'HTTP 503 flow control'],
  ])('%s is described with its code once', (code, text, vendorCode, described) => {
    const reason = vendorReason('huawei', code, text)
    expect(reason.code).toBe(`huawei.${code}`)
    expect([vendorCodeOf(reason), describeReason(reason)]).toEqual([vendorCode, described])
  })

  it('is distinguished from Herald’s own', () => {
    expect(vendorCodeOf(ownReasons.owner_changed)).toBeUndefined()
    expect(describeReason(ownReasons.owner_changed)).toBe('the device belongs to another user or alias now')
  })
})
