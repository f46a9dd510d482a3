const firstMs = 1_000
const maxMs = 60_000

/**
 * Wait before the next attempt after `failures` consecutive failures: 1 s doubling to 60 s, minus up to half of it at random,
 * so that processes that lost the same server do not reconnect together. `random` is from 0 to 1.
 */
export function backoffMs(failures: number, random: number): number {
  if (failures <= 0) return 0
  const full = Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 10))
  return full * (1 - random / 2)
}
