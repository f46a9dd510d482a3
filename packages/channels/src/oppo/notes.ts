import { androidView } from '@herald/domain'
import { isUnsupported, type Task } from '../channel.ts'
import { leavingOutExt } from '../shared/too-large.ts'
import { clickOf } from './click.ts'
import { categoryOf } from './payload.ts'
import type { OppoSettings } from './settings.ts'

export function warnings({ classes }: OppoSettings): string[] {
  const found: string[] = []
  for (const name of ['service', 'marketing'] as const) {
    const { category, notifyLevel } = classes[name]
    if (!category)
      found.push(
        `extra.classes.${name}.category is not set: OPPO refuses ${name} messages without a category if the application enabled push after 20 November 2024.`,
      )
    if (notifyLevel === 16)
      found.push(
        `extra.classes.${name}.notify_level is 16, for which OPPO must have permitted strong reminders.`,
      )
  }
  return found
}

function urlNotes(task: Task): string[] {
  const { click } = androidView(task.message, 'oppo')
  if (click.kind !== 'url') return []
  const opened = leavingOutExt(clickOf)(task, click)
  if (isUnsupported(opened) || opened.click_action_type === 0)
    return ['OPPO has no room for the url: a tap opens the app, which gets it in its data.']
  return opened.click_action_type === 2 && task.message.ext !== undefined
    ? ['OPPO would append the data to the address of a web page, so ext is not sent.']
    : []
}

export function notes(task: Task, settings: OppoSettings): string[] {
  const { message, messageClass } = task
  const found: string[] = []
  if (androidView(message, 'oppo').sound)
    found.push('OPPO has no sound per message: the notification channel and the notify level decide.')
  if (message.type === 'image' && !settings.pictureUrl)
    found.push('The picture is not shown: extra.picture_url of the certificate is not true.')
  if (message.badgeNamed && message.badge.kind === 'add' && message.badge.count > 1)
    found.push('OPPO can add only 1 to a badge.')
  found.push(...urlNotes(task))
  if (!categoryOf(task, settings))
    found.push(
      `The message has no category (message.oppo.category or extra.classes.${messageClass}.category), which OPPO demands of newer applications.`,
    )
  return found
}
