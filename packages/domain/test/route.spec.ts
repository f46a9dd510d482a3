import { describe, expect, it } from '@jest/globals'
import type { SequenceWord, Strategy } from '../src/index.ts'
import { type ChannelStatus, type RouteDevice, type RouteRules, route } from '../src/route.ts'

/**
 * One line a case. Bindings in the order of their registration, the last one latest; `!` no certificate, `~` closed.
 * `online` stands before the bindings.
 */
const cases: [strategy: Strategy, sequence: string, tried: string, device: string, expected: string][] = [
  // No binding at all.
  ['combined', 'ups fcm', '', 'android', 'inbox'],
  ['combined', 'ups fcm', '', 'android online', 'native'],
  ['nativepush_only', 'ups fcm', '', 'android', 'inbox'],
  ['nativepush_only', 'ups fcm', '', 'android online', 'native'],
  ['ospush_only', 'ups fcm', '', 'android', 'unreachable'],
  ['ospush_only', 'ups fcm', '', 'android online', 'unreachable'],

  // One binding.
  ['combined', 'ups fcm', '', 'android xiaomi', 'xiaomi'],
  ['combined', 'ups fcm', '', 'android online xiaomi', 'native'],
  ['nativepush_only', 'ups fcm', '', 'android xiaomi', 'inbox'],
  ['ospush_only', 'ups fcm', '', 'android online xiaomi', 'xiaomi'],
  ['ospush_only', 'ups fcm', '', 'android honor', 'honor'],
  ['ospush_only', 'ups fcm', '', 'harmony huawei', 'huawei'],

  // The sequence orders and selects.
  ['ospush_only', 'ups fcm', '', 'android fcm huawei', 'huawei'],
  ['ospush_only', 'fcm ups', '', 'android fcm huawei', 'fcm'],
  ['ospush_only', 'fcm', '', 'android huawei', 'unreachable'],
  ['combined', 'fcm', '', 'android huawei', 'inbox'],
  ['ospush_only', 'oppo xiaomi', '', 'android xiaomi oppo', 'oppo'],
  ['ospush_only', 'xiaomi oppo', '', 'android xiaomi oppo', 'xiaomi'],
  ['ospush_only', 'meizu', '', 'android meizu fcm', 'meizu'],

  // Inside ups the latest registration comes first; a repeated word keeps its first place.
  ['ospush_only', 'ups', '', 'android xiaomi huawei', 'huawei'],
  ['ospush_only', 'ups', '', 'android huawei xiaomi', 'xiaomi'],
  ['ospush_only', 'huawei ups', '', 'android huawei xiaomi', 'huawei'],
  ['ospush_only', 'ups huawei', '', 'android huawei xiaomi', 'xiaomi'],
  ['ospush_only', 'fcm ups fcm', '', 'android xiaomi fcm', 'fcm'],

  // iOS with an APNs token uses apns under every sequence; apns is no Android channel.
  ['combined', 'fcm', '', 'ios apns', 'apns'],
  ['combined', 'fcm', '', 'ios online apns', 'native'],
  ['ospush_only', 'fcm ups', '', 'ios fcm apns', 'apns'],
  ['ospush_only', 'fcm', 'apns', 'ios fcm apns', 'fcm'],
  ['ospush_only', 'ups fcm', '', 'ios fcm', 'fcm'],
  ['ospush_only', 'ups fcm', '', 'android apns', 'unreachable'],

  // Fallback: what was tried is out, the inbox is the last resort of combined.
  ['ospush_only', 'ups fcm', 'huawei', 'android fcm huawei', 'fcm'],
  ['ospush_only', 'ups fcm', 'huawei fcm', 'android fcm huawei', 'unreachable'],
  ['combined', 'ups fcm', 'huawei fcm', 'android fcm huawei', 'inbox'],
  ['combined', 'ups fcm', 'native', 'android online huawei', 'huawei'],
  ['combined', 'ups fcm', 'native huawei', 'android online huawei', 'unreachable'],
  ['combined', 'ups fcm', 'huawei', 'android online huawei', 'native'],

  // A missing certificate is an obstacle; a closed one is skipped only while another channel can take the device.
  ['ospush_only', 'ups fcm', '', 'android !huawei fcm', 'fcm'],
  ['ospush_only', 'ups fcm', '', 'android !huawei', 'unreachable'],
  ['combined', 'ups fcm', '', 'android !huawei', 'inbox'],
  ['ospush_only', 'ups fcm', '', 'android ~huawei fcm', 'fcm'],
  ['ospush_only', 'ups fcm', '', 'android ~huawei', 'huawei'],
  ['combined', 'ups fcm', '', 'android ~huawei', 'huawei'],
  ['ospush_only', 'ups fcm', 'fcm', 'android ~huawei fcm', 'huawei'],
  ['ospush_only', 'ups fcm', '', 'ios ~apns', 'apns'],
]

function read(text: string, sequence: string, strategy: Strategy, tried: string): [RouteDevice, RouteRules] {
  const [platform, ...words] = text.split(' ')
  const ways = new Map<string, ChannelStatus>()
  const bindings = words
    .filter((word) => word !== 'online')
    .map((word, n) => {
      const channel = word.replace(/^[!~]/, '') as RouteDevice['bindings'][number]['channel']
      ways.set(channel, {
        certificateId: n,
        unusable: word.startsWith('!') ? `${channel} has no certificate` : undefined,
        closed: word.startsWith('~') ? `${channel} is closed` : undefined,
      })
      return { channel, environment: 1, registeredAt: n + 1 }
    })
  return [
    { platform: platform as RouteDevice['platform'], bindings, online: words.includes('online') },
    {
      strategy,
      sequence: sequence.split(' ') as SequenceWord[],
      tried: new Set(tried.split(' ').filter(Boolean)) as RouteRules['tried'],
      statusOf: (channel) => ways.get(channel)!,
      mayStore: true,
    },
  ]
}

const name = (found: ReturnType<typeof route>) => (found.to === 'vendor' ? found.channel : found.to)

describe('route', () => {
  it.each(cases)('%s, [%s], tried [%s]: %s → %s', (strategy, sequence, tried, device, expected) => {
    const [who, rules] = read(device, sequence, strategy, tried)
    expect(name(route(who, rules))).toBe(expected)
  })

  it.each(cases)(
    'decides the same when asked for reasons: %s, [%s], tried [%s]: %s',
    (strategy, sequence, tried, device) => {
      const [who, rules] = read(device, sequence, strategy, tried)
      const passed: Parameters<typeof route>[2] = []
      const found = route(who, rules, passed)
      expect(name(found)).toBe(name(route(who, rules)))
      expect(found.reason).not.toBe('')
      // Every channel the device has, and native, is either chosen or passed over with a reason.
      const chosen = found.to === 'vendor' ? found.channel : 'native'
      const told = new Set([...passed.map((other) => other.channel), chosen])
      for (const { channel } of who.bindings) expect(told).toContain(channel)
      expect(passed.every((other) => other.reason.length > 0)).toBe(true)
    },
  )

  it('stores nothing for a message that is only for those reachable now', () => {
    const [who, rules] = read('android', 'ups fcm', 'combined', '')
    expect(name(route(who, { ...rules, mayStore: false }))).toBe('unreachable')
  })
})
