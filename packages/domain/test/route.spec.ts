import { describe, expect, it } from '@jest/globals'
import { ownReasons, type SequenceWord, type Strategy } from '../src/index.ts'
import { type ChannelStatus, type RouteDevice, type RouteRules, route } from '../src/route.ts'

/**
 * One line per case: platform, `online` if it is, then bindings in the order of their registration. `!` means no certificate,
 * `~` a closed one.
 */
const cases: [strategy: Strategy, sequence: string, tried: string, device: string, expected: string][] = [
  // No binding.
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

  // Within ups the latest registration comes first; a repeated word counts at its first position.
  ['ospush_only', 'ups', '', 'android xiaomi huawei', 'huawei'],
  ['ospush_only', 'ups', '', 'android huawei xiaomi', 'xiaomi'],
  ['ospush_only', 'huawei ups', '', 'android huawei xiaomi', 'huawei'],
  ['ospush_only', 'ups huawei', '', 'android huawei xiaomi', 'xiaomi'],
  ['ospush_only', 'fcm ups fcm', '', 'android xiaomi fcm', 'fcm'],

  // iOS with an APNs token uses apns under every sequence; other platforms never do.
  ['combined', 'fcm', '', 'ios apns', 'apns'],
  ['combined', 'fcm', '', 'ios online apns', 'native'],
  ['ospush_only', 'fcm ups', '', 'ios fcm apns', 'apns'],
  ['ospush_only', 'fcm', 'apns', 'ios fcm apns', 'fcm'],
  ['ospush_only', 'ups fcm', '', 'ios fcm', 'fcm'],
  ['ospush_only', 'ups fcm', '', 'android apns', 'unreachable'],

  // Fallback: tried channels are skipped, the inbox is the last resort of combined.
  ['ospush_only', 'ups fcm', 'huawei', 'android fcm huawei', 'fcm'],
  ['ospush_only', 'ups fcm', 'huawei fcm', 'android fcm huawei', 'unreachable'],
  ['combined', 'ups fcm', 'huawei fcm', 'android fcm huawei', 'inbox'],
  ['combined', 'ups fcm', 'native', 'android online huawei', 'huawei'],
  ['combined', 'ups fcm', 'native huawei', 'android online huawei', 'unreachable'],
  ['combined', 'ups fcm', 'huawei', 'android online huawei', 'native'],

  // Without a certificate a channel is never used; a closed one is skipped only if the device has another channel.
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
  const statuses = new Map<string, ChannelStatus>()
  const bindings = words
    .filter((word) => word !== 'online')
    .map((word, n) => {
      const channel = word.replace(/^[!~]/, '') as RouteDevice['bindings'][number]['channel']
      statuses.set(channel, {
        certificateId: n,
        unusable: word.startsWith('!') ? ownReasons.no_certificate(channel, 'production') : undefined,
        unavailable: word.startsWith('~') ? ownReasons.certificate_closed(channel) : undefined,
      })
      return { channel, environment: 1, registeredAt: n + 1 }
    })
  return [
    { platform: platform as RouteDevice['platform'], bindings, online: words.includes('online') },
    {
      strategy,
      sequence: sequence.split(' ') as SequenceWord[],
      tried: new Set(tried.split(' ').filter(Boolean)) as RouteRules['tried'],
      statusOf: (channel) => statuses.get(channel)!,
      mayStore: true,
    },
  ]
}

const name = (found: ReturnType<typeof route>) => (found.to === 'vendor' ? found.channel : found.to)

describe('route', () => {
  it.each(cases)('%s, [%s], tried [%s]: %s → %s', (strategy, sequence, tried, device, expected) => {
    const [subject, rules] = read(device, sequence, strategy, tried)
    expect(name(route(subject, rules))).toBe(expected)
  })

  it.each(cases)(
    'decides the same when asked for reasons: %s, [%s], tried [%s]: %s',
    (strategy, sequence, tried, device) => {
      const [subject, rules] = read(device, sequence, strategy, tried)
      const skipped: Parameters<typeof route>[2] = []
      const found = route(subject, rules, skipped)
      expect(name(found)).toBe(name(route(subject, rules)))
      expect(found.reason.text).not.toBe('')
      // Every channel of the device, and native, is either chosen or skipped with a reason.
      const chosen = found.to === 'vendor' ? found.channel : 'native'
      const explained = new Set([...skipped.map((other) => other.channel), chosen])
      for (const { channel } of subject.bindings) expect(explained).toContain(channel)
      expect(skipped.every((other) => other.reason.text.length > 0)).toBe(true)
    },
  )

  it('stores nothing for a message that must be delivered now or never', () => {
    const [subject, rules] = read('android', 'ups fcm', 'combined', '')
    expect(name(route(subject, { ...rules, mayStore: false }))).toBe('unreachable')
  })
})
