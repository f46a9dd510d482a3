import { describe, expect, it } from '@jest/globals'
import { pickRegion, regionOfBinding, regionOfExtra, regionProblem } from '../src/index.ts'

const certificates = (...regions: string[]) => new Map(regions.map((region) => [region, `of ${region}`]))

describe('the certificate of a region', () => {
  it.each([
    ['meizu', ['cn', 'intl'], undefined, 'of cn'],
    ['meizu', ['cn', 'intl'], 'cn', 'of cn'],
    ['meizu', ['cn', 'intl'], 'intl', 'of intl'],
    // The binding named no region, and there is only one certificate.
    ['meizu', ['intl'], undefined, 'of intl'],
    // Its token is not known in the other region.
    ['meizu', ['intl'], 'cn', undefined],
    ['meizu', ['cn'], 'intl', undefined],
    ['huawei', ['cn'], 'intl', undefined],
    ['oppo', ['cn', 'intl'], 'intl', 'of intl'],
    // The same credentials are valid in both regions.
    ['oppo', ['cn'], 'intl', 'of cn'],
    ['oppo', ['intl'], 'cn', 'of intl'],
    ['meizu', [], undefined, undefined],
  ] as const)('%s with %j, binding of %s: %s', (channel, regions, wanted, expected) => {
    expect(pickRegion(channel, certificates(...regions), wanted)).toBe(expected)
  })

  it('is the only one of a vendor without regions', () => {
    expect(pickRegion('vivo', new Map([[undefined, 'the only one']]), undefined)).toBe('the only one')
  })
})

describe('a region', () => {
  it('of a record is that of extra, by default the usual one', () => {
    expect(regionOfExtra('meizu', {})).toBe('cn')
    expect(regionOfExtra('meizu', { region: 'intl' })).toBe('intl')
    expect(regionOfExtra('vivo', { region: 'intl' })).toBeUndefined()
  })

  it('of a binding is what the token tells, otherwise what was named', () => {
    expect(regionOfBinding('oppo', 'intl', 'cn')).toBe('intl')
    expect(regionOfBinding('oppo', 'cn', 'intl')).toBeUndefined()
    expect(regionOfBinding('meizu', undefined, 'cn')).toBe('cn')
    expect(regionOfBinding('meizu', undefined, undefined)).toBeUndefined()
  })

  it('must be one that the vendor has', () => {
    expect(regionProblem('meizu', 'intl')).toBeUndefined()
    expect(regionProblem('meizu', 'eu')).toBe('must be one of cn, intl')
    expect(regionProblem('vivo', 'cn')).toBe('is not used for vivo, which has no regions')
  })
})
