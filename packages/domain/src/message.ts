import { androidFields, type Card, cards, type ValueOf, type VendorCard } from '@herald/channels/cards'

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
  /** What a tap opens on channels whose objects name no click action. */
  url?: string
  /** A later message with the same key replaces this one on the screen. */
  collapseKey?: string
  /** Whether the system shows the message while the app is in front. Absent: the vendor's default. */
  foreground?: Foreground
  urgent?: boolean
  /** Of a recall: the task whose message it takes away or, without `withdraw`, replaces on the screen. */
  recall?: { taskId: number; withdraw?: true }
} & MessageOptions

export type Foreground = 'show' | 'hide'

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

/** The fields of vendors' objects that take precedence over `collapse_key`. */
export const replaceFields: readonly (readonly [object: ObjectName, field: string])[] = cards.flatMap(
  ({ message }: Card) =>
    message.replaceField === undefined ? [] : [[message.object as ObjectName, message.replaceField] as const],
)

/** The message with the replace keys of another, in place of its own. */
export function withReplaceKeysOf(other: Message, message: Message): Message {
  const objects = replaceFields.map(([object, field]) => {
    const [, option] = names.get(object)!.find(([name]) => name === field)!
    const key = (other[object] as Record<string, unknown> | undefined)?.[option]
    return [object, { ...message[object], [option]: key }]
  })
  return { ...message, ...Object.fromEntries(objects), collapseKey: other.collapseKey }
}

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

/** Fields of all channels with their names in the HTTP interface, except `ext`, whose text is passed on unchanged. */
export function fieldsOfMessage(message: Message) {
  const { badge, url } = message
  return {
    type: message.type,
    title: message.title,
    body: message.body,
    attachment_url: message.attachmentUrl,
    big_text: message.bigText,
    badge: badge.kind === 'add' ? `+${badge.count}` : String(badge.count),
    show_begin_time: message.showBegin,
    show_end_time: message.showEnd,
    click_action: url === undefined ? undefined : 'url',
    url,
    collapse_key: message.collapseKey,
    foreground: message.foreground,
    urgent: message.urgent,
  }
}

export type MessageClass = 'service' | 'marketing'

/** Sound, channel and click action on one Android channel, merged from the vendor's object and `android`. */
export type AndroidView = { sound?: string; channelId?: string; click: Click }
export type Click = { kind: 'open_app' } | { kind: 'intent'; intent: string } | { kind: 'url'; url: string }

type AndroidObject = AndroidCard['message']['object']

const inheriting: ReadonlySet<string> = new Set(
  cards.flatMap(({ message }: Card) => (message.inheritsChannel ? [message.object] : [])),
)

/**
 * Fields of the vendor's object take precedence over `android`. click_action, intent and url are taken together, so that one
 * object's click is never combined with the other's intent. Channel ids are registered per vendor; the card says which vendors
 * inherit that of `android`.
 */
export function androidView(message: Message, object: AndroidObject): AndroidView {
  const own: Message['android'] = message[object]
  const shared = message.android
  const clicker = [own, shared].find(({ clickAction, intent }) => clickAction || intent)
  return {
    sound: own.sound ?? shared.sound,
    channelId: own.channelId ?? (inheriting.has(object) ? shared.channelId : undefined),
    click: clicker ? clickOf(clicker) : sharedClick(message),
  }
}

function clickOf({ clickAction, intent, url }: Message['android']): Click {
  if (clickAction === 'intent' && intent) return { kind: 'intent', intent }
  if (clickAction === 'url' && url) return { kind: 'url', url }
  return { kind: 'open_app' }
}

/** The click action of the whole message, for channels without one of their own. */
export function sharedClick({ url }: Message): Click {
  return url === undefined ? { kind: 'open_app' } : { kind: 'url', url }
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
