/** China has one time zone and no summer time, so its day is plain arithmetic. */
const shanghaiOffsetMs = 8 * 3_600_000
const dayMs = 86_400_000

/** Unix ms of the next 00:00 in Asia/Shanghai, where the Chinese vendors reset their daily quotas. */
export function nextShanghaiMidnight(nowMs: number): number {
  return nextShanghaiHour(nowMs, 0)
}

/** Unix ms of the next time that clocks in Asia/Shanghai show `hour`:00, for vendors with closed hours. */
export function nextShanghaiHour(nowMs: number, hour: number): number {
  const today = shanghaiDay(nowMs) * dayMs - shanghaiOffsetMs + hour * 3_600_000
  return today > nowMs ? today : today + dayMs
}

/** The number of the day in Asia/Shanghai, for counting by day. */
export function shanghaiDay(nowMs: number): number {
  return Math.floor((nowMs + shanghaiOffsetMs) / dayMs)
}

/** The date in Asia/Shanghai as yyyymmdd. */
export function shanghaiDate(nowMs: number): string {
  return new Date(nowMs + shanghaiOffsetMs).toISOString().slice(0, 10).replaceAll('-', '')
}

/** 0 to 23, as clocks in Asia/Shanghai show it. */
export function shanghaiHour(nowMs: number): number {
  return Math.floor(((nowMs + shanghaiOffsetMs) % dayMs) / 3_600_000)
}
