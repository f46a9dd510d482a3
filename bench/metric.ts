/** One figure of a run; `note` says under which conditions it was taken. */
export type Metric = { value: number; unit: string; note: string }
export type Metrics = Record<string, Metric>

export function rounded(value: number): number {
  return value >= 100 ? Math.round(value) : Math.round(value * 100) / 100
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** What each process spent on one of `count` things, in words: shows what bounds a rate, whatever else the machine does. */
export function costOfEach(before: Map<string, number>, after: Map<string, number>, count: number): string {
  const parts = [...after].map(
    ([name, seconds]) => `${name} ${rounded(((seconds - (before.get(name) ?? 0)) / count) * 1e6)}`,
  )
  return `CPU time per item (µs): ${parts.join(', ')}`
}
