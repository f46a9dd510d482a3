export type Expiry = { kind: 'never' } | { kind: 'expired' | 'soon' | 'fine'; days: number }

/** The same limit as for the API's warnings. */
const SOON_DAYS = 30

/** Both times are in Unix seconds. */
export function expiryOf(expiresAt: number | null, now: number): Expiry {
  if (expiresAt === null) return { kind: 'never' }
  const days = Math.floor((expiresAt - now) / 86_400)
  if (expiresAt <= now) return { kind: 'expired', days }
  return { kind: days < SOON_DAYS ? 'soon' : 'fine', days }
}

/** Days by the calendar of the reader: 1 is tomorrow. Both times are in Unix seconds. */
export function daysUntil(at: number, now: number): number {
  const midnight = (seconds: number) => new Date(seconds * 1000).setHours(0, 0, 0, 0)
  // A day on which the clocks change is longer or shorter.
  return Math.round((midnight(at) - midnight(now)) / 86_400_000)
}
