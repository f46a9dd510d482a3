import type { ChannelCounters } from '@herald/client'
import { cardOf, publicName, vendorChannels } from '@herald/domain'

export type FunnelRow = ChannelCounters & {
  /** The channel itself tells what arrived. On others only the app does, if it does. */
  reports: boolean
}
export type FunnelStep = {
  kind: 'target' | 'sent' | 'received' | 'clicked'
  count: number
  /** Of the step before, 0 to 1; undefined if that is 0. */
  share?: number
}
export type Funnel = {
  rows: FunnelRow[]
  /** All channels together. A device that moved to another channel counts once: `target` is without those that moved. */
  total: Omit<ChannelCounters, 'channel'>
  steps: FunnelStep[]
  /** Devices sent to through channels that report. The share of received devices is a share of these. */
  reportable: number
  /** Devices sent to through other channels, without a receipt: nobody knows whether the message arrived. */
  unreported: number
}

const silent = new Set(vendorChannels.filter((name) => !cardOf(name).reportsReceipts).map(publicName))
export const reportsArrival = (channel: string) => !silent.has(channel)

/** The channels with devices in the task, those with most targets first, and the steps of all together. */
export function funnelOf(channels: readonly ChannelCounters[]): Funnel {
  const rows = channels
    .filter(({ target, sent, received }) => target + sent + received > 0)
    .map((counters) => ({ ...counters, reports: reportsArrival(counters.channel) }))
    .sort((a, b) => b.target - a.target)
  const sum = (kind: keyof Funnel['total'], of: readonly FunnelRow[] = rows) =>
    of.reduce((all, row) => all + row[kind], 0)
  const total = {
    target: sum('target') - sum('moved'),
    sent: sum('sent'),
    received: sum('received'),
    clicked: sum('clicked'),
    failed: sum('failed'),
    moved: sum('moved'),
    expired: sum('expired'),
    cancelled: sum('cancelled'),
    pending: sum('pending'),
  }
  const reporting = rows.filter(({ reports }) => reports)
  const reportable = sum('sent', reporting)
  return {
    rows,
    total,
    steps: [
      { kind: 'target', count: total.target },
      { kind: 'sent', count: total.sent, share: shareOf(total.sent, total.target) },
      { kind: 'received', count: total.received, share: shareOf(sum('received', reporting), reportable) },
      { kind: 'clicked', count: total.clicked, share: shareOf(total.clicked, total.received) },
    ],
    reportable,
    unreported: rows
      .filter(({ reports }) => !reports)
      .reduce((all, { sent, received }) => all + Math.max(0, sent - received), 0),
  }
}

/** 0 to 1: a receipt may be counted before its send. Undefined if nothing came before. */
export function shareOf(part: number, whole: number): number | undefined {
  return whole === 0 ? undefined : Math.min(1, part / whole)
}
