import { androidView, cardOf, type Message, sharedClick } from '@herald/domain'
import type { Card, CarryingWord, SharedField } from './card.ts'
import { type ChannelAdapter, isUnsupported, type Task } from './channel.ts'

/**
 * Pure. English sentences on what a vendor does not carry of a message that it accepts: what its adapter says, what follows from its card, and
 * which parts did not fit.
 */
export function messageNotes<Settings>(
  adapter: ChannelAdapter<Settings>,
  task: Task,
  settings: Settings,
): string[] {
  const card: Card = cardOf(adapter.name)
  const cuts = cutNotes(card, adapter, task, settings)
  const all = [
    ...(adapter.notes?.(task, settings) ?? []),
    ...notCarried(card, task.message, cuts.leftOut),
    ...cuts.notes,
  ]
  // Adapters and the card may say the same.
  return [...new Set(all)]
}

export function carryingWord(card: Card, field: SharedField): CarryingWord {
  const carrying = card.carries[field]
  return typeof carrying === 'string' ? carrying : carrying.is
}

type Sentence = (vendor: string) => string
type Rule = { asks(message: Message, card: Card): boolean } & Partial<Record<CarryingWord, Sentence>>

/** The fields whose treatment is described by the card alone. */
const rules: Partial<Record<SharedField, Rule>> = {
  big_text: {
    asks: ({ type, bigText, body }) => type !== 'cmd' && bigText !== undefined && body !== undefined,
    no: (vendor) => `${vendor} shows body; big_text is not sent.`,
  },
  attachment_url: {
    asks: ({ type }) => type === 'image',
    app: (vendor) => `${vendor} shows no pictures; the app gets the address in its data.`,
    no: (vendor) => `${vendor} shows no pictures; the address is not sent.`,
  },
  channel_id: {
    asks(message, card) {
      if (message.type === 'cmd' || !card.message.android) return false
      const used = androidViewOf(message, card)?.channelId
      const shared = message.android.channelId
      const isCarried = carryingWord(card, 'channel_id') === 'yes'
      return isCarried ? used === undefined && shared !== undefined : (used ?? shared) !== undefined
    },
    yes: (vendor) => `${vendor} takes only the channel_id of its own object: that of android is not sent.`,
    no: (vendor) => `${vendor} has no notification channels: channel_id is not sent.`,
  },
  url: {
    asks: (message, card) =>
      message.type !== 'cmd' && (androidViewOf(message, card)?.click ?? sharedClick(message)).kind === 'url',
    app: (vendor) => `${vendor} opens no addresses: a tap opens the app, which gets the address in its data.`,
    no: (vendor) => `${vendor} opens no addresses: a tap opens the app.`,
  },
  collapse_key: {
    asks: ({ type, collapseKey }) => type !== 'cmd' && collapseKey !== undefined,
    no: (vendor) => `${vendor} cannot replace notifications: collapse_key is not sent.`,
  },
  foreground: {
    asks: ({ type, foreground }) => type !== 'cmd' && foreground === 'hide',
    app: (vendor) =>
      `${vendor} leaves it to the app what it shows while it is in front; the app gets foreground in its data.`,
    no: (vendor) =>
      `${vendor} has no option for foreground: the notification is also shown in front of the app.`,
  },
  urgent: {
    asks: ({ urgent }) => urgent === true,
    no: (vendor) => `${vendor} has no option for urgent.`,
  },
}

function androidViewOf(message: Message, { message: own }: Card) {
  return own.android ? androidView(message, own.object as Parameters<typeof androidView>[1]) : undefined
}

/** Without the fields that are `leftOut`: what the vendor does with them does not matter then. */
function notCarried(card: Card, message: Message, leftOut: ReadonlySet<string>): string[] {
  return Object.entries(rules).flatMap(([field, rule]) => {
    if (leftOut.has(field)) return []
    const sentence = rule[carryingWord(card, field as SharedField)]
    return sentence && rule.asks(message, card) ? [sentence(card.title.en)] : []
  })
}

type Part = {
  name: string
  /** Left out as a whole, not cut. */
  leftOut?: true
  /** The fields of a message whose part is a little longer; undefined if it has none. */
  longer(message: Message): Partial<Message> | undefined
}

/** The parts that give way if there is no room, in the order in which they do. */
const parts: readonly Part[] = [
  {
    name: 'attachment_url',
    leftOut: true,
    longer: ({ attachmentUrl: url }) => (url ? { attachmentUrl: `${url}g` } : undefined),
  },
  { name: 'big_text', longer: ({ bigText }) => (bigText ? { bigText: `${bigText}x` } : undefined) },
  { name: 'body', longer: ({ body }) => (body ? { body: `${body}x` } : undefined) },
  {
    name: 'ios.subtitle',
    longer: ({ ios }) => (ios.subtitle ? { ios: { ...ios, subtitle: `${ios.subtitle}x` } } : undefined),
  },
  { name: 'title', longer: ({ title }) => (title ? { title: `${title}x` } : undefined) },
  { name: 'ext', leftOut: true, longer: ({ ext }) => (ext ? { ext: withMember(ext) } : undefined) },
]

/** `ext` is the text of a JSON object. */
function withMember(ext: string): string {
  const head = ext.trimEnd().slice(0, -1).trimEnd()
  return `${head}${head === '{' ? '' : ','}"longer":1}`
}

/**
 * If a longer form of a part gives the same payload, the part was cut or left out, unless the vendor does not carry it. Whether it does
 * is found by the same comparison with a message that has room. So no vendor needs code that reports what it cut.
 */
function cutNotes<Settings>(
  card: Card,
  adapter: ChannelAdapter<Settings>,
  task: Task,
  settings: Settings,
): { notes: string[]; leftOut: ReadonlySet<string> } {
  const write = (message: Message) => {
    const payload = adapter.mapPayload({ ...task, message }, settings)
    const versions = isUnsupported(payload) ? [payload] : (adapter.versionsOf?.(payload) ?? [payload])
    return versions.map((version) => JSON.stringify(version))
  }
  const whole = write(task.message)
  const roomy = shortened(task.message)
  const short = write(roomy)
  const { en: vendor } = card.title
  const cut = parts.filter(({ longer }) => {
    const changed = longer(task.message)
    if (!changed) return false
    const after = write({ ...task.message, ...changed })
    const shortAfter = write({ ...roomy, ...longer(roomy) })
    return whole.some((text, i) => text === after[i] && short[i] !== shortAfter[i])
  })
  return {
    notes: cut.map(({ name, leftOut }) =>
      leftOut
        ? `${vendor} has no room for ${name}: it is left out.`
        : `${vendor} has no room for all of ${name}: it is cut.`,
    ),
    leftOut: new Set(cut.flatMap(({ name, leftOut }) => (leftOut ? [name] : []))),
  }
}

/** The same message with one character in each text and with small data. */
function shortened(message: Message): Message {
  const short = (text: string | undefined) => text && 'x'
  return {
    ...message,
    title: short(message.title),
    body: short(message.body),
    bigText: short(message.bigText),
    attachmentUrl: message.attachmentUrl && 'https://a.example/b.png',
    ext: message.ext && '{}',
    ios: { ...message.ios, subtitle: short(message.ios.subtitle) },
  }
}
