import type { TokenBuckets } from '@herald/async'

/** Receipts that a device may send: a call has at most 500, and a device that was offline for long sends several. */
export const receiptLimit = { perSecond: 500, burst: 5000 }

/** Takes `count` tokens and returns 0, or takes none and returns the seconds to wait. */
export function takeAll(buckets: TokenBuckets, key: string, count: number): number {
  for (let taken = 0; taken < count; taken++) {
    const wait = buckets.take(key)
    if (wait === 0) continue
    for (; taken > 0; taken--) buckets.giveBack(key)
    return wait
  }
  return 0
}
