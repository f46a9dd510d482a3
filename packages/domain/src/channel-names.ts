import { type Card, cards, type VendorCard } from '@herald/channels/cards'

export type VendorChannel = VendorCard['name']
export type Channel = VendorChannel | 'native'

/** In the order of their numbers: the first one is `provider` 1 in the HTTP API. */
export const vendorChannels: readonly VendorChannel[] = cards.map(({ name }) => name)
export const channels: readonly Channel[] = [...vendorChannels, 'native']

const byName = new Map<Channel, Card>(cards.map((card) => [card.name, card]))
const byProvider = new Map<number, VendorChannel>(cards.map((card) => [card.provider, card.name]))

export function cardOf(channel: VendorChannel): Card {
  return byName.get(channel)!
}

export function providerOf(channel: VendorChannel): number {
  return cardOf(channel).provider
}

export function channelOfProvider(provider: number): VendorChannel | undefined {
  return byProvider.get(provider)
}

/** Returns the number of a provider that is given by its number or by a name of its channel. */
export function providerNamed(value: unknown): number | undefined {
  if (typeof value === 'number') return byProvider.has(value) ? value : undefined
  const found = vendorChannels.find((channel) => channel === value || publicName(channel) === value)
  return found && providerOf(found)
}

/** The channel's name in API responses, counters, message objects and callback paths. */
export function publicName(channel: Channel): string {
  return channel === 'native' ? 'nativepush' : (cardOf(channel).publicName ?? channel)
}

export function channelOfPublicName(name: string): Channel | undefined {
  return channels.find((channel) => publicName(channel) === name)
}

/** Public names in the order the statistics record lists them. */
export const publicChannelNames = channels.map(publicName).sort()

/** The channels that `ups` in ospush_sequence means. */
export const upsChannels = vendorChannels.filter((channel) => cardOf(channel).inUps)

/** Channels that serve one platform alone are used for it whatever the sequence says, so they are not part of it. */
export type SequenceWord = 'ups' | Exclude<VendorCard, { solePlatform: string }>['name']
const sequenced = vendorChannels.filter((channel) => !cardOf(channel).solePlatform) as SequenceWord[]
export const sequenceWords: readonly SequenceWord[] = ['ups', ...sequenced]
export const defaultSequence: readonly SequenceWord[] = [
  'ups',
  ...sequenced.filter((channel) => !cardOf(channel as VendorChannel).inUps),
]

/** Of a certificate and of a binding; rows have its number. */
export type Environment = 'production' | 'development'

export function environmentNumber(environment: Environment): 0 | 1 {
  return environment === 'production' ? 1 : 0
}

export function environmentOf(number: number): Environment {
  return number === 1 ? 'production' : 'development'
}
