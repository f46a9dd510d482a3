import { publicChannelNames } from '@herald/domain'

export type FunnelRow = { channel: string; target: number; sent: number; received: number }
export type Funnel = { rows: FunnelRow[]; total: FunnelRow }

type Counters = Record<string, unknown>

/** Returns the channels with devices in the task, those with most targets first, and their sum. */
export function funnelOf(counters: Counters | undefined): Funnel {
  const count = (channel: string, kind: string) => Number(counters?.[`${channel}_${kind}`] ?? 0)
  const rows = publicChannelNames
    .map((channel) => ({
      channel,
      target: count(channel, 'target'),
      sent: count(channel, 'sent'),
      received: count(channel, 'received'),
    }))
    .filter(({ target, sent, received }) => target + sent + received > 0)
    .sort((a, b) => b.target - a.target)
  const sum = (kind: 'target' | 'sent' | 'received') => rows.reduce((all, row) => all + row[kind], 0)
  return { rows, total: { channel: '', target: sum('target'), sent: sum('sent'), received: sum('received') } }
}

/** Received divided by sent, 0 to 1; undefined if nothing was sent. */
export function receivedShare({ sent, received }: FunnelRow): number | undefined {
  return sent === 0 ? undefined : Math.min(1, received / sent)
}
