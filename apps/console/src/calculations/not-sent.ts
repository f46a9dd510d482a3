import type { FailureGroup } from '@herald/client'
import { ownReasons } from '@herald/domain'

/** Why devices were not sent to, or wait. `channels` has several names if the same reason is told once for all of them. */
export type MergedGroup = Omit<FailureGroup, 'channel'> & { channels: string[] }

const order = ['failed', 'expired', 'cancelled', 'moved']

/**
 * The groups of a task that did not end as sent, failures first, devices that were sent to through another channel last. Reasons that do not
 * depend on the channel, such as a cancelled task, are one line for all channels.
 */
export function notSentOf(groups: readonly FailureGroup[]): MergedGroup[] {
  const isShared = ({ fate, code }: FailureGroup) =>
    fate !== 'failed' && fate !== 'moved' && (code ?? '').startsWith('herald.')
  return merge(
    groups.filter(({ fate }) => order.includes(fate)),
    isShared,
  ).sort((a, b) => order.indexOf(a.fate) - order.indexOf(b.fate) || b.count - a.count)
}

/** Reasons of the task, not of a channel. */
const ofTask: ReadonlySet<string> = new Set(
  [ownReasons.task_paused, ownReasons.speed_limited, ownReasons.waiting_for_turn, ownReasons.being_sent].map(
    ({ code }) => code,
  ),
)

/** Reasons that somebody may have to act on come first. */
export function waitsOf(groups: readonly FailureGroup[]): MergedGroup[] {
  const isOfTask = ({ code }: Pick<FailureGroup, 'code'>) => ofTask.has(code ?? '')
  return merge(
    groups.filter(({ fate }) => fate === 'waiting' || fate === 'held'),
    isOfTask,
  ).sort((a, b) => Number(isOfTask(a)) - Number(isOfTask(b)) || b.count - a.count)
}

/** Groups with the same fate and code are one if they are of one channel, or if their reason does not depend on it. */
function merge(groups: readonly FailureGroup[], isShared: (group: FailureGroup) => boolean): MergedGroup[] {
  const merged = new Map<string, MergedGroup>()
  for (const group of groups) {
    const { channel, ...rest } = group
    const key = `${group.fate} ${group.code ?? group.reason} ${isShared(group) ? '' : channel}`
    const known = merged.get(key)
    if (known) {
      known.count += group.count
      known.channels.push(channel)
      known.samples = [...known.samples, ...group.samples]
      known.since = earlier(known.since, group.since)
      known.next_attempt_at = earlier(known.next_attempt_at, group.next_attempt_at)
    } else merged.set(key, { ...rest, channels: [channel] })
  }
  return [...merged.values()]
}

const earlier = (a: number | null, b: number | null) => (a === null || b === null ? (a ?? b) : Math.min(a, b))
