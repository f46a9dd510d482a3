/** Totals as they stood at one moment; `at` in Unix seconds, with fractions. */
export type Sample = { at: number; sent: number; received: number; failed: number }
export type Rate = Sample

/** Five minutes at a reading every two seconds. */
export const KEPT_SECONDS = 300

/** Adds a reading and forgets what is too old. One that is not newer than the last says nothing new. */
export function addSample(samples: readonly Sample[], next: Sample): readonly Sample[] {
  const last = samples.at(-1)
  if (last && next.at <= last.at) return samples
  return [...samples.filter(({ at }) => at > next.at - KEPT_SECONDS), next]
}

/**
 * Devices per second between each two readings. The totals cover the last day, so what falls out of it can make them
 * shrink: that is no negative rate.
 */
export function ratesOf(samples: readonly Sample[]): Rate[] {
  return samples.slice(1).map((now, index) => {
    const before = samples[index]!
    const seconds = now.at - before.at
    const rate = (kind: 'sent' | 'received' | 'failed') =>
      Math.max(0, Math.round(((now[kind] - before[kind]) / seconds) * 10) / 10)
    return { at: now.at, sent: rate('sent'), received: rate('received'), failed: rate('failed') }
  })
}

export function isQuiet(rates: readonly Rate[]): boolean {
  return rates.every(({ sent, received, failed }) => sent === 0 && received === 0 && failed === 0)
}
