import { isUnsupported, type Task, type Unsupported } from '../channel.ts'
import { mapV2, type V2Body } from './payload-v2.ts'
import { mapV3, type V3Body } from './payload-v3.ts'
import type { HuaweiSettings } from './settings.ts'

/** The message for the API versions that the certificate can use; the transport adds the tokens. */
export type HuaweiPayload = { v2: V2Body | Unsupported; v3?: V3Body | Unsupported }

export function mapPayload(task: Task, settings: HuaweiSettings): HuaweiPayload | Unsupported {
  const payload: HuaweiPayload = { v2: mapV2(task, settings) }
  if (settings.account) payload.v3 = mapV3(task, settings)
  const bodies = Object.values(payload)
  return bodies.every(isUnsupported) ? bodies[0]! : payload
}
