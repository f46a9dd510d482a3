import { androidView } from '@herald/domain'
import type { Task } from '../channel.ts'
import { classFields, countedAs, namesClass } from './classification.ts'
import { canOpen } from './payload.ts'
import type { VivoSettings } from './settings.ts'

export function warnings(settings: VivoSettings): string[] {
  const found: string[] = []
  if (!settings.callbackId)
    found.push('extra.callback_id is not set: pushes to more than 4 devices have no receipts.')
  if (countedAs(settings.classes.service) !== 0 && !settings.classes.service.category)
    found.push(
      'extra.classes.service.category is not set: vivo then classifies system messages by their content and may treat them as operational.',
    )
  return found
}

export function notes(task: Task, settings: VivoSettings): string[] {
  const { message } = task
  const { badge, badgeNamed } = message
  const found: string[] = []
  if (badgeNamed && badge.kind === 'set')
    found.push('vivo cannot set a badge to a number; it is not changed.')
  if (badgeNamed && badge.kind === 'add' && badge.count > 1) found.push('vivo can add only 1 to a badge.')
  if (message.bigText && message.body) found.push('vivo shows body; big_text is not sent.')
  const sound = androidView(message, 'vivo').sound
  if (sound && !/^(default|none|silent)$/i.test(sound.trim()))
    found.push('vivo has no named sounds; the default sound is used.')
  const { click } = androidView(message, 'vivo')
  if (click.kind === 'url' && !canOpen(click.url))
    found.push(
      'The url is too long for vivo: a tap opens the app, which gets it in its data if it fits there.',
    )
  if (namesClass(message) && countedAs(classFields(task, settings)) === 1)
    found.push('The message asks for a system message, which vivo must have permitted to the application.')
  return found
}
