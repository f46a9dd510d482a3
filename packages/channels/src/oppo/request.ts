import type { Recipient } from '../channel.ts'
import type { OppoNotification } from './payload.ts'

export const authPath = '/server/v1/auth'
export const unicastPath = '/server/v1/message/notification/unicast'
export const batchPath = '/server/v1/message/notification/unicast_batch'

/**
 * Writes the form body of a send, token and device filled in. A batch repeats one notification up to a thousand times inside
 * a form field, so its text is escaped for the form once and not once a device.
 */
export function openWriter(taskId: number, notification: OppoNotification) {
  const notificationText = encodeURIComponent(JSON.stringify(notification).slice(1))
  const before = encodeURIComponent('{"target_type":2,"target_value":')
  const between = encodeURIComponent(',"notification":{"app_message_id":')
  const comma = encodeURIComponent(',')
  const end = encodeURIComponent('}')
  /** The same for every attempt, so that OPPO itself drops what it has already pushed to the device. */
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
