import { androidFields, type Card, cards, type VendorCard } from '@herald/channels/cards'

/** A message after validation: blank fields removed, defaults filled in. Stored with the task; vendor payloads are built from it. */
export type Message = {
  type: 'text' | 'image' | 'cmd'
  title?: string
  body?: string
  attachmentUrl?: string
  bigText?: string
  badge: Badge
  /** The caller set `badge`; otherwise it is the default. Vendors that need a permission for badges get no default. */
  badgeNamed?: true
  /** The caller's JSON object as text, so that large numbers keep their digits. */
  ext?: string
  /** Unix seconds. */
  showBegin?: number
  showEnd?: number
} & MessageOptions

export type Badge = { kind: 'set' | 'add'; count: number }

type AndroidCard = Extract<VendorCard, { message: { android: true } }>

/** The fields of every object in a message, by the object's name. */
type ObjectTables = { android: typeof androidFields } & {
  [One in VendorCard as One['message']['object']]: One['message']['fields'] &
    (One extends AndroidCard ? typeof androidFields : unknown)
}
export type ObjectName = keyof ObjectTables

const vendorObjects = cards.map(({ message }: Card): [string, Card['message']['fields']] => [
  message.object,
  { ...(message.android && androidFields), ...message.fields },
])
export const messageObjects = Object.fromEntries([
  ['android', androidFields],
  ...vendorObjects,
]) as ObjectTables
export const objectNames = Object.keys(messageObjects) as ObjectName[]

/** JSON objects are kept as text. */
type ValueOf<Field> = Field extends { type: 'choice'; choices: readonly (infer Choice)[] }
  ? Choice
  : Field extends { type: 'flag' }
    ? boolean
    : string

/** An object as the HTTP interface has it. */
export type ObjectFields<Name extends ObjectName> = {
  [Field in keyof ObjectTables[Name]]?: ValueOf<ObjectTables[Name][Field]>
}

/** `thread_id` is `threadId` in a stored message. */
type Camel<Name> = Name extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : Name

type ObjectOptions<Name extends ObjectName> = {
  [Field in keyof ObjectTables[Name] as Camel<Field>]?: ValueOf<ObjectTables[Name][Field]>
}
type MessageOptions = { [Name in ObjectName]: ObjectOptions<Name> }

/** Names of the fields in the HTTP interface and in a stored message, by object. */
const names = new Map<string, [field: string, option: string][]>(
  Object.entries(messageObjects).map(([object, fields]) => [
    object,
    Object.keys(fields).map((name) => [name, name.replaceAll(/_(.)/g, (_, next) => next.toUpperCase())]),
  ]),
)

export function optionsOf<Name extends ObjectName>(
  object: Name,
  fields?: ObjectFields<Name>,
): ObjectOptions<Name> {
  const options: Record<string, unknown> = {}
  // Most messages have none of the ten objects.
  if (fields === undefined) return options as ObjectOptions<Name>
  const values: Record<string, unknown> = fields
  for (const [field, option] of names.get(object)!)
    if (values[field] !== undefined) options[option] = values[field]
  return options as ObjectOptions<Name>
}

export function fieldsOf<Name extends ObjectName>(
  object: Name,
  options: ObjectOptions<Name>,
): ObjectFields<Name> {
  const values: Record<string, unknown> = options
  return Object.fromEntries(
    names.get(object)!.map(([field, option]) => [field, values[option]]),
  ) as ObjectFields<Name>
}

export type MessageClass = 'service' | 'marketing'

/** Sound, channel and click action on one Android channel, merged from the vendor's object and `android`. */
export type AndroidView = { sound?: string; channelId?: string; click: Click }
export type Click = { kind: 'open_app' } | { kind: 'intent'; intent: string }

type AndroidObject = AndroidCard['message']['object']

const inheriting: ReadonlySet<string> = new Set(
  cards.flatMap(({ message }: Card) => (message.inheritsChannel ? [message.object] : [])),
)

/**
 * Fields of the vendor's object take precedence over `android`. click_action and intent are taken as a pair, so that one
 * object's click is never combined with the other's intent. Channel ids are registered per vendor; the card says which vendors
 * inherit that of `android`.
 */
export function androidView(message: Message, object: AndroidObject): AndroidView {
  const own: Message['android'] = message[object]
  const shared = message.android
  const clicker = own.clickAction || own.intent ? own : shared
  return {
    sound: own.sound ?? shared.sound,
    channelId: own.channelId ?? (inheriting.has(object) ? shared.channelId : undefined),
    click:
      clicker.clickAction === 'intent' && clicker.intent
        ? { kind: 'intent', intent: clicker.intent }
        : { kind: 'open_app' },
  }
}

/** Title and body for vendors that need both; undefined when every text is blank. */
export function titleAndBody(
  message: Message,
  applicationName: string,
): { title: string; body: string } | undefined {
  const title = message.title
  const body = message.body ?? message.bigText ?? title
  if (!body) return undefined
  return { title: title ?? applicationName, body }
}

/** The same number for every attempt of a task, so that a second delivery replaces the first on the screen. */
export function replaceKey(taskId: number): number {
  return (taskId % 2147483647) + 1
}
