import type { FailureGroup, TaskStatistics } from '@herald/client'
import { publicChannelNames, publicName } from '@herald/domain'

export type ChannelCounters = { channel: string; target: number; sent: number; received: number }

/** The channels that have targets. */
export function channelsOf(statistics: TaskStatistics): ChannelCounters[] {
  const record = statistics as unknown as Record<string, number>
  return publicChannelNames
    .map((channel) => ({
      channel,
      target: record[`${channel}_target`] ?? 0,
      sent: record[`${channel}_sent`] ?? 0,
      received: record[`${channel}_received`] ?? 0,
    }))
    .filter(({ target }) => target > 0)
}

/** Whether every vendor target was sent or failed with a recorded reason, so that only inboxes are left. Pure. */
export function vendorsAreDone(channels: ChannelCounters[], failures: FailureGroup[]): boolean {
  return channels
    .filter(({ channel }) => channel !== publicName('native'))
    .every(({ channel, target, sent }) => {
      const ended = failures.filter((group) => group.channel === channel)
      return target <= sent + ended.reduce((sum, group) => sum + group.count, 0)
    })
}
