import type { TaskStatistics } from '@herald/client'
import { publicChannelNames } from '@herald/domain'

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
