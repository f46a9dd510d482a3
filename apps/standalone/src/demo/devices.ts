import { createHash } from 'node:crypto'
import type { BindingChange, DeviceChange } from '@herald/db/devices'
import type { VendorChannel } from '@herald/domain'
import type { DemoDevice } from '@herald/simulators'
import { demos } from './demos.ts'

const native: DemoDevice = { guid: 'demo-native', platform: 'android', owned: true }

export type DemoChange = DeviceChange & { bindings: (BindingChange & { token: string })[] }

/** The devices of the simulated vendors, and one without a vendor. A device that several vendors list has a binding for each. */
export function demoDevices(userId: bigint, simulated: readonly VendorChannel[]): DemoChange[] {
  const devices = new Map<string, DemoChange>()
  const add = ({ owned, tags = [], ...device }: DemoDevice) => {
    const known = devices.get(device.guid) ?? {
      ...device,
      userId: owned ? String(userId) : undefined,
      tags: ['demo', device.platform, ...tags],
      bindings: [],
    }
    devices.set(device.guid, known)
    return known
  }
  for (const channel of simulated)
    for (const device of demos[channel].devices)
      add(device).bindings.push({
        channel,
        token: demoToken(channel, device.guid, device.platform),
        environment: 1,
      })
  add(native)
  return [...devices.values()]
}

/** The same token at every start, in the format of the vendor's real tokens. */
export function demoToken(channel: VendorChannel, guid: string, platform?: DemoDevice['platform']): string {
  return demos[channel].token(createHash('sha256').update(`${channel}/${guid}`).digest(), platform)
}
