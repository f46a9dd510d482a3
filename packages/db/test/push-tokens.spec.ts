import { createHmac, hash } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { createPushTokens, hashOf } from '../src/devices/push-tokens.ts'

describe('push tokens', () => {
  it.each([
    ['a short key', Buffer.from('key')],
    ['a key of 32 bytes', Buffer.alloc(32, 7)],
    ['a key that is longer than a block', Buffer.alloc(100, 9)],
  ])('are an HMAC of the device, with %s', (_, key) => {
    const tokens = createPushTokens(key)
    // In this order: the long one makes room, which the next one must not read.
    for (const guid of ['guid-1', '设备'.repeat(120), 'x'.repeat(2000), 'guid-2', '']) {
      const { token, generation } = tokens.make({ appId: 'app', guid })
      const prefix = token.slice(0, 6)
      const secret = createHmac('sha256', key)
        .update(`app\0${guid}\0${generation}\0${prefix}`)
        .digest('base64url')
      expect(token).toBe(prefix + secret.slice(0, 24))
    }
  })

  it('are found by their first characters and half of their hash', () => {
    for (const token of ['abcdefsecret', 'abcdefother', 'ghijklsecret', 'abc'])
      expect(hashOf(token)).toBe(
        `\\x${Buffer.from(token.slice(0, 6)).toString('hex')}${hash('sha256', token, 'hex').slice(0, 32)}`,
      )
  })
})
