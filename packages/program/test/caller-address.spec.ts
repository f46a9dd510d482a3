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
    ['2001:db8:0:1:aaaa::1', 1, '2001:db8:0:1::/64'],
    ['2001:0db8::1:0:0:2', 1, '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 1, 'fe80:0:0:0::/64'],
    ['::1', 1, '0:0:0:0::/64'],
    ['::ffff:1.2.3.4', 1, '1.2.3.4'],
    ['1.2.3.4:50123', 1, '1.2.3.4'],
    ['1.1.1.1:1, 2.2.2.2:2', 2, '1.1.1.1'],
    ['[2001:db8:0:1:aaaa::1]:443', 1, '2001:db8:0:1::/64'],
    ['[2001:db8:0:1:aaaa::2]', 1, '2001:db8:0:1::/64'],
    ['[::ffff:1.2.3.4]:443', 1, '1.2.3.4'],
    ['[fe80::1%eth0]:443', 1, 'fe80:0:0:0::/64'],
    ['not an address', 1, 'not an address'],
    ['[not an address', 1, '[not an address'],
    ['an-address:443', 1, 'an-address:443'],
  ])('of %j behind %d proxies is %s', (forwarded, proxies, expected) => {
    expect(callerAddress(request(forwarded), proxies)).toBe(expected)
  })
})
