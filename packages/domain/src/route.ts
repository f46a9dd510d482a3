import { type Channel, cardOf, type SequenceWord, type VendorChannel } from './channel-names.ts'
import { ownReasons, type Reason } from './reason-codes.ts'
import type { Strategy } from './task.ts'

export const platforms = ['ios', 'android', 'harmony'] as const
export type Platform = (typeof platforms)[number]

export type RouteDevice = {
  platform?: Platform
  bindings: readonly RouteBinding[]
  /** Has an open native connection, and its app is in the foreground. */
  online: boolean
  /** Has an open native connection, but its app is in the background. */
  away?: boolean
}

export type RouteBinding = {
  channel: VendorChannel
  environment: number
  /** Unset: the vendor's usual one. */
  region?: string
  /** Unix µs. */
  registeredAt: number
}

/** Whether a channel can be used for a task; without `unusable` and `unavailable` it can. */
export type ChannelStatus = {
  certificateId?: number
  /** Why it is never used for this task: no certificate, or the channel cannot carry the message. */
  unusable?: Reason
  /** Why it does not send at present (credentials refused, vendor silent). Used only if the device has no other channel. */
  unavailable?: Reason
  /** The breaker of the certificate is open: its batches are released by the feeder only, one at a time. */
  resting?: true
}

export type RouteRules = {
  strategy: Strategy
  sequence: readonly SequenceWord[]
  tried: ReadonlySet<Channel>
  statusOf(channel: VendorChannel, environment: number, region?: string): ChannelStatus
  /** False for ttl 0: a message that cannot be delivered now is not stored. */
  mayStore: boolean
}

export type Route =
  | { to: 'vendor'; channel: VendorChannel; binding: RouteBinding; status: ChannelStatus; reason: Reason }
  | { to: 'native'; reason: Reason }
  | { to: 'inbox'; reason: Reason }
  | { to: 'unreachable'; reason: Reason }

/** Why a channel was skipped; collected only for explain. */
export type Skipped = { channel: Channel; reason: Reason }

/** Decides over which channel a device gets a task. Planning, fallback and explain all use it, so they cannot disagree. */
export function route(device: RouteDevice, rules: RouteRules, skipped?: Skipped[]): Route {
  const usesNative = rules.strategy !== 'ospush_only'
  const nativeTried = rules.tried.has('native')

  if (usesNative && device.online && !nativeTried) {
    if (skipped) skipVendors(device, rules, skipped, ownReasons.native_first)
    return { to: 'native', reason: ownReasons.online }
  }
  skipped?.push({ channel: 'native', reason: whyNotNative(device, rules) })

  if (rules.strategy === 'nativepush_only') {
    if (skipped) skipVendors(device, rules, skipped, ownReasons.nativepush_only)
  } else {
    const vendor = pickVendor(device, rules, skipped)
    if (vendor) return vendor
  }

  if (usesNative && !nativeTried && rules.mayStore) {
    const reason = rules.strategy === 'nativepush_only' ? 'offline_to_inbox' : 'no_vendor_to_inbox'
    return { to: 'inbox', reason: ownReasons[reason] }
  }
  return { to: 'unreachable', reason: whyUnreachable(device, rules) }
}

function pickVendor(device: RouteDevice, rules: RouteRules, skipped?: Skipped[]): Route | undefined {
  let fallback: (Route & { to: 'vendor' }) | undefined
  let chosen: (Route & { to: 'vendor' }) | undefined
  for (const binding of ranked(device, rules.sequence, skipped)) {
    const { channel } = binding
    if (chosen) {
      skipped?.push({ channel, reason: ownReasons.other_channel_first(chosen.channel) })
      continue
    }
    if (rules.tried.has(channel)) {
      skipped?.push({ channel, reason: ownReasons.already_tried })
      continue
    }
    const status = rules.statusOf(channel, binding.environment, binding.region)
    if (status.unusable) {
      skipped?.push({ channel, reason: status.unusable })
      continue
    }
    if (status.unavailable) {
      fallback ??= {
        to: 'vendor',
        channel,
        binding,
        status,
        reason: ownReasons.waiting_for_channel(status.unavailable),
      }
      skipped?.push({ channel, reason: status.unavailable })
      continue
    }
    chosen = {
      to: 'vendor',
      channel,
      binding,
      status,
      reason: cardOf(channel).solePlatform
        ? ownReasons.only_channel_of_platform(channel)
        : ownReasons.first_in_sequence,
    }
    if (!skipped) return chosen
  }
  if (chosen) return chosen
  if (fallback && skipped) {
    const { channel } = fallback
    skipped.splice(
      skipped.findIndex((entry) => entry.channel === channel),
      1,
    )
  }
  return fallback
}

/** The device's bindings in the order to try: its platform's own channel, then the sequence; in `ups` the latest registration first, then by name. */
function ranked(
  device: RouteDevice,
  sequence: readonly SequenceWord[],
  skipped?: Skipped[],
): readonly RouteBinding[] {
  const { bindings } = device
  if (bindings.length === 1 && !skipped) {
    const only = bindings[0]!
    return rank(only, device, sequence) === undefined ? [] : bindings
  }
  const withRank: { binding: RouteBinding; rank: number }[] = []
  for (const binding of bindings) {
    const place = rank(binding, device, sequence)
    if (place === undefined) {
      skipped?.push({
        channel: binding.channel,
        reason: cardOf(binding.channel).solePlatform
          ? ownReasons.other_platform(binding.channel)
          : ownReasons.not_in_sequence,
      })
    } else withRank.push({ binding, rank: place })
  }
  // Bindings of one call are registered at the same time. Their rows come in any order, and planning must decide as explain and the count do.
  withRank.sort(
    (a, b) =>
      a.rank - b.rank ||
      b.binding.registeredAt - a.binding.registeredAt ||
      (a.binding.channel < b.binding.channel ? -1 : 1),
  )
  return withRank.map((entry) => entry.binding)
}

function rank(
  binding: RouteBinding,
  device: RouteDevice,
  sequence: readonly SequenceWord[],
): number | undefined {
  const { channel } = binding
  const { solePlatform, inUps } = cardOf(channel)
  if (solePlatform) return (device.platform ?? solePlatform) === solePlatform ? -1 : undefined
  for (let place = 0; place < sequence.length; place++) {
    const word = sequence[place]
    if (word === channel || (word === 'ups' && inUps)) return place
  }
  return undefined
}

function skipVendors(device: RouteDevice, rules: RouteRules, skipped: Skipped[], reason: Reason): void {
  for (const { channel, environment, region } of device.bindings) {
    skipped.push({ channel, reason: rules.statusOf(channel, environment, region).unusable ?? reason })
  }
}

function whyNotNative({ away }: RouteDevice, { strategy, tried }: RouteRules): Reason {
  if (strategy === 'ospush_only') return ownReasons.ospush_only
  if (tried.has('native')) return ownReasons.already_tried
  return away ? ownReasons.device_away : ownReasons.device_offline
}

function whyUnreachable(device: RouteDevice, rules: RouteRules): Reason {
  if (rules.strategy === 'nativepush_only') return ownReasons.offline_not_stored
  return device.bindings.length === 0 ? ownReasons.no_vendor_token : ownReasons.no_usable_token
}
