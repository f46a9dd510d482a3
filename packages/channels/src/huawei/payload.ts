import { isUnsupported, type Task, type Unsupported } from '../channel.ts'
import { mapV2, type V2Body } from './payload-v2.ts'
import { mapV3, type V3Body } from './payload-v3.ts'
import type { HuaweiSettings } from './settings.ts'

/**
 * Request of messages:revoke without the tokens. It takes away what was not delivered yet, or is shown and was not tapped; the badge stays.
 * https://developer.huawei.com/consumer/cn/doc/harmonyos-guides/push-msg-revoke
 */
export type RevokeBody = { pushType: 0 | 2; notifyId: number }

/** The message for the API versions that the certificate can use; the transport adds the tokens. */
export type HuaweiPayload = {
  v2: V2Body | Unsupported
  v3?: V3Body | Unsupported
  /** Takes a message away; devices of v3 get this instead of `v3`. */
  revoke?: RevokeBody
}

export function mapPayload(task: Task, settings: HuaweiSettings): HuaweiPayload | Unsupported {
  const payload: HuaweiPayload = { v2: mapV2(task, settings) }
  if (settings.account) payload.v3 = mapV3(task, settings)
  const { v2, v3 = v2 } = payload
  return isUnsupported(v2) && isUnsupported(v3) ? v2 : payload
}
