import type { RelativeTime } from './relative-time.ts'

/** Formats numbers and times for a language. */
export type Format = {
  number(value: number): string
  percent(share: number): string
  /** Unix seconds; empty for null. */
  time(seconds: number | null | undefined): string
  clock(seconds: number): string
  /** `3 minutes ago`, `in 2 hours`. */
  relative(time: RelativeTime): string
  day(seconds: number): string
  /** A day without its year, for axes. */
  date(seconds: number): string
  /** The day and time at which an hour begins. */
  hour(seconds: number): string
  /** The same without the day, for axes. */
  hourOnly(seconds: number): string
  /** `a, b and c`. */
  list(names: readonly string[]): string
}

export function formatIn(language: string): Format {
  const number = new Intl.NumberFormat(language, { maximumFractionDigits: 1 })
  const percent = new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 1 })
  const time = new Intl.DateTimeFormat(language, {
    dateStyle: 'medium',
    timeStyle: 'medium',
    hourCycle: 'h23',
  })
  const clock = new Intl.DateTimeFormat(language, { timeStyle: 'medium', hourCycle: 'h23' })
  const day = new Intl.DateTimeFormat(language, { dateStyle: 'medium' })
  const dayOfMonth = new Intl.DateTimeFormat(language, { month: 'numeric', day: 'numeric' })
  const hour = new Intl.DateTimeFormat(language, {
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
  const hourOnly = new Intl.DateTimeFormat(language, { timeStyle: 'short', hourCycle: 'h23' })
  // British English has no comma before `and`, as in the other texts.
  const list = new Intl.ListFormat(language === 'en' ? 'en-GB' : language)
  const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto' })
  const date = (seconds: number) => new Date(seconds * 1000)
  return {
    number: (value) => number.format(value),
    percent: (share) => percent.format(share),
    time: (seconds) => (seconds === null || seconds === undefined ? '' : time.format(date(seconds))),
    clock: (seconds) => clock.format(date(seconds)),
    relative: ({ value, unit }) => relative.format(value, unit),
    day: (seconds) => day.format(date(seconds)),
    date: (seconds) => dayOfMonth.format(date(seconds)),
    hour: (seconds) => hour.format(date(seconds)),
    hourOnly: (seconds) => hourOnly.format(date(seconds)),
    list: (names) => list.format(names),
  }
}

/** Shows both ends of a secret: enough to recognise it, not enough to use it. */
export function shorten(text: string, ends = 6): string {
  return text.length <= ends * 2 + 1 ? text : `${text.slice(0, ends)}…${text.slice(-ends)}`
}
