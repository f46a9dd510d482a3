import type { StatCounts, Stats } from '@herald/client'
import { reportsArrival, shareOf } from './funnel.ts'

export const statKinds = ['target', 'sent', 'received', 'clicked', 'failed', 'unreachable'] as const
export const statRanges = ['24h', '7d', '30d'] as const
export type StatRange = (typeof statRanges)[number]

const HOUR = 3600
const DAY = 24 * HOUR
const SECONDS = { hour: HOUR, day: DAY }
const DAYS = { '7d': 7, '30d': 30 }

export type Asked = { from: number; to: number; by: 'day' | 'hour' }

/**
 * The periods of a range, the present one included. `now` in milliseconds. Days end at the reader's midnight; they have 24 hours, so
 * before a change of the clocks they begin and end an hour beside it.
 */
export function rangeOf(range: StatRange, now: number): Asked {
  if (range === '24h') {
    const to = (Math.floor(now / 1000 / HOUR) + 1) * HOUR
    return { from: to - DAY, to, by: 'hour' }
  }
  const midnight = new Date(now)
  midnight.setHours(24, 0, 0, 0)
  const to = midnight.getTime() / 1000
  return { from: to - DAYS[range] * DAY, to, by: 'day' }
}

/** A time within the period by which it is named, also if it begins an hour before midnight. */
export const middleOf = (at: number, by: Asked['by']) => (by === 'day' ? at + DAY / 2 : at)

const noCounts: StatCounts = { target: 0, sent: 0, failed: 0, received: 0, clicked: 0, unreachable: 0 }

/** One entry per period of the range: those without pushes may be left out of the response. */
export function fillPeriods({ from, to, by }: Asked, list: Stats['list']): Stats['list'] {
  const known = new Map(list.map((period) => [period.at, period]))
  const periods: Stats['list'] = []
  for (let at = from; at < to; at += SECONDS[by]) periods.push(known.get(at) ?? { at, ...noCounts })
  return periods
}

/** Received divided by sent over the channels that report; undefined if they sent nothing. */
export function receivedShareOf(channels: Stats['channels']): number | undefined {
  const reporting = channels.filter(({ channel }) => reportsArrival(channel))
  const sum = (kind: 'sent' | 'received') => reporting.reduce((all, counts) => all + counts[kind], 0)
  return shareOf(sum('received'), sum('sent'))
}
