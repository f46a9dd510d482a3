import type { Task, Unsupported } from '../channel.ts'
import { replaceNumber } from '../shared/replace-key.ts'
import type { HuaweiPayload } from './payload.ts'
import type { HuaweiSettings } from './settings.ts'

/** Huawei documents no such call for Android. */
const onlyHarmony: Unsupported = {
  unsupported: 'Huawei withdraws messages on HarmonyOS 5 and later only',
}

export function withdrawal(task: Task, settings: HuaweiSettings): HuaweiPayload | Unsupported {
  const { type, huawei } = task.message
  const pushType = huawei.harmonyPushType ?? 0
  if (type === 'cmd' || (pushType !== 0 && pushType !== 2))
    return { unsupported: 'Huawei withdraws notifications only, and this message is none' }
  if (!settings.account) return { unsupported: 'Huawei withdraws messages with a service account only' }
  if (!settings.clientId)
    return {
      unsupported: 'Huawei withdraws messages by the client id (app_id), which the certificate does not have',
    }
  return { v2: onlyHarmony, revoke: { pushType, notifyId: replaceNumber(task) } }
}
