import type { VendorChannel } from '@herald/domain'
import { apns } from './apns/channel.ts'
import type { ChannelAdapter } from './channel.ts'
import { fcm } from './fcm/channel.ts'
import { honor } from './honor/channel.ts'
import { huawei } from './huawei/channel.ts'
import { meizu } from './meizu/channel.ts'
import { oppo } from './oppo/channel.ts'
import { vivo } from './vivo/channel.ts'
import { xiaomi } from './xiaomi/channel.ts'

/** Every vendor's adapter by channel name; a tenth vendor adds its line here. */
export const adapters: Readonly<Partial<Record<VendorChannel, ChannelAdapter>>> = {
  apns,
  fcm,
  honor,
  huawei,
  meizu,
  oppo,
  vivo,
  xiaomi,
} satisfies Record<VendorChannel, ChannelAdapter>
