import type { androidFields, ValueOf as StoredValueOf, VendorCard } from '@herald/channels/cards'

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

type ValueOf<Field> = Field extends { type: 'object' }
  ? string | Record<string, unknown>
  : Field extends { type: 'record'; fields: infer Fields }
    ? RecordOf<Fields>
    : StoredValueOf<Field>
type RequiredNames<Fields> = {
  [Name in keyof Fields]: Fields[Name] extends { required: true } ? Name : never
}[keyof Fields]
type RecordOf<Fields> = {
  -readonly [Name in Exclude<keyof Fields, RequiredNames<Fields>>]?: ValueOf<Fields[Name]>
} & { -readonly [Name in RequiredNames<Fields>]: ValueOf<Fields[Name]> }
type FieldsOf<Table> = { -readonly [Name in keyof Table]?: ValueOf<Table[Name]> }

export type AndroidFields = FieldsOf<typeof androidFields>

type ObjectTables = {
  [Card in VendorCard as Card['message']['object']]: Card['message']
}
/** The fields of a message for one vendor, by the name of its object in the message. */
export type VendorFields<Name extends keyof ObjectTables> = FieldsOf<ObjectTables[Name]['fields']> &
  (ObjectTables[Name] extends { android: true } ? AndroidFields : unknown)

export type VendorObjects = { [Name in keyof ObjectTables]?: VendorFields<Name> }
