import { androidView } from '@herald/domain'
import type { Task } from '../channel.ts'
import type { XiaomiSettings } from './settings.ts'

export function warnings({ bigPicture, channelId, classes }: XiaomiSettings): string[] {
  const found: string[] = []
  for (const name of ['service', 'marketing'] as const)
    if (!(classes[name].channelId ?? channelId))
      found.push(
        `No channel is set for ${name} messages (extra.channel_id or extra.classes.${name}.channel_id): without one Xiaomi delivers one silent message per device and day.`,
      )
  if (classes.service.channelId && !classes.service.templateId)
    found.push(
      'extra.classes.service.template_id is not set: Xiaomi requires a template for private channels of new applications, and of all applications from 2027 on.',
    )
  if (bigPicture)
    found.push('extra.big_picture has no effect: Xiaomi has shown no large pictures since August 2023.')
  return found
}

export function notes({ message }: Task, { bigText }: XiaomiSettings): string[] {
  const found: string[] = []
  if (message.badgeNamed) found.push('Xiaomi has no badge field; the launcher counts notifications.')
  if (message.bigText && message.body && !bigText)
    found.push('Xiaomi shows body: big_text is sent only if extra.big_text of the certificate is true.')
  if (androidView(message, 'xiaomi').sound)
    found.push('On Android 8 and later the notification channel decides on the sound.')
  return found
}
