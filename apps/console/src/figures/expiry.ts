export type Expiry = { kind: 'never' } | { kind: 'expired' | 'soon' | 'fine'; days: number }

/** As early as the API begins to warn. */
const SOON_DAYS = 30

/** How near the end of a certificate is; both times in Unix seconds. */
export function expiryOf(expiresAt: number | null, now: number): Expiry {
  if (expiresAt === null) return { kind: 'never' }
  const days = Math.floor((expiresAt - now) / 86_400)
  if (expiresAt <= now) return { kind: 'expired', days }
  return { kind: days < SOON_DAYS ? 'soon' : 'fine', days }
}
