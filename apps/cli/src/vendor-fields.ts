import { type Card, type CredentialField, cards } from '@herald/channels/cards'
import type { CertificateRecord, Provider } from '@herald/client'
import { providerOf, publicName, type VendorChannel, vendorChannels } from '@herald/domain'

/** One flag of `certificate set`, named as in the vendor's console, and the field of the record that it sets. */
export type VendorField = {
  flag: string
  field: Exclude<keyof CertificateRecord, 'name'>
  about: string
  /** A secret may also be read from a file, so that it does not appear in the process list. */
  secret?: true
  /** The flag is the path of a file with the value; `base64` encodes a binary file. */
  file?: 'text' | 'base64'
}

export type Vendor = { title: string; fields: readonly VendorField[]; examples: string[] }

function flagsOf({ to, flag, about, secret, file, alias }: CredentialField): VendorField[] {
  if (flag === undefined) return []
  const field = to as VendorField['field']
  const first = { flag, field, about: about.en, secret, file: file?.as }
  return alias ? [first, { flag: alias.flag, field, about: alias.about.en, file: alias.as }] : [first]
}

function vendorOf({ name, title, credentials }: Card): Vendor {
  const all = credentials.flatMap(({ fields }) => fields.flatMap(flagsOf))
  return {
    title: title.en,
    // Several kinds of credentials may have a field in common.
    fields: all.filter(({ flag }, at) => all.findIndex((other) => other.flag === flag) === at),
    examples: credentials.map(({ example }) => `certificate set ${name} ${example}`),
  }
}

export const vendors = Object.fromEntries(cards.map((card) => [card.name, vendorOf(card)])) as Record<
  VendorChannel,
  Vendor
>

/** The channel in examples of vendor tokens. */
export const exampleChannel = publicName(vendorChannels[1]!)

/** The vendor's number in the API. */
export const providerNumber = (vendor: VendorChannel) => providerOf(vendor) as Provider
