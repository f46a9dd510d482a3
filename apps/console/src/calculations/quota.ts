import type { CertificateView } from '@herald/client'

/** What was sent today with a certificate, by message class. `left` is null without a daily quota. */
export type QuotaUse = { messageClass: 'service' | 'marketing'; used: number; left: number | null }

/** The day at a time in a time zone, YYYY-MM-DD, as the API writes it. */
export function dayIn(timeZone: string, seconds: number): string {
  // Swedish dates have this form.
  return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' }).format(new Date(seconds * 1000))
}

/** The quota is per class and day of the vendor's time zone. Usage of an earlier day is over. */
export function quotaOf(
  { usage, extra }: Pick<CertificateView, 'usage' | 'extra'>,
  timeZone: string,
  now: number,
): QuotaUse[] {
  const quota = (extra.limits as { daily_quota?: number } | undefined)?.daily_quota
  const today = dayIn(timeZone, now)
  return usage.map(({ message_class: messageClass, day, devices }) => {
    const used = day === today ? devices : 0
    return { messageClass, used, left: quota === undefined ? null : Math.max(0, quota - used) }
  })
}
