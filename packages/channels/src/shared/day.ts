/** China has one time zone and no summer time, so its day is plain arithmetic. */
const shanghaiOffsetMs = 8 * 3_600_000
const dayMs = 86_400_000

/** Unix ms of the next 00:00 in Asia/Shanghai, where the Chinese vendors reset their daily quotas. */
export function nextShanghaiMidnight(nowMs: number): number {
  return Math.floor((nowMs + shanghaiOffsetMs) / dayMs) * dayMs + dayMs - shanghaiOffsetMs
}
