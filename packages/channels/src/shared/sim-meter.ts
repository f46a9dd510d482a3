/** Counts what one application of a simulated vendor does, by second and by day in Asia/Shanghai. */
export type SimMeter = {
  /** Adds to this second and says whether the vendor's rate is exceeded; no rate = never. */
  isOverRate(perSecond: number | undefined, count?: number): boolean
  /** Messages of today so far. */
  today(): number
  add(count: number): void
  clear(): void
}

const shanghaiMs = 8 * 3_600_000
const dayMs = 86_400_000

export function openMeter(now: () => number = Date.now): SimMeter {
  let second = 0
  let inSecond = 0
  let day = 0
  let inDay = 0
  const turnDay = () => {
    const current = Math.floor((now() + shanghaiMs) / dayMs)
    if (current !== day) {
      day = current
      inDay = 0
    }
  }
  return {
    isOverRate(perSecond, count = 1) {
      const current = Math.floor(now() / 1000)
      if (current !== second) {
        second = current
        inSecond = 0
      }
      inSecond += count
      return perSecond !== undefined && inSecond > perSecond
    },
    today() {
      turnDay()
      return inDay
    },
    add(count) {
      turnDay()
      inDay += count
    },
    clear() {
      inSecond = 0
      inDay = 0
    },
  }
}
