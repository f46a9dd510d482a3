/** Vendor channels in provider order; the number is the `provider` of the HTTP interface. */
export const vendorChannels = ['apns', 'huawei', 'xiaomi', 'meizu', 'vivo', 'oppo', 'fcm', 'honor'] as const

export type VendorChannel = (typeof vendorChannels)[number]
export type Channel = VendorChannel | 'native'

export const channels: readonly Channel[] = [...vendorChannels, 'native']

export function providerOf(channel: VendorChannel): number {
  return vendorChannels.indexOf(channel) + 1
}

export function channelOfProvider(provider: number): VendorChannel | undefined {
  return vendorChannels[provider - 1]
}

/** The name a channel has in every answer, counter, message object and callback path. */
export function publicName(channel: Channel): string {
  if (channel === 'meizu') return 'flyme'
  if (channel === 'native') return 'nativepush'
  return channel
}

export function channelOfPublicName(name: string): Channel | undefined {
  return channels.find((channel) => publicName(channel) === name)
}

/** Public names in the order the statistics record lists them. */
export const publicChannelNames = channels.map(publicName).sort()

/** The Android vendors that `ups` stands for. */
export const upsChannels: readonly VendorChannel[] = ['xiaomi', 'huawei', 'meizu', 'oppo', 'vivo', 'honor']

export const sequenceWords = ['ups', 'fcm', 'huawei', 'xiaomi', 'oppo', 'vivo', 'meizu', 'honor'] as const
export type SequenceWord = (typeof sequenceWords)[number]
export const defaultSequence: readonly SequenceWord[] = ['ups', 'fcm']
