import { z } from 'zod'
import { isEmpty } from '../input/blank.ts'
import { int64, integer, optional, text } from '../input/fields.ts'
import { checkIntent } from './intent.ts'

/** Long enough for anything a vendor takes; the body's own limit bounds the rest. */
const LONG = 1_048_576
const short = optional(text(1024))
const long = optional(text(LONG))

/** A JSON object given as such or as text; kept as text. */
const objectText = optional(
  z.unknown().transform((value, context): string => {
    const read = typeof value === 'string' ? parsed(value) : value
    if (typeof read === 'object' && read !== null && !Array.isArray(read))
      return typeof value === 'string' ? value : JSON.stringify(read, bigintsAsText)
    context.issues.push({ code: 'custom', input: value, message: 'must be an object, or the text of one' })
    return z.NEVER
  }),
).meta({ oneOf: [{ type: 'object' }, { type: 'string' }] })

function parsed(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    return undefined
  }
}

const bigintsAsText = (_key: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)

const clicks = {
  sound: short.describe('Alert sound.'),
  channel_id: short.describe('Notification bar channel.'),
  click_action: optional(z.enum(['intent', 'open_app'])).describe(
    'Action after a click: `intent` opens a page, `open_app` the app; blank means open_app.',
  ),
  intent: optional(text(4096)).describe(
    'Page to open, like `intent:#Intent;component=package/activity;S.key=value;end`; needed when click_action is intent.',
  ),
}

/** The fields all Android objects share, and what one of them adds. */
function androidObject<Extra extends z.ZodRawShape>(extra: Extra) {
  const schema = z.strictObject({ ...clicks, ...extra }).superRefine((value, context) => {
    const { click_action, intent } = value as { click_action?: string; intent?: string }
    const wrong =
      intent !== undefined
        ? checkIntent(intent)
        : click_action === 'intent'
          ? 'must not be blank when click_action is intent'
          : undefined
    if (wrong) context.addIssue({ code: 'custom', path: ['intent'], message: wrong })
  })
  return optional(schema)
}

const importance = (...levels: [string, ...string[]]) => optional(z.enum(levels))
const badgeClass = short.describe('Entry activity class of the desktop icon.')

const ios = optional(
  z.strictObject({
    sound: short.describe('Alert sound.'),
    content_available: optional(z.boolean()).describe('APNs content-available.'),
    mutable_content: optional(z.boolean()).describe('APNs mutable-content.'),
    category: short.describe('APNs payload category.'),
    thread_id: short.describe('APNs thread-id: groups notifications with the same value.'),
    subtitle: long,
    apns_collapse_id: optional(
      z.string().refine((value) => Buffer.byteLength(value) <= 64, { error: 'must have at most 64 bytes' }),
    ).describe('A notification replaces earlier ones with the same ID.'),
  }),
)

/** The end of the year 9999; who is beyond it has sent milliseconds. */
const LAST_SECOND = 253_402_300_799n

const showTime = optional(
  int64.refine((value) => value >= 0n && value <= LAST_SECOND, { error: 'must be a Unix time in seconds' }),
).transform((value) => (value === undefined || value === 0n ? undefined : Number(value)))

const attachmentUrl = optional(
  text(2048).refine((value) => /^https?:\/\//i.test(value) && URL.canParse(value), {
    error: 'must be a URL that begins with http:// or https://',
  }),
)

const PICTURE = /\.(jpg|jpeg|png)$/i

export function isPicture(url: string): boolean {
  return URL.canParse(url) && PICTURE.test(new URL(url).pathname)
}

const fields = z.strictObject({
  type: optional(z.enum(['text', 'image', 'cmd'])).describe(
    '`cmd` is a pass-through message; blank means text.',
  ),
  title: long,
  body: long,
  attachment_url: attachmentUrl.describe(
    'URL of an image, audio or video. An image ends in .jpg, .jpeg or .png and has less than 1 MB; 876x324 px is recommended.',
  ),
  big_text: long.describe('Pushed as large text where the vendor can, otherwise body is pushed.'),
  badge: optional(
    z.string().regex(/^\+?\d{1,9}$/, { error: 'must be digits, with + in front to add (at most 9 digits)' }),
  ).describe('`5` sets the badge to 5, `+2` adds 2; blank means +1.'),
  ext: optional(z.record(z.string(), z.unknown())).describe('Free JSON object, carried verbatim.'),
  show_begin_time: showTime.describe(
    'Start of presentation, Unix time in seconds; blank or 0 means at once.',
  ),
  show_end_time: showTime.describe('End of presentation, Unix time in seconds; blank or 0 means none.'),
  ios: ios.describe('Parameters for iOS.'),
  android: androidObject({}).describe('Parameters for Android; a vendor object’s own fields win.'),
  huawei: androidObject({
    badge_class: badgeClass,
    category: short,
    importance: importance('LOW', 'NORMAL', 'HIGH'),
    urgency: importance('NORMAL', 'HIGH'),
  }),
  xiaomi: androidObject({ template_id: short, template_param: objectText }),
  oppo: androidObject({
    category: optional(text(32)),
    notify_level: optional(
      integer(1, 16).refine((value) => [1, 2, 16].includes(value), { error: 'must be 1, 2 or 16' }),
    ),
    private_msg_template_id: short,
    private_title_parameters: objectText,
    private_content_parameters: objectText,
  }),
  vivo: androidObject({
    push_mode: optional(integer(0, 1)).describe('0 = production push, 1 = testing push; default 0.'),
    classification: optional(integer(0, 1)).describe('0 = operational, 1 = system message; default 0.'),
    category: short,
  }),
  flyme: androidObject({
    notice_msg_type: optional(integer(0, 1)).describe('0 = public, 1 = private message.'),
  }),
  fcm: androidObject({}),
  honor: androidObject({ badge_class: badgeClass, importance: importance('LOW', 'NORMAL') }),
})

export type MessageFields = z.output<typeof fields>

/** Every field blank, or nothing but a type that shows nothing by itself. */
function isBlankMessage(value: MessageFields): boolean {
  const { type, ...rest } = value
  const set = Object.values(rest).some((field) =>
    typeof field === 'object' && field !== null ? !isEmpty(field) : field !== undefined,
  )
  return !set && type !== 'cmd'
}

const blank = { code: 'custom', params: { code: 40004 }, message: 'must not be blank' } as const

const checked = fields.superRefine((value, context) => {
  if (isBlankMessage(value)) {
    context.addIssue({ ...blank, input: value })
    return
  }
  const refuse = (path: string, message: string) =>
    context.addIssue({ code: 'custom', path: [path], message })
  if (value.type === 'image') {
    if (value.attachment_url === undefined) refuse('attachment_url', 'is needed when type is image')
    else if (!isPicture(value.attachment_url))
      refuse('attachment_url', 'must end in .jpg, .jpeg or .png when type is image')
  }
  const { show_begin_time: begin, show_end_time: end } = value
  if (begin !== undefined && end !== undefined && end <= begin)
    refuse('show_end_time', 'must be after show_begin_time')
})

/** What a push says. Blank as a whole is 40004. */
export const message = z.preprocess((value, context) => {
  const nothing =
    value === undefined ||
    value === null ||
    (typeof value === 'string' && value.trim() === '') ||
    (Array.isArray(value) && value.length === 0)
  if (!nothing) return value
  context.issues.push({ ...blank, input: value })
  return z.NEVER
}, checked)
