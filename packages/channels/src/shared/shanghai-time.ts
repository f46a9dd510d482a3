/** China has one time zone and no daylight saving time, so a constant offset is enough. */
const offsetMs = 8 * 3_600_000
const dayMs = 86_400_000

/** Unix ms of the next 00:00 in Asia/Shanghai, when the Chinese vendors reset their daily quotas. */
export function nextShanghaiMidnight(nowMs: number): number {
  return nextShanghaiHour(nowMs, 0)
}

/** Unix ms of the next `hour`:00 in Asia/Shanghai. */
export function nextShanghaiHour(nowMs: number, hour: number): number {
  const today = Math.floor((nowMs + offsetMs) / dayMs) * dayMs - offsetMs + hour * 3_600_000
  return today > nowMs ? today : today + dayMs
}

/** The date in Asia/Shanghai as yyyymmdd. */
export function shanghaiDate(nowMs: number): string {
  return new Date(nowMs + offsetMs).toISOString().slice(0, 10).replaceAll('-', '')
}

/** The time in Asia/Shanghai as yyyy-MM-dd HH:mm:ss. */
export function shanghaiDateTime(ms: number): string {
  return new Date(ms + offsetMs).toISOString().slice(0, 19).replace('T', ' ')
}
