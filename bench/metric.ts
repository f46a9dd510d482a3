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

/** CPU seconds of each process. */
export type CpuTime = ReadonlyMap<string, number>

/** CPU time of each process per item: shows which process limits a rate, even on a busy machine. */
export function cpuPerItem(before: CpuTime, after: CpuTime, count: number): string {
  const parts = [...after].map(
    ([name, seconds]) => `${name} ${rounded(microseconds(seconds - (before.get(name) ?? 0), count))}`,
  )
  return `CPU time per item (µs): ${parts.join(', ')}`
}

/** CPU time of all processes together per item, in µs. */
export function totalCpuPerItem(before: CpuTime, after: CpuTime, count: number): number {
  let seconds = 0
  for (const [name, spent] of after) seconds += spent - (before.get(name) ?? 0)
  return rounded(microseconds(seconds, count))
}

const microseconds = (seconds: number, count: number) => (seconds / count) * 1e6

/** What the figures of total CPU time include. */
export const cpuNote = 'all Herald processes, Postgres and Redis'
