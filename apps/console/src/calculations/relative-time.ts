const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const

export type RelativeTime = { value: number; unit: (typeof units)[number][0] }

/** Clocks differ, and shown times are renewed only every ten seconds: a time this little ahead is now. */
const SLACK_SECONDS = 10
/** Older and later times are shown as a date. */
const MAX_DAYS = 7

/** The distance from `now`, negative in the past; undefined beyond a week. Both in Unix seconds. */
export function relativeTime(at: number, now: number): RelativeTime | undefined {
  const ahead = Math.round(at - now)
  const distance = ahead > 0 && ahead <= SLACK_SECONDS ? 0 : ahead
  const size = Math.abs(distance)
  if (size >= MAX_DAYS * 86_400) return undefined
  const [unit, seconds] = units.find(([, length]) => size >= length) ?? (['second', 1] as const)
  return { unit, value: Math.trunc(distance / seconds) }
}
