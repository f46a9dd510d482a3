import { describe, expect, it } from '@jest/globals'
import { nativeQueue, pushQueue, pushQueues } from '../src/names.ts'

describe('queue names', () => {
  it('are one per vendor channel and one per gateway node', () => {
    expect(pushQueue('apns')).toBe('push-apns')
    expect(pushQueue('apns', 'normal')).toBe('push-apns-normal')
    expect(pushQueues('fcm')).toEqual(['push-fcm', 'push-fcm-normal'])
    expect(nativeQueue('gateway-0.eu_1')).toBe('push-native-gateway-0.eu_1')
  })

  it.each(['', 'a:b', 'a{b}', 'a b', 'x'.repeat(65)])('refuses the node id %j', (node) => {
    expect(() => nativeQueue(node)).toThrow(/node id/)
  })
})
