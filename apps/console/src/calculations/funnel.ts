import { cardOf, publicChannelNames, publicName, vendorChannels } from '@herald/domain'

export type FunnelRow = {
  channel: string
  target: number
  sent: number
  received: number
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
  steps: FunnelStep[]
  /** Devices sent to through channels that report. The share of received devices is a share of these. */
  reportable: number
  /** Devices sent to through other channels, without a receipt: nobody knows whether the message arrived. */
  unreported: number
}

type Counters = Record<string, unknown>
/** The task's own counts, in which a device that moved to another channel counts once. */
export type Totals = { target: number; sent: number; received: number; clicked: number }

const silent = new Set(vendorChannels.filter((name) => !cardOf(name).reportsReceipts).map(publicName))
export const reportsArrival = (channel: string) => !silent.has(channel)

/** The channels with devices in the task, those with most targets first, and the steps of all together. */
export function funnelOf(counters: Counters | undefined, totals: Totals): Funnel {
  const count = (channel: string, kind: string) => Number(counters?.[`${channel}_${kind}`] ?? 0)
  const rows = publicChannelNames
    .map((channel) => ({
      channel,
      target: count(channel, 'target'),
      sent: count(channel, 'sent'),
      received: count(channel, 'received'),
      reports: reportsArrival(channel),
    }))
    .filter(({ target, sent, received }) => target + sent + received > 0)
    .sort((a, b) => b.target - a.target)
  const reporting = rows.filter(({ reports }) => reports)
  const reportable = sum(reporting, 'sent')
  return {
    rows,
    steps: [
      { kind: 'target', count: totals.target },
      { kind: 'sent', count: totals.sent, share: shareOf(totals.sent, totals.target) },
      {
        kind: 'received',
        count: totals.received,
        share: shareOf(sum(reporting, 'received'), reportable),
      },
      { kind: 'clicked', count: totals.clicked, share: shareOf(totals.clicked, totals.received) },
    ],
    reportable,
    unreported: rows
      .filter(({ reports }) => !reports)
      .reduce((all, { sent, received }) => all + Math.max(0, sent - received), 0),
  }
}

const sum = (rows: FunnelRow[], kind: 'sent' | 'received') => rows.reduce((all, row) => all + row[kind], 0)

/** 0 to 1: a receipt may be counted before its send. Undefined if nothing came before. */
export function shareOf(part: number, whole: number): number | undefined {
  return whole === 0 ? undefined : Math.min(1, part / whole)
}
