import { androidView } from '@herald/domain'
import type { Task } from '../channel.ts'
import { attachmentPlace } from '../shared/payload-parts.ts'
import { importanceIn, showsPictures } from './payload.ts'
import type { HonorSettings } from './settings.ts'

export function notes(task: Task, settings: HonorSettings): string[] {
  const { message } = task
  if (message.type === 'cmd') return []
  const { sound, channelId } = androidView(message, 'honor')
  const mayShow = showsPictures(importanceIn(task, settings))
  const rules: [applies: boolean, note: string][] = [
    [
      message.type === 'image' && !mayShow,
      'Honor shows no pictures in marketing messages: the address is sent in the data.',
    ],
    [
      message.type === 'image' && mayShow && attachmentPlace(message).inData !== undefined,
      'Honor shows pictures with an https address only; this one is sent in the data.',
    ],
    [
      sound !== undefined && sound !== 'default',
      'Honor has no custom sounds: the sound depends on the importance.',
    ],
    [channelId !== undefined, 'Honor has no notification channels: channel_id is not sent.'],
  ]
  return rules.flatMap(([applies, note]) => (applies ? [note] : []))
}
