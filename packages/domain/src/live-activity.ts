import type { Message } from './message.ts'
import type { Audience } from './task.ts'

/** The tokens that a message with `ios.live_activity` is sent to. */
export type ActivityTokens = {
  /** `activity`: those of the activities `names`. `start`: those that start activities of the types `names`. */
  kind: 'activity' | 'start'
  names: readonly string[]
}

/** Undefined for messages that are sent to the devices themselves. */
export function activityTokensOf({
  audience,
  message,
}: {
  audience: Audience
  message: Message
}): ActivityTokens | undefined {
  const { liveActivity } = message.ios
  if (!liveActivity) return undefined
  if (liveActivity.event === 'start') return { kind: 'start', names: [liveActivity.attributes_type ?? ''] }
  return { kind: 'activity', names: audience.kind === 'activity' ? audience.activities : [] }
}

/** The place of an update in the order of the updates of an activity: Unix ms. `beginAt` is that of its task. */
export function activityTime(message: Message, beginAt: number): number {
  const { timestamp } = message.ios.liveActivity ?? {}
  return timestamp === undefined ? beginAt : timestamp * 1000
}

/** Whether the message changes the badge of an iOS device: only alerts have one. */
export function changesBadge({ type, ios }: Message): boolean {
  return type !== 'cmd' && ios.liveActivity === undefined && (ios.pushType ?? 'alert') === 'alert'
}
