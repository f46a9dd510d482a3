import { describe, expect, it } from '@jest/globals'
import { isPublicAddress } from '../src/index.ts'

describe('an address that a translator to IPv4 serves', () => {
  it.each(['64:ff9b::8.8.8.8', '64:ff9b::808:808', '64:ff9b:0:0:0:0:ac0f:ffff'])('%s is public', (address) =>
    expect(isPublicAddress(address)).toBe(true),
  )
  it.each([
    '64:ff9b::127.0.0.1',
    '64:ff9b::a01:203',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b::c0a8:1',
    '64:ff9b::',
    '64:ff9b::e000:1',
    '64:ff9b::1:808:808',
    '64:ff9b:1::808:808',
    '64:ff9a::808:808',
  ])('%s is not', (address) => expect(isPublicAddress(address)).toBe(false))
})
