import type { Message, MessageClass } from '@herald/domain'
import type { ClassifiedTask } from '../channel.ts'
import { classificationOf, type VivoClass, type VivoSettings } from './settings.ts'

/**
 * Categories (second-level classes) and their classification, https://dev.vivo.com.cn/documentCenter/doc/359. vivo extends the
 * list, so other categories are not refused.
 */
export const categories: Readonly<Record<string, 0 | 1>> = {
  IM: 1,
  ACCOUNT: 1,
  TODO: 1,
  DEVICE_REMINDER: 1,
  ORDER: 1,
  SUBSCRIPTION: 1,
  NEWS: 0,
  CONTENT: 0,
  MARKETING: 0,
  SOCIAL: 0,
}

/**
 * The classification and category of the message, otherwise those of the certificate for the class. vivo refuses values that
 * disagree, so both come from the same source. The classification of a known category is sent with it, because vivo's documents disagree
 * about the default.
 */
export function classFields({ message, messageClass }: ClassifiedTask, settings: VivoSettings): VivoClass {
  if (namesClass(message)) return pick(message.vivo)
  const own = settings.classes[messageClass]
  if (own.category !== undefined) return pick(own)
  return { classification: classificationOf(settings, messageClass) }
}

/** Whether the caller chose the class in vivo's own terms. */
export function namesClass({ vivo }: Pick<Message, 'vivo'>): boolean {
  return vivo.classification !== undefined || vivo.category !== undefined
}

/**
 * The class that vivo counts the message under, whatever the class of the task: operational messages are the marketing class. Test messages
 * are allowed at any hour, like system messages. For a category that is not in our list, the classification of the task's class counts.
 */
export function countedClass(task: ClassifiedTask, settings: VivoSettings): MessageClass {
  if (task.message.vivo.pushMode === 1) return 'service'
  const counted = countedAs(classFields(task, settings)) ?? classificationOf(settings, task.messageClass)
  return counted === 1 ? 'service' : 'marketing'
}

/** Undefined for a category that is not in our list. */
export function countedAs({ classification, category }: VivoClass): 0 | 1 | undefined {
  return classification ?? (category === undefined ? undefined : categories[category])
}

function pick({ category, ...own }: VivoClass): VivoClass {
  const classification = countedAs({ ...own, category })
  return {
    ...(classification === undefined ? {} : { classification }),
    ...(category === undefined ? {} : { category }),
  }
}
