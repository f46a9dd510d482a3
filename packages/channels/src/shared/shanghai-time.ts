/** China has one time zone and no daylight saving time, so a constant offset is enough. */
const offsetMs = 8 * 3_600_000
const dayMs = 86_400_000
/** A refusal so soon after the time that it waits for belongs to the time before: our clock is ahead, or the vendor is late. */
const justAfterMs = 600_000
const askAgainMs = 120_000

/** When to ask again after a refusal until 00:00 in Asia/Shanghai, when the Chinese vendors reset their daily quotas. Unix ms. */
export function nextShanghaiMidnight(nowMs: number): number {
  return nextShanghaiHour(nowMs, 0)
}

/** The same for a refusal until `hour`:00: the next such time, or in two minutes if it has just passed. */
export function nextShanghaiHour(nowMs: number, hour: number): number {
  const today = Math.floor((nowMs + offsetMs) / dayMs) * dayMs - offsetMs + hour * 3_600_000
  if (today > nowMs) return today
  return nowMs - today < justAfterMs ? nowMs + askAgainMs : today + dayMs
}

/** The date in Asia/Shanghai as yyyymmdd. */
export function shanghaiDate(nowMs: number): string {
  return new Date(nowMs + offsetMs).toISOString().slice(0, 10).replaceAll('-', '')
}

/** The time in Asia/Shanghai as yyyy-MM-dd HH:mm:ss. */
export function shanghaiDateTime(ms: number): string {
  return new Date(ms + offsetMs).toISOString().slice(0, 19).replace('T', ' ')
}
