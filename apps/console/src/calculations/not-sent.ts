import type { FailureGroup } from '@herald/client'

/** Why devices were not sent to. `channels` has several names if the same reason is told once for all of them. */
export type NotSent = Omit<FailureGroup, 'channel'> & { channels: string[] }

const order = ['failed', 'expired', 'cancelled', 'moved']

/**
 * The groups of a task that did not end as sent, failures first, devices that were sent to through another channel last. Reasons that do not
 * depend on the channel, such as a cancelled task, are one line for all channels.
 */
export function notSentOf(groups: readonly FailureGroup[]): NotSent[] {
  const merged = new Map<string, NotSent>()
  for (const { channel, ...group } of groups) {
    if (!order.includes(group.fate)) continue
    const isShared = group.fate !== 'failed' && group.fate !== 'moved' && group.code?.startsWith('herald.')
    const key = `${group.fate} ${group.code ?? group.reason} ${isShared ? '' : channel}`
    const known = merged.get(key)
    if (known) {
      known.count += group.count
      known.channels.push(channel)
      known.samples = [...known.samples, ...group.samples]
    } else merged.set(key, { ...group, channels: [channel] })
  }
  return [...merged.values()].sort(
    (a, b) => order.indexOf(a.fate) - order.indexOf(b.fate) || b.count - a.count,
  )
}

export const waitsOf = (groups: readonly FailureGroup[]) =>
  groups.filter(({ fate }) => fate === 'waiting' || fate === 'held')
