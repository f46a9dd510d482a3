import { type Card, cards, type MessageField } from '@herald/channels/cards'
import { messageObjects, type ObjectFields, type ObjectName, objectNames, toJson } from '@herald/domain'
import { z } from 'zod'
import { isEmpty } from '../input/blank.ts'
import { int64, integer, optional, required, text } from '../input/fields.ts'
import { checkClickUrl } from './click-url.ts'
import { checkIntent } from './intent.ts'

/** The size limit of the body; vendors' own limits are checked later. */
const LONG = 1_048_576
const long = optional(text(LONG))

/** A JSON object, or its text; kept as text. */
const objectText = z
  .unknown()
  .transform((value, context): string => {
    const read = typeof value === 'string' ? parsed(value) : value
    if (typeof read === 'object' && read !== null && !Array.isArray(read))
      return typeof value === 'string' ? value : toJson(read)
    context.issues.push({
      code: 'custom',
      input: value,
      message: 'must be an object or the JSON text of one',
    })
    return z.NEVER
  })
  .meta({ oneOf: [{ type: 'object' }, { type: 'string' }] })

function parsed(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    return undefined
  }
}

function schemaOf(field: MessageField): z.ZodType {
  switch (field.type) {
    case 'flag':
      return z.boolean()
    case 'object':
      return objectText
    case 'choice':
      return oneOf(field)
    case 'number':
      return field.whole ? integer(field.min, field.max) : z.number().min(field.min).max(field.max)
    case 'list':
      return z
        .array(text(field.maxLength))
        .max(field.maxItems, { error: `must have at most ${field.maxItems} entries` })
    case 'record':
      return z.strictObject(shapeOf(field.fields))
    case 'text': {
      const { maxBytes, matches } = field
      const schema = maxBytes === undefined ? text(field.maxLength ?? 1024) : bytes(maxBytes)
      if (!matches) return schema
      const pattern = new RegExp(`^(?:${matches.pattern})$`)
      return schema.refine((value) => pattern.test(value), { error: matches.error })
    }
  }
}

function shapeOf(table: Readonly<Record<string, MessageField>>): Record<string, z.ZodType> {
  return Object.fromEntries(
    Object.entries(table).map(([name, field]) => {
      const schema = field.required ? required(schemaOf(field)) : optional(schemaOf(field))
      return [name, field.about === undefined ? schema : schema.describe(field.about.en)]
    }),
  )
}

function bytes(max: number) {
  return z.string().refine((value) => Buffer.byteLength(value) <= max, {
    error: `must have at most ${max} bytes`,
  })
}

/** A number without a text is refused later, with the reason, and is not documented. */
function oneOf({ choices, choiceTexts }: Extract<MessageField, { type: 'choice' }>): z.ZodType {
  const numbers = choices.filter((choice) => typeof choice === 'number')
  if (numbers.length === 0) return z.enum(choices.map(String))
  const [min, max] = [Math.min(...numbers), Math.max(...numbers)]
  if (numbers.length > max - min) return integer(min, max)
  return integer(min, max)
    .refine((value) => numbers.includes(value), {
      error: `must be ${numbers.slice(0, -1).join(', ')} or ${numbers.at(-1)}`,
    })
    .meta({ enum: numbers.filter((value) => Object.hasOwn(choiceTexts, value)) })
}

function objectOf<Name extends ObjectName>(object: Name): z.ZodType<ObjectFields<Name> | undefined> {
  const shape = shapeOf(messageObjects[object])
  const schema = z.strictObject(shape)
  return optional('intent' in shape ? schema.superRefine(checkClick) : schema) as z.ZodType<
    ObjectFields<Name> | undefined
  >
}

function checkClick({ click_action, intent, url }: Record<string, unknown>, context: z.RefinementCtx): void {
  const refuse = (path: string, message: string | undefined) => {
    if (message) context.addIssue({ code: 'custom', path: [path], message })
  }
  if (typeof intent === 'string')
    refuse('intent', click_action === 'url' ? 'cannot be set if click_action is url' : checkIntent(intent))
  else if (click_action === 'intent') refuse('intent', 'must not be blank if click_action is intent')
  refuse('url', clickUrlProblem(click_action, url))
}

/** What is wrong with `url` beside this `click_action`. */
function clickUrlProblem(action: unknown, url: unknown): string | undefined {
  if (typeof url !== 'string')
    return action === 'url' ? 'must not be blank if click_action is url' : undefined
  if (action !== 'url')
    return `requires click_action url${action === undefined ? '' : `, but click_action is ${action}`}`
  return checkClickUrl(url)
}

const objects = Object.fromEntries(objectNames.map((name) => [name, objectOf(name)])) as {
  [Name in ObjectName]: ReturnType<typeof objectOf<Name>>
}

/** The end of the year 9999; larger values are milliseconds by mistake. */
const LAST_SECOND = 253_402_300_799n

const showTime = optional(
  int64.refine((value) => value >= 0n && value <= LAST_SECOND, { error: 'must be a Unix time in seconds' }),
).transform((value) => (value === undefined || value === 0n ? undefined : Number(value)))

const attachmentUrl = optional(
  text(2048).refine((value) => /^https?:\/\//i.test(value) && URL.canParse(value), {
    error: 'must be a URL that starts with http:// or https://',
  }),
)

const PICTURE = /\.(jpg|jpeg|png)$/i

export function isPicture(url: string): boolean {
  return URL.canParse(url) && PICTURE.test(new URL(url).pathname)
}

export const messageFields = z.strictObject({
  type: optional(z.enum(['text', 'image', 'cmd'])).describe(
    '`cmd` is a pass-through message (default text).',
  ),
  title: long,
  body: long,
  attachment_url: attachmentUrl.describe(
    'URL of an image, audio or video. The path of an image ends in .jpg, .jpeg or .png; it must be smaller than 1 MB, recommended 876x324 px.',
  ),
  big_text: long.describe('Shown as large text if the vendor supports it, otherwise body is shown.'),
  badge: optional(
    z.string().regex(/^\+?\d{1,9}$/, { error: 'must have 1 to 9 digits, with a leading + to add' }),
  ).describe('`5` sets the badge to 5, `+2` adds 2 (default +1).'),
  ext: optional(z.record(z.string(), z.unknown())).describe('JSON object for the app, passed on unchanged.'),
  show_begin_time: showTime.describe(
    'When the task begins, Unix time in seconds: the audience is resolved and the push is sent then; blank or 0: immediately.',
  ),
  show_end_time: showTime.describe(
    'When the push ends, Unix time in seconds: devices that it was not sent to by then expire; blank or 0: none.',
  ),
  click_action: optional(z.enum(['open_app', 'url'])).describe(
    'Action on click on all channels: `url` opens a web page or deep link, `open_app` the app (default open_app). A click_action in `android` or in a vendor’s object takes precedence.',
  ),
  url: optional(text(2048)).describe(
    'Address to open on click: an https address, or a deep link with the scheme of the app; required if click_action is url, refused otherwise. Where the system opens no address, the app gets it in its data.',
  ),
  collapse_key: optional(bytes(64)).describe(
    'A later push with the same key replaces this one on the screen, even from another task. At most 64 bytes. A collapse id in `ios` takes precedence on iOS.',
  ),
  foreground: optional(z.enum(['show', 'hide'])).describe(
    'Whether the system shows the notification while the app is in front (default show).',
  ),
  urgent: optional(z.boolean()).describe(
    'Asks the vendor to wake the device for a cmd message, where the vendor has such an option.',
  ),
  ...objects,
  ios: objects.ios.describe('Parameters for iOS.'),
  android: objects.android.describe('Parameters for Android; fields in a vendor’s object take precedence.'),
})

export type MessageFields = z.output<typeof messageFields>

/** Returns whether all fields are blank, or only `type` is set, to a type that shows nothing by itself. */
function isBlankMessage(value: MessageFields): boolean {
  const { type, ...rest } = value
  const set = Object.values(rest).some((field) =>
    typeof field === 'object' && field !== null ? !isEmpty(field) : field !== undefined,
  )
  return !set && type !== 'cmd'
}

const blank = { code: 'custom', params: { code: 40004 }, message: 'must not be blank' } as const

function checkMessage(value: MessageFields, context: z.RefinementCtx): void {
  if (isBlankMessage(value)) {
    context.addIssue({ ...blank, input: value })
    return
  }
  const refuse = (path: string, message: string) =>
    context.addIssue({ code: 'custom', path: [path], message })
  if (value.type === 'image') {
    if (value.attachment_url === undefined) refuse('attachment_url', 'is required if type is image')
    else if (!isPicture(value.attachment_url))
      refuse('attachment_url', 'must end in .jpg, .jpeg or .png if type is image')
  }
  const wrongUrl = clickUrlProblem(value.click_action, value.url)
  if (wrongUrl) refuse('url', wrongUrl)
  // Nothing of such a message is shown or tapped.
  if (value.type === 'cmd')
    for (const name of ['click_action', 'foreground'] as const)
      if (value[name] !== undefined) refuse(name, 'cannot be set if type is cmd')
  if (value.type === 'cmd')
    for (const name of objectNames) {
      const object: object = value[name] ?? {}
      if ('click_action' in object && object.click_action === 'url')
        context.addIssue({
          code: 'custom',
          path: [name, 'click_action'],
          message: 'cannot be url if type is cmd',
        })
    }
  for (const { message: vendor } of cards as readonly Card[]) {
    const given = (value as Record<string, unknown>)[vendor.object] as Record<string, unknown> | undefined
    const wrong = given && vendor.check?.(given, value)
    if (wrong)
      context.addIssue({ code: 'custom', path: [vendor.object, wrong.field], message: wrong.problem })
  }
  const { show_begin_time: begin, show_end_time: end } = value
  if (begin !== undefined && end !== undefined && end <= begin)
    refuse('show_end_time', 'must be after show_begin_time')
}

/** The content of a push, with these fields or all. If it is blank as a whole, the failure code is 40004. */
export function messageWith(fields: z.ZodType<MessageFields>) {
  return z.preprocess((value, context) => {
    const nothing =
      value === undefined ||
      value === null ||
      (typeof value === 'string' && value.trim() === '') ||
      (Array.isArray(value) && value.length === 0)
    if (!nothing) return value
    context.issues.push({ ...blank, input: value })
    return z.NEVER
  }, fields.superRefine(checkMessage))
}

export const message = messageWith(messageFields)
