import type { Recipient } from '../channel.ts'
import type { OppoNotification } from './notification.ts'

export const authPath = '/server/v1/auth'
export const unicastPath = '/server/v1/message/notification/unicast'
export const batchPath = '/server/v1/message/notification/unicast_batch'

/**
 * OPPO documents no limit in bytes, so its gateways decide. A thousand messages with long parameters would be 30 MB; common
 * gateways accept 1 MB. The form encoding is counted.
 */
export const maxBatchBytes = 1 << 20

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
    /** Bytes that a recipient adds to a batch. */
    bytesOf: (recipient: Recipient) => entry(recipient).length + comma.length,
  }
}

/** Divides `sizes` into runs with a sum of at most `max`, by their indexes. A larger one is alone. */
export function splitBySize(sizes: readonly number[], max: number): number[][] {
  const runs: number[][] = []
  let sum = 0
  for (const [index, size] of sizes.entries()) {
    if (runs.length === 0 || sum + size > max) {
      runs.push([])
      sum = 0
    }
    runs.at(-1)!.push(index)
    sum += size
  }
  return runs
}
