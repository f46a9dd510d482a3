import type { Limits } from '@herald/channels'

/** Returns the Unix ms at which sending is allowed again, or undefined when it is allowed now. */
export function closedUntil(
  { hours, timeZone }: Pick<Limits, 'hours' | 'timeZone'>,
  now: number,
): number | undefined {
  if (!hours) return undefined
  const { hour, minute, second } = localTime(now, timeZone)
  if (hour >= hours.from && hour < hours.to) return undefined
  const hoursAhead = hour < hours.from ? hours.from - hour : hours.from + 24 - hour
  return now + ((hoursAhead * 60 - minute) * 60 - second) * 1000
}

function localTime(now: number, timeZone: string): { hour: number; minute: number; second: number } {
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
    hourCycle: 'h23',
  }).formatToParts(now)
  const read = (type: string) => Number(parts.find((part) => part.type === type)?.value)
  return { hour: read('hour'), minute: read('minute'), second: read('second') }
}
