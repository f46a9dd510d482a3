import { androidView, type MessageClass, parseVerbatim, titleAndBody } from '@herald/domain'
import { type ClassifiedTask, isUnsupported, type Task, type Unsupported } from '../channel.ts'
import { asStrings, timeLeft, withoutUndefined } from '../shared/payload-parts.ts'
import { replaceNumber } from '../shared/replace-key.ts'
import { cutCodePoints, cutText } from '../shared/texts.ts'
import { leavingOutExt } from '../shared/too-large.ts'
import { card } from './card.ts'
import { clickOf } from './click.ts'
import type { OppoNotification } from './notification.ts'
import type { OppoSettings } from './settings.ts'

/** The notification for all recipients; the transport adds target and app_message_id. */
export type OppoPayload = {
  taskId: number
  notification: OppoNotification
  /** The text of a message with a picture, in case OPPO refuses the picture. */
  plain?: Pick<OppoNotification, 'style' | 'content'>
  messageClass: MessageClass
  /** Where category, level and template come from. If the message names one, a refusal concerns this message only. */
  classFrom: 'message' | 'certificate'
  /** The same for badge and level, which need permissions. */
  addOnsFrom: 'message' | 'certificate'
}

/** Fields that need a permission of OPPO's; `add-ons` is all of them. */
export type AddOn = 'picture' | 'level' | 'add-ons'

/** What phones show of style 1. */
const maxShortText = 50
const maxPictureUrl = 300
const maxCallbackUrl = 200
const tenDaysS = 864_000

export const mapPayload = leavingOutExt(mapMessage)

function mapMessage(task: Task, settings: OppoSettings): OppoPayload | Unsupported {
  const { message } = task
  if (message.type === 'cmd') return { unsupported: 'OPPO has no pass-through messages' }
  const texts = titleAndBody(message, task.applicationName)
  if (!texts?.title.trim() || !texts.body.trim())
    return { unsupported: 'OPPO needs a title and a content, but all texts are blank' }
  const click = clickOf(task, androidView(message, 'oppo').click)
  if (isUnsupported(click)) return click

  const common = {
    title: cutText(texts.title, card.texts.title),
    ...click,
    ...lifetime(task),
    notify_id: replaceNumber(task),
    ...classFields(task, settings),
    ...badgeOf(task, settings),
    ...receipts(task),
  }
  const base = { taskId: task.taskId, messageClass: task.messageClass, ...sourcesOf(task) }
  const plain = message.bigText ? longText(message.bigText) : textOf(texts.body, settings.contentLimit)
  const picture = pictureOf(task, settings)
  if (!picture) return { ...base, notification: { ...plain, ...common } }
  const content = cutText(texts.body, card.texts.pictureBody)
  return { ...base, notification: { style: 3, content, big_picture_url: picture, ...common }, plain }
}

/**
 * The style that shows most of the text: 2, where 1 would show its first 50 characters. Older contracts accept up to 200 in style
 * 1, which the app can still read.
 */
function textOf(text: string, contentLimit: 50 | 200): NonNullable<OppoPayload['plain']> {
  if (fits(text, maxShortText)) return { style: 1, content: text }
  return fits(text, card.texts.body) || contentLimit < card.texts.body
    ? longText(text)
    : { style: 1, content: cutText(text, contentLimit) }
}

function longText(text: string): NonNullable<OppoPayload['plain']> {
  return { style: 2, content: cutText(text, card.texts.bigText) }
}

function fits(text: string, max: number): boolean {
  return cutCodePoints(text, max) === text
}

/** The notification without the fields that OPPO refused; undefined if it has none of them. */
export function withoutAddOn(
  notification: OppoNotification,
  addOn: AddOn,
  plain: OppoPayload['plain'],
): OppoNotification | undefined {
  const { big_picture_url, notify_level, badge_operation_type, badge_message_count, ...rest } = notification
  const level = addOn === 'picture' ? withoutUndefined({ notify_level }) : {}
  const badge = addOn === 'add-ons' ? {} : withoutUndefined({ badge_operation_type, badge_message_count })
  const picture = addOn === 'level' ? withoutUndefined({ big_picture_url }) : plain
  const reduced = { ...rest, ...picture, ...level, ...badge }
  return Object.keys(reduced).length < Object.keys(notification).length ? reduced : undefined
}

/** The fields by which OPPO counts a message as marketing; only marketing has a daily limit. */
export function quotaScope({ notification }: OppoPayload): string {
  const { category, channel_id, private_msg_template_id } = notification
  const named = { category, channel: channel_id, template: private_msg_template_id }
  const parts = Object.entries(withoutUndefined(named)).map(([name, value]) => `${name} ${value}`)
  return parts.join(', ') || 'messages without a category'
}

function pictureOf({ message }: Task, settings: OppoSettings): string | undefined {
  const url = message.type === 'image' ? message.attachmentUrl : undefined
  return url && settings.pictureUrl && url.length <= maxPictureUrl ? url : undefined
}

function lifetime(task: Task): Pick<OppoNotification, 'off_line' | 'off_line_ttl'> {
  const seconds = timeLeft(task, { min: 0, max: tenDaysS })
  return seconds === 0 ? { off_line: false } : { off_line: true, off_line_ttl: seconds }
}

/** The category under which OPPO delivers the message. */
export function categoryOf(
  { message, messageClass }: ClassifiedTask,
  { classes }: OppoSettings,
): string | undefined {
  return message.oppo.category ?? classes[messageClass].category
}

/**
 * Categories and the class that OPPO counts them under. OPPO extends the list, and without a category the console's class of the
 * notification channel decides, which only OPPO knows: the class of the task counts then.
 */
const classOfCategory: Readonly<Record<string, MessageClass>> = {
  IM: 'service',
  ACCOUNT: 'service',
  DEVICE_REMINDER: 'service',
  ORDER: 'service',
  TODO: 'service',
  SUBSCRIPTION: 'service',
  NEWS: 'marketing',
  CONTENT: 'marketing',
  MARKETING: 'marketing',
  SOCIAL: 'marketing',
}

/** The class that OPPO counts the message under. */
export function countedClass(task: ClassifiedTask, settings: OppoSettings): MessageClass {
  const category = categoryOf(task, settings) ?? ''
  return Object.hasOwn(classOfCategory, category) ? classOfCategory[category]! : task.messageClass
}

/** The class fields of the message, otherwise those of the certificate for the class. */
function classFields(task: Task, settings: OppoSettings): Partial<OppoNotification> {
  const own = task.message.oppo
  const forClass = settings.classes[task.messageClass]
  const category = categoryOf(task, settings)
  // Level and template belong to a category, so those of the certificate do not apply to the message's own category.
  const ofCategory = own.category === undefined ? forClass : {}
  const level = own.notifyLevel ?? ofCategory.notifyLevel
  const templateId = own.privateMsgTemplateId ?? ofCategory.privateMsgTemplateId
  return withoutUndefined({
    channel_id: own.channelId ?? forClass.channelId ?? settings.channelId,
    category,
    notify_level: category === undefined ? undefined : level,
    private_msg_template_id: templateId,
    private_title_parameters: parameters(templateId, own.privateTitleParameters),
    private_content_parameters: parameters(templateId, own.privateContentParameters),
  })
}

function sourcesOf({ message }: Task): Pick<OppoPayload, 'classFrom' | 'addOnsFrom'> {
  const { category, notifyLevel, privateMsgTemplateId } = message.oppo
  return {
    classFrom: (category ?? notifyLevel ?? privateMsgTemplateId) ? 'message' : 'certificate',
    addOnsFrom: (notifyLevel ?? message.badgeNamed) ? 'message' : 'certificate',
  }
}

function parameters(templateId: string | undefined, text: string | undefined): unknown {
  return templateId === undefined || text === undefined ? undefined : asStrings(parseVerbatim(text) as object)
}

/**
 * Badges need a permission, so they are sent only if the message or the certificate asks for them. OPPO shows “99+” above 99 and
 * can add only one.
 */
function badgeOf(
  { message }: Task,
  settings: OppoSettings,
): Pick<OppoNotification, 'badge_operation_type' | 'badge_message_count'> {
  const { kind, count } = message.badge
  if (!settings.badge && !message.badgeNamed) return {}
  if (kind === 'set') return { badge_operation_type: 0, badge_message_count: count }
  return count > 0 ? { badge_operation_type: 1 } : {}
}

function receipts({ callbackUrl, taskId }: Task): Partial<OppoNotification> {
  // With a longer URL the whole push would fail; without it only the receipts are missing.
  if (!callbackUrl || callbackUrl.length > maxCallbackUrl) return {}
  return { call_back_url: callbackUrl, call_back_parameter: String(taskId) }
}
