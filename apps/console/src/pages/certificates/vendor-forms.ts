import { type CredentialField, type CredentialForm, cards, type Text } from '@herald/channels/cards'
import type { Environment, Provider } from '@herald/client'
import { cardOf, channelOfPublicName, publicName, type VendorChannel } from '@herald/domain'

/** A vendor has one form per kind of credentials. */
export type VendorForm = {
  provider: Provider
  channel: string
  kind?: Text
  fields: readonly CredentialField[]
  /** Optional fields of which at least one is needed. */
  oneNeeded: readonly CredentialField['to'][]
  /** Tokens of the vendor belong to an environment. */
  hasEnvironments: boolean
}

export const vendorForms: readonly VendorForm[] = cards.flatMap((card) =>
  card.credentials.map(({ kind, fields, oneNeeded = [] }: CredentialForm) => ({
    provider: card.provider,
    channel: publicName(card.name),
    kind,
    fields,
    oneNeeded,
    hasEnvironments: 'environmentBound' in card,
  })),
)

const EXTRA = 'extra.'
export const isExtra = (to: string): to is `extra.${string}` => to.startsWith(EXTRA)
export const extraKey = (to: `extra.${string}`) => to.slice(EXTRA.length)

/** The region is part of a record's place, so it is chosen next to the environment. */
export const isRegion = ({ to }: CredentialField) => to === 'extra.region'

/** Fields that are shown first; the others are further settings. */
export const isInFront = (field: CredentialField) => !isExtra(field.to) || field.proposes !== undefined

/** Whether the vendor refuses a record without it. */
export const isRequired = (field: CredentialField) => !field.optional || field.proposes !== undefined

/** Whether the environment of a record tells something: most vendors have one only. */
export function showsEnvironment(channel: string, environment: Environment): boolean {
  return environment === 0 || 'environmentBound' in cardOf(channelOfPublicName(channel) as VendorChannel)
}
