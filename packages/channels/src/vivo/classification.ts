import type { MessageClass } from '@herald/domain'
import type { Task } from '../channel.ts'
import { classificationOf, type VivoClass, type VivoSettings } from './settings.ts'

/**
 * Second-level classes and the classification each belongs to (https://dev.vivo.com.cn/documentCenter/doc/359). vivo extends
 * the list, so nothing is refused for standing outside it: it only tells what a category given alone will count as.
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

type Classed = Pick<Task, 'message' | 'messageClass'>

/**
 * The message's own classification or category, else the certificate's for its class. The two must agree or vivo refuses
 * them, and a category alone is enough: so they are taken from one place, never mixed from two.
 */
export function classFields({ message, messageClass }: Classed, settings: VivoSettings): VivoClass {
  const { classification, category } = message.vivo
  if (classification !== undefined || category !== undefined) return pick({ classification, category })
  const own = settings.classes[messageClass]
  if (own.category !== undefined) return pick(own)
  return { classification: classificationOf(settings, messageClass) }
}

/**
 * The class that vivo will count the message under; the task's own where both mean the same. Test sends pass at any hour,
 * as system messages do.
 */
export function countedClass(task: Classed, settings: VivoSettings): MessageClass {
  const counted = task.message.vivo.pushMode === 1 ? 1 : countedAs(classFields(task, settings))
  if (counted === undefined) return task.messageClass
  const named = counted === 1 ? 'service' : 'marketing'
  const classes = [task.messageClass, named, 'service', 'marketing'] as const
  return classes.find((name) => classificationOf(settings, name) === counted) ?? named
}

function countedAs({ classification, category }: VivoClass): 0 | 1 | undefined {
  return classification ?? (category === undefined ? undefined : categories[category])
}

function pick({ classification, category }: VivoClass): VivoClass {
  return {
    ...(classification === undefined ? {} : { classification }),
    ...(category === undefined ? {} : { category }),
  }
}
