import type { VendorChannel } from '@herald/domain'
import { cards } from './cards.ts'
import type { ChannelAdapter } from './channel.ts'

/** By the name of its folder, so that a new vendor needs no line here. */
async function loadAdapter(channel: VendorChannel): Promise<ChannelAdapter> {
  const { adapter } = (await import(`./${channel}/channel.ts`)) as { adapter: ChannelAdapter }
  return adapter
}

const loaded = await Promise.all(cards.map(async ({ name }) => [name, await loadAdapter(name)] as const))

/** The adapters of all vendors by channel name. */
export const adapters: Readonly<Partial<Record<VendorChannel, ChannelAdapter>>> = Object.fromEntries(loaded)
