import type { androidFields, VendorCard } from '@herald/channels/cards'

/** The vendor's number in the API. */
export type Provider = VendorCard['provider']

type PublicName<Card> = Card extends { publicName: infer Name extends string }
  ? Name
  : Card extends { name: infer Name extends string }
    ? Name
    : never
/** The name of a vendor's channel in the API. */
export type VendorName = PublicName<VendorCard>
export type ChannelName = 'nativepush' | VendorName

/** `ups` stands for the vendors of Chinese Android phones; channels of iOS are not part of a sequence. */
export type SequenceWord = 'ups' | Exclude<VendorCard, { solePlatform: string }>['name']

type ValueOf<Field> = Field extends { type: 'choice'; choices: readonly (infer Choice)[] }
  ? Choice
  : Field extends { type: 'flag' }
    ? boolean
    : Field extends { type: 'object' }
      ? string | Record<string, string>
      : string
type FieldsOf<Table> = { -readonly [Name in keyof Table]?: ValueOf<Table[Name]> }

export type AndroidFields = FieldsOf<typeof androidFields>

type ObjectTables = {
  [Card in VendorCard as Card['message']['object']]: Card['message']
}
/** The fields of a message for one vendor, by the name of its object in the message. */
export type VendorFields<Name extends keyof ObjectTables> = FieldsOf<ObjectTables[Name]['fields']> &
  (ObjectTables[Name] extends { android: true } ? AndroidFields : unknown)

export type VendorObjects = { [Name in keyof ObjectTables]?: VendorFields<Name> }
