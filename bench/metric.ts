/** One figure of a run; `note` names the conditions of the measurement. */
export type Metric = { value: number; unit: string; note: string }
export type Metrics = Record<string, Metric>

export function rounded(value: number): number {
  return value >= 100 ? Math.round(value) : Math.round(value * 100) / 100
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** CPU time of each process per item: shows which process limits a rate, even on a busy machine. */
export function cpuPerItem(before: Map<string, number>, after: Map<string, number>, count: number): string {
  const parts = [...after].map(
    ([name, seconds]) => `${name} ${rounded(((seconds - (before.get(name) ?? 0)) / count) * 1e6)}`,
  )
  return `CPU time per item (µs): ${parts.join(', ')}`
}
