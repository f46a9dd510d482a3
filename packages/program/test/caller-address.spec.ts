import { describe, expect, it } from '@jest/globals'
import { callerAddress } from '../src/index.ts'

describe('the caller’s address', () => {
  const request = (forwarded?: string) =>
    ({
      socket: { remoteAddress: '10.0.0.9' },
      headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
    }) as never
  it.each([
    ['1.1.1.1, 2.2.2.2', 0, '10.0.0.9'],
    ['1.1.1.1, 2.2.2.2', 1, '2.2.2.2'],
    ['1.1.1.1, 2.2.2.2', 2, '1.1.1.1'],
    ['2.2.2.2', 2, '2.2.2.2'],
    [undefined, 1, '10.0.0.9'],
  ])('of %j behind %d proxies is %s', (forwarded, proxies, expected) => {
    expect(callerAddress(request(forwarded), proxies)).toBe(expected)
  })
})
