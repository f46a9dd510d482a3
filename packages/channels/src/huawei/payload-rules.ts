import type { Message, MessageClass } from '@herald/domain'
import type { ClassifiedTask, Unsupported } from '../channel.ts'
import { type AttachmentPlace, attachmentPlace } from '../shared/payload-parts.ts'
import type { HuaweiSettings } from './settings.ts'

/** Maximum bytes of a request without its tokens, in all versions. */
export const maxBytes = 4096
/** Huawei documents no minimum; one second is the closest valid value to "only if the device is online". */
export const ttlBounds = { min: 1, max: 15 * 86_400 }

export const noText: Unsupported = { unsupported: 'Huawei needs a title or a body' }
export const tooLarge: Unsupported = {
  unsupported: `the message exceeds Huawei's limit of ${maxBytes} bytes`,
  tooLarge: true,
}

/** Push types of v3: voice broadcast and call. */
export const voice = 2
export const call = 10

/** The name of a sound without its folder; undefined for the default sound. */
export function soundName(sound: string | undefined): string | undefined {
  const name = sound?.replace(/^\/?raw\//, '')
  return name && name !== 'default' ? name : undefined
}

/** Undefined: Huawei's default, which shows it. */
export function foregroundShow({ huawei, foreground }: Message): boolean | undefined {
  return huawei.foregroundShow ?? (foreground === undefined ? undefined : foreground === 'show')
}

/** Of messages without a notification. HIGH needs a permission, so it is sent only if the message asks for it. */
export function urgencyOf({ huawei, urgent }: Message): 'NORMAL' | 'HIGH' | undefined {
  return huawei.urgency ?? (urgent ? 'HIGH' : undefined)
}

/** Of notifications. Huawei refuses every notification with HIGH (80300011), so it is sent as NORMAL. */
export function importanceOf(
  { message, messageClass }: ClassifiedTask,
  { classes }: HuaweiSettings,
): 'LOW' | 'NORMAL' | undefined {
  const importance = message.huawei.importance ?? classes[messageClass].importance
  return importance === 'HIGH' ? 'NORMAL' : importance
}

/** The category under which Huawei delivers the message. Undefined: Huawei treats it as marketing. */
export function categoryOf(
  { message, messageClass }: ClassifiedTask,
  { classes }: HuaweiSettings,
): string | undefined {
  return message.huawei.category ?? classes[messageClass].category
}

/**
 * Where the picture's address is sent; the first that fits. Huawei shows the text of marketing messages only, and treats those without a
 * category as such: their data has the address too.
 */
export function picturePlaces(message: Message, category: string | undefined): AttachmentPlace[] {
  const place = attachmentPlace(message)
  return category === undefined || category === marketingCategory
    ? [{ ...place, inData: message.attachmentUrl }, place]
    : [place]
}

/** The category of messages that Huawei limits per device and day; in v3 also that of messages without one. */
export const marketingCategory = 'MARKETING'

/**
 * The class that Huawei counts the message under. Voice broadcasts and calls are not marketing, but have no category of the caller's.
 * Huawei extends its list of categories, so any other word is taken for one of the service class. Without a category the caller's word
 * is taken, although Huawei may treat a service message as marketing then: the warnings of the certificate say so.
 */
export function countedClass(task: ClassifiedTask, settings: HuaweiSettings): MessageClass {
  const { harmonyPushType } = task.message.huawei
  if (harmonyPushType === voice || harmonyPushType === call) return 'service'
  const category = categoryOf(task, settings)
  if (category === undefined) return task.messageClass
  return category === marketingCategory ? 'marketing' : 'service'
}
