import type { VendorChannel } from '@herald/domain'
import type { Faults } from '@herald/simulators'
import type { Storm } from './schedule.ts'
import type { Vendors } from './vendors.ts'

const faultsOf: Record<Storm, (share: number) => Faults> = {
  throttle: (share) => ({ throttle: share }),
  unavailable: (share) => ({ unavailable: share }),
  hang: (share) => ({ hang: share }),
  cut: (share) => ({ cut: share }),
  latency: (seconds) => ({ latencyMs: Math.round(seconds * 1000) }),
  goaway: (requests) => ({ goawayAfter: requests }),
  'expired-auth': () => ({ expireAuth: true }),
}

export const stormFaults = (storm: Storm, share: number): Faults => faultsOf[storm](share)

export type VendorFaults = {
  /** Gives the vendors these faults, in addition to those that they have, while `during` runs. */
  disturb(channels: readonly VendorChannel[], faults: Faults, during: () => Promise<unknown>): Promise<void>
}

/**
 * A simulator has one set of faults, so those that overlap in time are merged: the end of one must not end the others. Its faults are
 * set by one call at a time: a call that overtakes another would leave a fault forever.
 */
export function createVendorFaults({ setFaults }: Pick<Vendors, 'setFaults'>): VendorFaults {
  const active = new Map<VendorChannel, Set<Faults>>()
  const calls = new Map<VendorChannel, Promise<void>>()
  const apply = (channel: VendorChannel) => {
    const call = (calls.get(channel) ?? Promise.resolve())
      .catch(() => {})
      .then(() => setFaults(channel, Object.assign({}, ...(active.get(channel) ?? []))))
    calls.set(channel, call)
    return call
  }
  return {
    async disturb(channels, faults, during) {
      for (const channel of channels) active.set(channel, (active.get(channel) ?? new Set()).add(faults))
      await Promise.all(channels.map(apply))
      await during()
      for (const channel of channels) active.get(channel)?.delete(faults)
      await Promise.all(channels.map(apply))
    },
  }
}
