import { cardOf, publicName, type VendorChannel, vendorChannels } from '@herald/domain'
import type { Settings } from '@herald/settings'
import type { DemoMode } from '@herald/simulators'
import type { DemoCredentials } from './credentials.ts'
import { demos } from './demos.ts'

export type Simulation = {
  /** Simulated vendors; the others are called for real. */
  channels: readonly VendorChannel[]
  /** The given settings with the URLs of the simulators. */
  settings: Settings
  /** Base URL by public channel name. */
  urls: Record<string, string>
  /** Sets the receipt URL in the vendor's console, if the vendor has such a field. */
  registerReceipts(channel: VendorChannel, url: string): void
  close(): Promise<void>
}

/** Vendors whose URL is not set; none when simulators are off. Pure. */
export function simulatedChannels({ simulators, givenVendorUrls }: Settings): VendorChannel[] {
  if (!simulators) return []
  const isGiven = (name: string) => (givenVendorUrls as readonly string[]).includes(name)
  return vendorChannels.filter((channel) => !Object.keys(cardOf(channel).addresses).some(isGiven))
}

/**
 * Where vendors send receipts: to the address of this machine, if one of them is simulated on it and no other address is given. A real
 * vendor cannot reach it. Pure.
 */
export function publicUrlOf(settings: Settings, ownUrl: string): string | undefined {
  return settings.publicUrl ?? (simulatedChannels(settings).length > 0 ? ownUrl : undefined)
}

/** Starts a simulator per vendor on a free port of this machine. Their state is empty at every start. */
export async function startSimulators(
  given: Settings,
  credentials: DemoCredentials,
  mode: DemoMode = {},
): Promise<Simulation> {
  const channels = simulatedChannels(given)
  const started = new Map(
    await Promise.all(
      channels.map(
        async (channel) => [channel, await demos[channel].start(credentials[channel], mode)] as const,
      ),
    ),
  )
  const all = [...started.values()]
  const authorities = all.flatMap(({ simulators }) => simulators.flatMap(({ ca }) => ca ?? []))
  return {
    channels,
    settings: {
      ...given,
      vendorUrls: Object.assign({ ...given.vendorUrls }, ...all.map(({ urls }) => urls)),
      vendorCa: [given.vendorCa, ...authorities].filter(Boolean).join('\n') || undefined,
      // Kept for the vendors that are not simulated. A proxy on another machine cannot reach this machine's loopback, and is not used for it
      // (proxyFor in packages/http2).
      proxy: channels.length === vendorChannels.length ? undefined : given.proxy,
    },
    urls: Object.fromEntries(
      [...started].map(([channel, { simulators }]) => [publicName(channel), simulators[0].url]),
    ),
    registerReceipts: (channel, url) => started.get(channel)?.registerReceipts?.(url),
    async close() {
      await Promise.all(all.flatMap(({ simulators }) => simulators.map((simulator) => simulator.close())))
    },
  }
}
