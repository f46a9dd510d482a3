import { androidView } from '@herald/domain'
import type { Task } from '../channel.ts'
import { canOpen } from './payload.ts'
import type { MeizuSettings } from './settings.ts'

export function notes({ message }: Task, { vip }: MeizuSettings): string[] {
  const found: string[] = []
  if (message.type === 'image' && !vip)
    found.push('The picture is not shown: extra.vip of the certificate is not true.')
  if (message.type === 'image' && vip && message.bigText)
    found.push('Meizu shows the picture in place of big_text.')
  if (message.badgeNamed) found.push('Meizu has no badge field.')
  const sound = androidView(message, 'flyme').sound
  if (sound && !/^(default|none|silent)$/i.test(sound.trim()))
    found.push('Meizu has no named sounds; the default sound is used.')
  const { click } = androidView(message, 'flyme')
  if (click.kind === 'url' && !canOpen(click.url))
    found.push('The url is too long for Meizu: a tap opens the app, which gets it in its data.')
  return found
}
