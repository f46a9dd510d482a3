const firstMs = 1_000
const mostMs = 60_000

/**
 * Wait before the next attempt after so many failures in a row: 1 s doubling to 60 s, less up to half of it by chance, so
 * that processes which lost the same server do not come back together. `chance` is from 0 to 1.
 */
export function backoffMs(failures: number, chance: number): number {
  if (failures <= 0) return 0
  const full = Math.min(mostMs, firstMs * 2 ** Math.min(failures - 1, 10))
  return full * (1 - chance / 2)
}
