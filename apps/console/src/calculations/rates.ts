/** Totals at one time; `at` in Unix seconds, with fractions. */
export type Sample = { at: number; sent: number; received: number; failed: number }
export type Rate = Sample

/** Samples older than this are removed. */
export const WINDOW_SECONDS = 300

/** Adds a sample and removes old ones. A sample that is not newer than the last one is ignored. */
export function addSample(samples: readonly Sample[], next: Sample): readonly Sample[] {
  const last = samples.at(-1)
  if (last && next.at <= last.at) return samples
  return [...samples.filter(({ at }) => at > next.at - WINDOW_SECONDS), next]
}

/** Devices per second between two samples. The totals cover the last 24 hours and may decrease; the rate is then 0. */
export function ratesOf(samples: readonly Sample[]): Rate[] {
  return samples.slice(1).map((now, index) => {
    const before = samples[index]!
    const seconds = now.at - before.at
    const rate = (kind: 'sent' | 'received' | 'failed') =>
      Math.max(0, Math.round(((now[kind] - before[kind]) / seconds) * 10) / 10)
    return { at: now.at, sent: rate('sent'), received: rate('received'), failed: rate('failed') }
  })
}

export function isIdle(rates: readonly Rate[]): boolean {
  return rates.every(({ sent, received, failed }) => sent === 0 && received === 0 && failed === 0)
}
