import type { Channel } from '@herald/domain'

/** Only the functions of this file make queue names. */
export type QueueName = string & { readonly kind: 'queue name' }

// BullMQ forbids ':', and a brace would break the hash tag that keeps a queue in one slot of a Redis Cluster.
const nodeShape = /^[A-Za-z0-9._-]{1,64}$/

/** The queue of a vendor channel. */
export function pushQueue(channel: Exclude<Channel, 'native'>): QueueName {
  return `push-${channel}` as QueueName
}

/** The queue of one gateway node: only the node that has a device's socket can deliver to it. */
export function nativeQueue(node: string): QueueName {
  if (!nodeShape.test(node)) {
    throw new RangeError(
      `the node id ${JSON.stringify(node)} must have 1 to 64 letters, digits, dots, dashes or underscores`,
    )
  }
  return `push-native-${node}` as QueueName
}
