import { androidView } from '@herald/domain'
import type { Task } from '../channel.ts'
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
  return found
}
