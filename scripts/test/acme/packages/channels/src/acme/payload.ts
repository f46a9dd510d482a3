import { androidView, titleAndBody } from '@herald/domain'
import type { Task, Unsupported } from '../channel.ts'
import { clientData, timeLeft } from '../shared/payload-parts.ts'
import type { AcmeSettings } from './settings.ts'

export type AcmePayload = Record<string, unknown>

export function mapPayload(task: Task, settings: AcmeSettings): AcmePayload | Unsupported {
  if (task.message.type === 'cmd') return { unsupported: 'Acme has no pass-through messages' }
  const texts = titleAndBody(task.message, task.applicationName)
  if (!texts) return { unsupported: 'Acme needs a text' }
  const { acme } = task.message
  return {
    ...texts,
    fuse: acme.fuse ?? settings.fuse,
    sound: androidView(task.message, 'acme').sound,
    seconds: timeLeft(task, { min: 60, max: 86_400 }),
    data: clientData(task),
  }
}
