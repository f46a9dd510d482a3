const numbers = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })

export const count = (value: number | bigint): string => numbers.format(value)

/** `1 device`, `2 devices`. */
export const plural = (value: number, noun: string): string =>
  `${count(value)} ${noun}${value === 1 ? '' : 's'}`

export function duration(seconds: number): string {
  const whole = Math.max(0, Math.ceil(seconds))
  if (whole < 60) return `${whole} s`
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`
}

export function bytes(value: number): string {
  if (value < 1024) return `${value} B`
  const power = Math.min(4, Math.floor(Math.log2(value) / 10))
  return `${(value / 1024 ** power).toFixed(1)} ${['', 'KiB', 'MiB', 'GiB', 'TiB'][power]}`
}

/** Unix seconds as UTC, independent of locale and time zone. */
export const timestamp = (seconds: number): string =>
  `${new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ')} UTC`

/** Columns are as wide as their widest cell; numbers are aligned to the right. Control characters become U+FFFD. */
export function table(head: string[], rows: (string | number)[][]): string {
  const text = [
    head,
    ...rows.map((row) =>
      row.map((cell) => (typeof cell === 'number' ? count(cell) : cell.replaceAll(/\p{Cc}/gu, '\uFFFD'))),
    ),
  ]
  const widths = head.map((_, column) => Math.max(...text.map((row) => width(row[column] ?? ''))))
  const isNumber = head.map(
    (_, column) => rows.length > 0 && rows.every((row) => typeof row[column] === 'number'),
  )
  const line = (row: string[]) =>
    row
      .map((cell, column) => {
        const gap = ' '.repeat(widths[column]! - width(cell))
        return isNumber[column] ? gap + cell : cell + gap
      })
      .join('  ')
      .trimEnd()
  return text.map(line).join('\n')
}

/** Chinese, Japanese and Korean characters take two columns of a terminal. */
function width(text: string): number {
  let columns = 0
  for (const character of text)
    columns += /\p{Script=Han}|[\u3000-\u30ff\uff00-\uff60\uac00-\ud7a3]/u.test(character) ? 2 : 1
  return columns
}
