import type { Channel, Lane } from '@herald/domain'

/** Only the functions of this file make queue names. */
export type QueueName = string & { readonly kind: 'queue name' }

// BullMQ forbids ':', and a brace would break the hash tag that keeps a queue in one slot of a Redis Cluster.
const nodeShape = /^[A-Za-z0-9._-]{1,64}$/

/**
 * The queue of a vendor channel and lane. Each lane has its own queue, because BullMQ takes every job of a higher priority first:
 * in one queue a stream of single pushes would stop all broadcasts. The high lane keeps the name that the only queue had.
 */
export function pushQueue(channel: Exclude<Channel, 'native'>, lane: Lane = 'high'): QueueName {
  return (lane === 'high' ? `push-${channel}` : `push-${channel}-normal`) as QueueName
}

/** The queues of all lanes of a vendor channel. */
export function pushQueues(channel: Exclude<Channel, 'native'>): QueueName[] {
  return [pushQueue(channel, 'high'), pushQueue(channel, 'normal')]
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
