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

const formats = new Map<string, Format>()

/** The same object for each call: most components of a page use it. */
export function formatIn(language: string): Format {
  const format = formats.get(language) ?? createFormat(language)
  formats.set(language, format)
  return format
}

function createFormat(language: string): Format {
  const number = onDemand(() => new Intl.NumberFormat(language, { maximumFractionDigits: 1 }))
  const percent = onDemand(
    () => new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 1 }),
  )
  // British English has no comma before `and`, as in the other texts.
  const list = onDemand(() => new Intl.ListFormat(language === 'en' ? 'en-GB' : language))
  const relative = onDemand(() => new Intl.RelativeTimeFormat(language, { numeric: 'auto' }))
  const dates = (options: Intl.DateTimeFormatOptions) => {
    const format = onDemand(() => new Intl.DateTimeFormat(language, options))
    return (seconds: number) => format().format(new Date(seconds * 1000))
  }
  const time = dates({ dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' })
  return {
    number: (value) => number().format(value),
    percent: (share) => percent().format(share),
    time: (seconds) => (seconds === null || seconds === undefined ? '' : time(seconds)),
    clock: dates({ timeStyle: 'medium', hourCycle: 'h23' }),
    relative: ({ value, unit }) => relative().format(value, unit),
    day: dates({ dateStyle: 'medium' }),
    date: dates({ month: 'numeric', day: 'numeric' }),
    hour: dates({ month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }),
    hourOnly: dates({ timeStyle: 'short', hourCycle: 'h23' }),
    list: (names) => list().format(names),
  }
}

/** Browsers take up to a millisecond to create a formatter. */
function onDemand<Formatter>(create: () => Formatter): () => Formatter {
  let formatter: Formatter | undefined
  return () => {
    formatter ??= create()
    return formatter
  }
}

/** Shows both ends of a secret: enough to recognise it, not enough to use it. */
export function shorten(text: string, ends = 6): string {
  return text.length <= ends * 2 + 1 ? text : `${text.slice(0, ends)}…${text.slice(-ends)}`
}
