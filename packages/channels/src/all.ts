import type { VendorChannel } from '@herald/domain'
import type { ChannelAdapter } from './channel.ts'
import { oppo } from './oppo/channel.ts'
import { xiaomi } from './xiaomi/channel.ts'

/** Every vendor's adapter by channel name; a tenth vendor adds its line here. */
export const adapters: Readonly<Partial<Record<VendorChannel, ChannelAdapter>>> = {
  oppo,
  xiaomi,
}
