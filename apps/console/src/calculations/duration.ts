export type DurationPart = { unit: 'd' | 'h' | 'm' | 's'; n: number }

const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
  ['s', 1],
] as const

/** Returns the two largest units of a duration, rounded up to a second; empty for 0 seconds. */
export function splitDuration(seconds: number): DurationPart[] {
  let rest = Math.ceil(Math.max(0, seconds))
  const parts: DurationPart[] = []
  for (const [unit, size] of UNITS) {
    const n = Math.floor(rest / size)
    rest -= n * size
    if (n > 0) parts.push({ unit, n })
    else if (parts.length > 0) break
  }
  return parts.slice(0, 2)
}
