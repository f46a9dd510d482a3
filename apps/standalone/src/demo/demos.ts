import { type VendorChannel, vendorChannels } from '@herald/domain'
import { type Demo, loadDemo } from '@herald/simulators'

const loaded = await Promise.all(
  vendorChannels.map(async (channel) => [channel, await loadDemo(channel)] as const),
)
export const demos = Object.fromEntries(loaded) as Record<VendorChannel, Demo<unknown>>
