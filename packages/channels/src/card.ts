/**
 * A vendor's card: everything about it that code outside its folder needs to know, as data. Cards import nothing but this file,
 * so that the domain, the console's bundle and the command line can read them without loading an adapter.
 */
export type Card = {
  /** Name inside Herald and in `ospush_sequence`. */
  readonly name: string
  /** `provider` of the HTTP interface. Never changes, is never used again. */
  readonly provider: number
  /** Name in answers, counters, message objects and callback paths, where it is not `name`. */
  readonly publicName?: string
  readonly title: Text
  /** One of the vendors that `ups` in `ospush_sequence` stands for. */
  readonly inUps?: true
  /** The platform whose devices use this channel first, whatever `ospush_sequence` says; no other platform may. */
  readonly solePlatform?: 'ios'
  /** Platform of a device whose binding names none. */
  readonly defaultPlatform: 'ios' | 'android'
  /** Base addresses by name; each is a setting. */
  readonly addresses: Readonly<Record<string, Address>>
  /** Ways to fill in the certificate record; more than one where the vendor has several kinds of credentials. */
  readonly credentials: readonly CredentialForm[]
  /** Key of `extra` that users get as `app_secret`, because the vendor's client SDK needs it. They get no other secret. */
  readonly clientSecret?: string
  /** Fields of `extra.classes.service` and `.marketing`. */
  readonly classFields: Readonly<Record<string, ClassField>>
  readonly message: MessageObject
  /** What happens to the fields that all vendors share. The table in docs/concepts.md and the notes of /push/explain are made from it. */
  readonly carries: Readonly<Record<SharedField, Carrying>>
  /** What the vendor takes of the texts of a notification; longer ones are cut. Absent: only the size of the whole message is limited. */
  readonly texts?: TextLimits
  readonly limits: CardLimits
  /** A binding may name the topic that it is sent under. */
  readonly topicPerBinding?: true
  /** A token belongs to one environment: a development binding never uses the production certificate. */
  readonly environmentBound?: true
  /** Regions that the vendor serves through hosts of their own: the values of `extra.region` and of a binding's region. The first is the usual one. */
  readonly regions?: readonly [usual: string, ...others: string[]]
  /** A credential is valid in every region: tokens of a region without a certificate are sent with that of another. */
  readonly credentialOfAllRegions?: true
  /** The vendor shows the number it is told and cannot add: Herald keeps a count per device. */
  readonly absoluteBadge?: true
  /** Devices may have further tokens, of Live Activities; messages with `ios.live_activity` are sent to those. */
  readonly activityTokens?: true
  /** Devices that run HarmonyOS are reached through another version of the vendor's interface. */
  readonly separatesHarmony?: true
  /** iPhones may have tokens of this vendor too, and need another form of the message. */
  readonly separatesIos?: true
  /** The vendor reports arrivals, by calling back. */
  readonly reportsReceipts?: true
  /**
   * What can be done with a message that was sent: `withdraw` takes it away from the device or puts another in its place, `replace` only
   * puts another in its place. Messages without a notification cannot be recalled by any vendor.
   */
  readonly recall: 'withdraw' | 'replace' | 'none'
  /** Chinese texts of notes and warnings that only this vendor's adapter gives. */
  readonly noteTexts?: NoteTexts
  /** What the vendor's codes mean, in words that all vendors share. */
  readonly reasonKinds: ReasonKinds
  /** The vendor's usual library, which sends instead of our own client if `HERALD_VENDOR_CLIENT` is `reference`. */
  readonly referenceLibrary?: string
}

/** Why a vendor did not take a message, whatever its own code for that is. The console has a text and an advice for each. */
export const reasonKindNames = [
  'token_dead',
  'wrong_app',
  'message_refused',
  'too_large',
  'credentials_refused',
  'permission_missing',
  'app_barred',
  'server_barred',
  'wrong_clock',
  'receipts_refused',
  'device_off',
  'too_fast',
  'quota_used',
  'vendor_trouble',
] as const
export type ReasonKind = (typeof reasonKindNames)[number]
/** Codes as in reasons, without the channel. */
export type ReasonKinds = Readonly<Partial<Record<ReasonKind, readonly string[]>>>

/** By the English sentence; `{1}` and so on stand for parts that differ. */
export type NoteTexts = Readonly<Record<string, string>>

/** In the languages of the console and of the vendor's pages. */
export type Text = { readonly en: string; readonly zh: string }

export type Address = {
  /** Name of the setting that replaces it. */
  readonly setting: string
  /** What is called there; the English text follows "Base URL of". */
  readonly about: Text
  readonly url: string
  /** Of another region: absent in installations that do not serve it. */
  readonly region?: true
  /** Only certificates of this environment call it. */
  readonly environment?: 'production' | 'development'
}

export type CredentialForm = {
  /** Tells forms of one vendor apart. */
  readonly kind?: Text
  readonly fields: readonly CredentialField[]
  /** Optional fields of which at least one is needed. */
  readonly oneNeeded?: readonly CredentialField['to'][]
  /** A complete command line, without `certificate set <vendor>`. */
  readonly example: string
}

export type CredentialField = {
  /** Where it goes in the certificate record. */
  readonly to: 'app_id' | 'app_key' | 'app_secret' | 'certificate' | `extra.${string}`
  readonly label: Text
  readonly kind: 'text' | 'file' | 'flag' | 'list' | 'choice'
  /** Flag of the command line; keys of `extra` have none (`--extra` takes JSON). */
  readonly flag?: string
  /** Meaning and where to find it; the English text is the help of the flag. */
  readonly about: Text
  readonly secret?: true
  readonly optional?: true
  readonly choices?: readonly (string | number)[]
  readonly choiceTexts?: ChoiceTexts
  /** What a new form proposes: the package name of the application. Such a field is among the required ones. */
  readonly proposes?: 'package_name'
  /** For `file`: what a file picker offers, and how the content travels. PEM is text in either case. */
  readonly file?: { readonly accept: string; readonly as: 'text' | 'base64' }
  /** A second flag for the same field. */
  readonly alias?: { readonly flag: string; readonly about: Text; readonly as: 'text' | 'base64' }
}

/** What each choice means. A choice without a text is taken but not offered: another spelling, or one that is refused for another reason. */
export type ChoiceTexts = Readonly<Record<string, Text>>

/**
 * `category`: capitals and underscores, because vendors add categories from time to time. The English text of its `about` ends the sentence
 * that refuses another value.
 */
export type ClassField =
  | { readonly type: 'id' }
  | { readonly type: 'choice'; readonly choices: readonly (string | number)[] }
  | { readonly type: 'category'; readonly maxLength: number; readonly about: Text }

export type MessageObject = {
  /** Name of the object in a message. */
  readonly object: string
  /** The object also has the fields of `android`, and its own win over those. */
  readonly android?: true
  /** Takes `android.channel_id` where it names none: channel ids are otherwise registered per vendor. */
  readonly inheritsChannel?: true
  readonly fields: Readonly<Record<string, MessageField>>
  /** The field that takes precedence over `collapse_key` of the message. */
  readonly replaceField?: string
  /** Pure. Finds a combination of fields that the vendor refuses. */
  readonly check?: CheckFields
}

/**
 * `fields` are those of the vendor's object, `message` all of the message, with the names of the HTTP interface and without blank ones. Returns
 * the field of the object and the end of a sentence about it that names the other field, such as "cannot be set if type is cmd".
 */
export type CheckFields = (
  fields: Readonly<Record<string, unknown>>,
  message: Readonly<Record<string, unknown>>,
) => { readonly field: string; readonly problem: string } | undefined

/** A field of a message, or a kind of message, that not every vendor can carry. */
export type SharedField =
  | 'cmd'
  | 'big_text'
  | 'attachment_url'
  | 'badge'
  | 'sound'
  | 'channel_id'
  | 'intent'
  | 'url'
  | 'collapse_key'
  | 'foreground'
  | 'urgent'

/**
 * `yes`: the vendor applies it. `app`: the app gets it in its data and applies it. `certificate`: only with a setting of the
 * certificate. `no`: it is not sent. A remark is the part of a sentence that follows, such as "https addresses only".
 */
export type Carrying = CarryingWord | { readonly is: CarryingWord; readonly remark: Text }
export type CarryingWord = 'yes' | 'app' | 'certificate' | 'no'

export type MessageField = {
  readonly label: Text
  /** Description in the vendor's pages; the English text is also that of the API reference. */
  readonly about?: Text
  /** Of a field of a `record`: the record is refused without it. */
  readonly required?: true
} & (
  | {
      readonly type: 'text'
      readonly maxLength?: number
      readonly maxBytes?: number
      /** A regular expression for the whole text, and what a text that does not match is told. */
      readonly matches?: { readonly pattern: string; readonly error: string }
    }
  | { readonly type: 'flag' }
  | {
      readonly type: 'choice'
      readonly choices: readonly (string | number)[]
      readonly choiceTexts: ChoiceTexts
    }
  /** `whole`: integers only. */
  | { readonly type: 'number'; readonly min: number; readonly max: number; readonly whole?: true }
  /** A list of texts. */
  | { readonly type: 'list'; readonly maxItems: number; readonly maxLength: number }
  /** A JSON object with any content, given as such or as text; stored as text. */
  | { readonly type: 'object' }
  /** An object with these fields. Stored with the names that they have here. */
  | { readonly type: 'record'; readonly fields: Readonly<Record<string, MessageField>> }
)

/** The value of a field in a stored message. JSON objects are text there. */
export type ValueOf<Field> = Field extends { type: 'choice'; choices: readonly (infer Choice)[] }
  ? Choice
  : Field extends { type: 'flag' }
    ? boolean
    : Field extends { type: 'number' }
      ? number
      : Field extends { type: 'list' }
        ? string[]
        : Field extends { type: 'record'; fields: infer Fields }
          ? RecordOf<Fields>
          : string

type RequiredNames<Fields> = {
  [Name in keyof Fields]: Fields[Name] extends { required: true } ? Name : never
}[keyof Fields]
export type RecordOf<Fields> = {
  -readonly [Name in Exclude<keyof Fields, RequiredNames<Fields>>]?: ValueOf<Fields[Name]>
} & { -readonly [Name in RequiredNames<Fields>]: ValueOf<Fields[Name]> }

/** In characters. */
export type TextLimits = {
  readonly title: number
  readonly body: number
  /** Of the long text, where the vendor has one of its own. */
  readonly bigText?: number
  /** Of the text beside a picture, where it is another. */
  readonly pictureBody?: number
  /** The limits hold for UTF-16 units too, in which an emoji is two: the vendor does not say how it counts. */
  readonly utf16?: true
}

export type CardLimits = {
  /** Maximum number of recipients of one `Transport.send`. */
  readonly tokensPerCall: number
  /** The vendor takes one request per device, so the runner settles in parts while a batch is in progress. */
  readonly onePerDevice?: true
  /** Documented rates; `extra.limits` of a certificate replaces them. */
  readonly requestsPerSecond?: number
  readonly devicesPerSecond?: number
  /**
   * Marketing messages per device and day above which the vendor drops them, though it says that it took them. For applications
   * without a news licence; `extra.limits.per_device_per_day` of a certificate replaces it.
   */
  readonly perDevicePerDay?: number
  /** Of daily quotas and closed hours. */
  readonly timeZone: string
}
