import type { Channel, SequenceWord, VendorChannel } from './channel-names.ts'
import { upsChannels } from './channel-names.ts'
import type { Strategy } from './task.ts'

export type Platform = 'ios' | 'android' | 'harmony'

export type RouteDevice = {
  platform?: Platform
  bindings: readonly RouteBinding[]
  /** Holds an open native connection. */
  online: boolean
}

export type RouteBinding = {
  channel: VendorChannel
  environment: number
  /** Unix µs. */
  registeredAt: number
}

/** What stands in a channel's way for this task. */
export type ChannelStatus = {
  certificateId?: number
  /** No certificate, or the channel cannot carry this message: never used for this task. */
  unusable?: string
  /** Not sending at present (credentials refused, quota used up): skipped while another channel can take the device. */
  closed?: string
}

export type RouteRules = {
  strategy: Strategy
  sequence: readonly SequenceWord[]
  tried: ReadonlySet<Channel>
  statusOf(channel: VendorChannel, environment: number): ChannelStatus
  /** False for ttl 0: what cannot be reached now is not stored. */
  mayStore: boolean
}

export type Route =
  | { to: 'vendor'; channel: VendorChannel; binding: RouteBinding; way: ChannelStatus; reason: string }
  | { to: 'native'; reason: string }
  | { to: 'inbox'; reason: string }
  | { to: 'unreachable'; reason: string }

/** Why a channel was passed over; collected only when somebody asks. */
export type Skipped = { channel: Channel; reason: string }

/**
 * The one decision of where a device gets a task from. Planning, fallback and explain all call it, so they cannot disagree.
 */
export function route(device: RouteDevice, rules: RouteRules, passed?: Skipped[]): Route {
  const usesNative = rules.strategy !== 'ospush_only'
  const nativeTried = rules.tried.has('native')

  if (usesNative && device.online && !nativeTried) {
    if (passed)
      passOverVendors(device, rules, passed, 'the device is online, so the native channel comes first')
    return { to: 'native', reason: 'the device is online on the native channel' }
  }
  if (passed) passed.push({ channel: 'native', reason: whyNotNative(device, rules) })

  if (rules.strategy === 'nativepush_only') {
    if (passed) passOverVendors(device, rules, passed, 'the strategy nativepush_only uses no vendor')
  } else {
    const vendor = pickVendor(device, rules, passed)
    if (vendor) return vendor
  }

  if (usesNative && !nativeTried && rules.mayStore) {
    return {
      to: 'inbox',
      reason:
        rules.strategy === 'nativepush_only'
          ? 'the device is offline, so the message waits in its inbox'
          : 'no vendor can take the device, so the message waits in its inbox',
    }
  }
  return { to: 'unreachable', reason: whyUnreachable(device, rules) }
}

function pickVendor(device: RouteDevice, rules: RouteRules, passed?: Skipped[]): Route | undefined {
  let held: Route | undefined
  let chosen: Route | undefined
  for (const binding of ranked(device, rules.sequence, passed)) {
    const { channel } = binding
    if (chosen) {
      passed?.push({ channel, reason: `${chosenName(chosen)} comes before it` })
      continue
    }
    if (rules.tried.has(channel)) {
      passed?.push({ channel, reason: 'it was tried already' })
      continue
    }
    const way = rules.statusOf(channel, binding.environment)
    if (way.unusable) {
      passed?.push({ channel, reason: way.unusable })
      continue
    }
    if (way.closed) {
      held ??= {
        to: 'vendor',
        channel,
        binding,
        way,
        reason: `${way.closed}; no other channel can take the device, so it is held`,
      }
      passed?.push({ channel, reason: way.closed })
      continue
    }
    chosen = {
      to: 'vendor',
      channel,
      binding,
      way,
      reason:
        channel === 'apns'
          ? 'an iOS device with an APNs token always uses apns'
          : 'first usable binding in ospush_sequence',
    }
    if (!passed) return chosen
  }
  if (chosen) return chosen
  if (held && passed) {
    const { channel } = held as { channel: Channel }
    passed.splice(
      passed.findIndex((entry) => entry.channel === channel),
      1,
    )
  }
  return held
}

function chosenName(route: Route): string {
  return route.to === 'vendor' ? route.channel : route.to
}

/** Usable order of a device's bindings: apns for iOS, then the sequence; inside `ups` the latest registration first. */
function ranked(
  device: RouteDevice,
  sequence: readonly SequenceWord[],
  passed?: Skipped[],
): readonly RouteBinding[] {
  const { bindings } = device
  if (bindings.length === 1 && !passed) {
    const only = bindings[0]!
    return rank(only, device, sequence) === undefined ? [] : bindings
  }
  const withRank: { binding: RouteBinding; rank: number }[] = []
  for (const binding of bindings) {
    const place = rank(binding, device, sequence)
    if (place === undefined) {
      passed?.push({
        channel: binding.channel,
        reason:
          binding.channel === 'apns' ? 'apns serves iOS devices only' : 'it is not listed in ospush_sequence',
      })
    } else withRank.push({ binding, rank: place })
  }
  withRank.sort((a, b) => a.rank - b.rank || b.binding.registeredAt - a.binding.registeredAt)
  return withRank.map((entry) => entry.binding)
}

function rank(
  binding: RouteBinding,
  device: RouteDevice,
  sequence: readonly SequenceWord[],
): number | undefined {
  const { channel } = binding
  if (channel === 'apns')
    return device.platform === 'android' || device.platform === 'harmony' ? undefined : -1
  for (let place = 0; place < sequence.length; place++) {
    const word = sequence[place]
    if (word === channel || (word === 'ups' && upsChannels.includes(channel))) return place
  }
  return undefined
}

function passOverVendors(device: RouteDevice, rules: RouteRules, passed: Skipped[], reason: string): void {
  for (const { channel, environment } of device.bindings) {
    passed.push({ channel, reason: rules.statusOf(channel, environment).unusable ?? reason })
  }
}

function whyNotNative(device: RouteDevice, rules: RouteRules): string {
  if (rules.strategy === 'ospush_only') return 'the strategy ospush_only uses vendors alone'
  if (rules.tried.has('native')) return 'it was tried already'
  return device.online ? 'the device is online' : 'the device is not online'
}

function whyUnreachable(device: RouteDevice, rules: RouteRules): string {
  if (rules.strategy === 'nativepush_only') return 'the device is offline and the message may not be stored'
  if (device.bindings.length === 0) return 'the device has no vendor token'
  return 'no binding of the device can be used'
}
