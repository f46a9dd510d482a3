import { androidView, type Badge, type Click, parseVerbatim, replaceKey, titleAndBody } from '@herald/domain'
import type { Task, Unsupported } from '../channel.ts'
import { asStrings, clampBadge, fittingData, timeLeft, withoutUndefined } from '../shared/payload-parts.ts'
import { cutCodePoints } from '../shared/texts.ts'
import type { OppoSettings } from './settings.ts'

/** The notification for all recipients; the transport adds target and app_message_id. */
export type OppoPayload = {
  taskId: number
  notification: OppoNotification
  /** The same without its picture, in case OPPO refuses the picture. */
  plain?: OppoNotification
  /** Where class and template come from: a refusal is an error of the message or of the certificate. */
  classFrom: 'message' | 'certificate'
}

/** https://open.oppomobile.com/new/developmentDoc/info?id=11236, without app_message_id. */
export type OppoNotification = {
  style: 1 | 2 | 3
  title: string
  content: string
  big_picture_url?: string
  click_action_type: 0 | 5
  click_action_url?: string
  action_parameters: string
  off_line: boolean
  off_line_ttl?: number
  notify_id: number
  channel_id?: string
  category?: string
  notify_level?: number
  private_msg_template_id?: string
  private_title_parameters?: unknown
  private_content_parameters?: unknown
  badge_operation_type?: 0 | 1
  badge_message_count?: number
  call_back_url?: string
  call_back_parameter?: string
}

/** In characters; an emoji counts as one. */
const maxTitle = 50
const maxLongText = 128
const maxPictureText = 50
const maxPictureUrl = 300
const maxClickUrl = 2000
const maxParameters = 4000
const maxCallbackUrl = 200
const tenDaysS = 864_000

export function mapPayload(task: Task, settings: OppoSettings): OppoPayload | Unsupported {
  const { message } = task
  if (message.type === 'cmd') return { unsupported: 'OPPO has no pass-through messages' }
  const texts = titleAndBody(message, task.applicationName)
  if (!texts?.title.trim() || !texts.body.trim())
    return { unsupported: 'OPPO needs a title and a content, but all texts are blank' }
  const { click } = androidView(message, 'oppo')
  if (click.kind === 'intent' && click.intent.length > maxClickUrl)
    return { unsupported: `OPPO accepts an intent of at most ${maxClickUrl} characters` }
  const parameters = fittingData(
    task,
    (data) => JSON.stringify(asStrings(data)),
    (text) => text.length <= maxParameters,
  )
  if (parameters === undefined)
    return { unsupported: `OPPO accepts at most ${maxParameters} characters of ext` }

  const common = {
    title: cutCodePoints(texts.title, maxTitle),
    ...clickOf(click),
    action_parameters: parameters,
    ...lifetime(task),
    notify_id: replaceKey(task.taskId),
    ...classFields(task, settings),
    ...badgeOf(message.badge),
    ...receipts(task),
  }
  const plain: OppoNotification = message.bigText
    ? { style: 2, content: cutCodePoints(message.bigText, maxLongText), ...common }
    : { style: 1, content: cutCodePoints(texts.body, settings.contentLimit), ...common }
  const picture = pictureOf(task, settings)
  const base = { taskId: task.taskId, classFrom: classSource(task) }
  if (!picture) return { ...base, notification: plain }
  const content = cutCodePoints(texts.body, maxPictureText)
  return { ...base, notification: { style: 3, content, big_picture_url: picture, ...common }, plain }
}

/** The fields by which OPPO counts a message as marketing; only marketing has a daily limit. */
export function quotaClass({ notification }: OppoPayload): string {
  const { category, channel_id, private_msg_template_id } = notification
  return JSON.stringify([category, channel_id, private_msg_template_id])
}

function pictureOf({ message }: Task, settings: OppoSettings): string | undefined {
  const url = message.type === 'image' ? message.attachmentUrl : undefined
  return url && settings.pictureUrl && url.length <= maxPictureUrl ? url : undefined
}

function clickOf(click: Click): Pick<OppoNotification, 'click_action_type' | 'click_action_url'> {
  return click.kind === 'intent'
    ? { click_action_type: 5, click_action_url: click.intent }
    : { click_action_type: 0 }
}

function lifetime(task: Task): Pick<OppoNotification, 'off_line' | 'off_line_ttl'> {
  const seconds = timeLeft(task, { min: 0, max: tenDaysS })
  return seconds === 0 ? { off_line: false } : { off_line: true, off_line_ttl: seconds }
}

/** The class fields of the message, otherwise those of the certificate for the class. */
function classFields({ message, messageClass }: Task, settings: OppoSettings): Partial<OppoNotification> {
  const own = message.oppo
  const forClass = settings.classes[messageClass]
  const category = own.category ?? forClass.category
  // A level belongs to a category, so the certificate's level does not apply to the message's own category.
  const level = own.notifyLevel ?? (own.category === undefined ? forClass.notifyLevel : undefined)
  const templateId = own.privateMsgTemplateId ?? forClass.privateMsgTemplateId
  return withoutUndefined({
    channel_id: own.channelId ?? forClass.channelId ?? settings.channelId,
    category,
    notify_level: category === undefined ? undefined : level,
    private_msg_template_id: templateId,
    private_title_parameters: parameters(templateId, own.privateTitleParameters),
    private_content_parameters: parameters(templateId, own.privateContentParameters),
  })
}

function classSource({ message }: Task): OppoPayload['classFrom'] {
  const { category, notifyLevel, privateMsgTemplateId } = message.oppo
  return (category ?? notifyLevel ?? privateMsgTemplateId) ? 'message' : 'certificate'
}

function parameters(templateId: string | undefined, text: string | undefined): unknown {
  return templateId === undefined || text === undefined ? undefined : asStrings(parseVerbatim(text) as object)
}

/** OPPO shows “99+” above 99. */
function badgeOf(wanted: Badge): Pick<OppoNotification, 'badge_operation_type' | 'badge_message_count'> {
  const badge = clampBadge(wanted)
  return badge ? { badge_operation_type: badge.kind === 'set' ? 0 : 1, badge_message_count: badge.count } : {}
}

function receipts({ callbackUrl, taskId }: Task): Partial<OppoNotification> {
  // With a longer URL the whole push would fail; without it only the receipts are missing.
  if (!callbackUrl || callbackUrl.length > maxCallbackUrl) return {}
  return { call_back_url: callbackUrl, call_back_parameter: String(taskId) }
}
