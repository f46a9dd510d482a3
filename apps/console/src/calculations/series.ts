/** Devices by period of `step` seconds. */
type Series = {
  from: number
  step: number
  channels: readonly { channel: string; sent: readonly number[]; failed: readonly number[] }[]
}

export const seriesRanges = ['5m', '1h', '24h'] as const
export type SeriesRange = (typeof seriesRanges)[number]
export type SeriesPoint = { at: number; sent: number; failed: number }

/** Devices by period, of one channel or of all. `at` is the begin of the period. */
export function pointsOf({ from, step, channels }: Series, channel = ''): SeriesPoint[] {
  const chosen = channels.filter((one) => channel === '' || one.channel === channel)
  const periods = chosen[0]?.sent.length ?? 0
  return Array.from({ length: periods }, (_, i) => ({
    at: from + i * step,
    sent: chosen.reduce((sum, one) => sum + (one.sent[i] ?? 0), 0),
    failed: chosen.reduce((sum, one) => sum + (one.failed[i] ?? 0), 0),
  }))
}
