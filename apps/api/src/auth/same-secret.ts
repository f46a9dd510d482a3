import { createHash, timingSafeEqual } from 'node:crypto'

/** Hashed first, so that neither the length nor a common beginning shows in the time. */
export function isSameSecret(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}
