import { type Message, sharedClick } from '@herald/domain'
import type { Task, Unsupported } from '../channel.ts'
import { alertAps, collapseHeader, cutOrder, type IosTexts, iosTexts } from '../shared/ios-alert.ts'
import { bigTextOfCommand, httpsPicture, timeLeft } from '../shared/payload-parts.ts'
import { replaceText } from '../shared/replace-key.ts'
import { fitTexts } from '../shared/texts.ts'
import { leavingOutExt } from '../shared/too-large.ts'
import { appData } from './app-data.ts'

/** What FCM passes on to Apple. Headers are texts. https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages#ApnsConfig */
export type FcmApns = {
  headers: Record<string, string>
  payload: { aps: object }
  fcm_options?: { image: string }
}

type IosMessage = { data: Record<string, string>; apns: FcmApns }

const maxTtl = 28 * 86_400
/** Apple's limit for the payload, to which FCM adds the data and keys of its own. */
const maxBytes = 4000

/** The message for iPhones that are registered with FCM: Apple's payload, made from the fields of `ios`. */
export const mapIos = leavingOutExt(mapIosMessage)

function mapIosMessage(task: Task, _settings: undefined): IosMessage | Unsupported {
  const { message } = task
  const unsupported = unsupportedType(message)
  if (unsupported) return { unsupported }
  const pushType = pushTypeOf(message)
  const isAlert = pushType === 'alert'
  const texts = iosTexts(message, task.applicationName, isAlert)
  const hasKey = message.ios.titleLocKey !== undefined || message.ios.locKey !== undefined
  if (isAlert && !texts.title && !texts.body && !texts.subtitle && !hasKey)
    return { unsupported: 'FCM needs a title or a body' }
  const write = (candidate: IosTexts, attached: boolean) => writeIos(task, candidate, isAlert, attached)
  // All of a command is data, of which nothing is cut.
  const isCommand = message.type === 'cmd'
  const attached = isCommand || sizeOf(write(texts, true)) <= maxBytes
  const size = (candidate: IosTexts) => sizeOf(write(candidate, attached))
  const fitted = fitTexts(texts, isCommand ? [] : cutOrder, size, maxBytes)
  if (!fitted)
    return {
      unsupported: `the message for iPhones exceeds the limit of ${maxBytes} bytes`,
      ...(isAlert && { tooLarge: true as const }),
    }
  return write(fitted, attached)
}

/** Why FCM has no payload of this type for iPhones; Android devices get the message. */
export function unsupportedType(message: Message): string | undefined {
  const pushType = pushTypeOf(message)
  return pushType === 'alert' || pushType === 'background'
    ? undefined
    : `FCM sends no pushes of the type ${pushType} to iPhones`
}

function pushTypeOf({ type, ios }: Message): string {
  return ios.pushType ?? (ios.liveActivity ? 'liveactivity' : type === 'cmd' ? 'background' : 'alert')
}

function writeIos(task: Task, texts: IosTexts, isAlert: boolean, attached: boolean): IosMessage {
  const { message } = task
  const attachmentUrl = attached ? message.attachmentUrl : undefined
  const picture = isAlert && attached ? httpsPicture(message) : undefined
  const data = appData(task)
  const click = sharedClick(message)
  if (click.kind === 'url') data.url = click.url
  if (attachmentUrl !== undefined && picture === undefined) data.attachment_url = attachmentUrl
  const bigText = bigTextOfCommand(message)
  if (!isAlert)
    Object.assign(data, message.type === 'cmd' && { type: 'cmd' }, {
      ...(texts.title && { title: texts.title }),
      ...(texts.body && { body: texts.body }),
      ...(bigText && { big_text: bigText }),
    })
  return {
    data,
    apns: {
      headers: headersOf(task, isAlert),
      payload: { aps: isAlert ? apsOf(message, texts, attachmentUrl) : { 'content-available': 1 } },
      fcm_options: picture === undefined ? undefined : { image: picture },
    },
  }
}

function apsOf(message: Message, texts: IosTexts, attachmentUrl: string | undefined): object {
  const aps = alertAps(message, texts, attachmentUrl)
  // Herald keeps no count for the tokens of FCM, so it cannot add.
  return message.badge.kind === 'set' ? { ...aps, badge: message.badge.count } : aps
}

function headersOf(task: Task, isAlert: boolean): Record<string, string> {
  const { message, now } = task
  const seconds = timeLeft(task, { min: 0, max: maxTtl })
  return {
    'apns-push-type': isAlert ? 'alert' : 'background',
    // Apple refuses any other priority for a background push.
    'apns-priority': String(isAlert ? (message.ios.priority ?? 10) : 5),
    'apns-expiration': seconds > 0 ? String(now + seconds) : '0',
    'apns-collapse-id': collapseHeader(message.ios.apnsCollapseId ?? replaceText(task)),
  }
}

/** FCM adds the data beside `aps`. */
function sizeOf({ data, apns }: IosMessage): number {
  return Buffer.byteLength(JSON.stringify({ ...data, ...apns.payload, image: apns.fcm_options?.image }))
}
