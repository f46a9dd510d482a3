import { isUnsupported, type Task, type Unsupported } from '../channel.ts'
import { type ClassicBody, mapClassic } from './payload-classic.ts'
import { mapNext, type NextBody } from './payload-next.ts'
import type { HuaweiSettings } from './settings.ts'

/** The message in both versions of the interface, as far as the certificate opens them; tokens are filled in later. */
export type HuaweiPayload = { classic?: ClassicBody | Unsupported; next?: NextBody | Unsupported }

export function mapPayload(task: Task, settings: HuaweiSettings): HuaweiPayload | Unsupported {
  const payload: HuaweiPayload = {}
  if (settings.classic) payload.classic = mapClassic(task, settings)
  if (settings.next) payload.next = mapNext(task, settings)
  const bodies = Object.values(payload)
  return bodies.every(isUnsupported) ? bodies[0]! : payload
}
