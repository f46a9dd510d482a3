import type { Recipient } from '../channel.ts'
import type { OppoNotification } from './payload.ts'

export const authPath = '/server/v1/auth'
export const unicastPath = '/server/v1/message/notification/unicast'
export const batchPath = '/server/v1/message/notification/unicast_batch'

/**
 * Writes the form body of a send. A batch repeats the notification up to a thousand times in one form field, so it is encoded once
 * and not once per device.
 */
export function openWriter(taskId: number, notification: OppoNotification) {
  const notificationText = encodeURIComponent(JSON.stringify(notification).slice(1))
  const before = encodeURIComponent('{"target_type":2,"target_value":')
  const between = encodeURIComponent(',"notification":{"app_message_id":')
  const comma = encodeURIComponent(',')
  const end = encodeURIComponent('}')
  /** app_message_id is the same for every attempt, so that OPPO drops a message that the device already got. */
  const entry = ({ token, deviceId }: Recipient) =>
    before +
    encodeURIComponent(JSON.stringify(token)) +
    between +
    encodeURIComponent(`"${taskId}-${deviceId}"`) +
    comma +
    notificationText +
    end
  return {
    unicast: (recipient: Recipient) => `message=${entry(recipient)}`,
    batch: (recipients: readonly Recipient[]) =>
      `messages=${encodeURIComponent('[')}${recipients.map(entry).join(comma)}${encodeURIComponent(']')}`,
  }
}
