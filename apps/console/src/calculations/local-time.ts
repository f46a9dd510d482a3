/** The value of a `datetime-local` input for a time in milliseconds: local, without seconds and zone. */
export function localTime(milliseconds: number): string {
  const date = new Date(milliseconds)
  const two = (value: number) => String(value).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}T${two(date.getHours())}:${two(date.getMinutes())}`
}

/** Unix seconds of the value of a `datetime-local` input; undefined if it is empty or incomplete. */
export function secondsOf(value: string): number | undefined {
  const milliseconds = new Date(value).getTime()
  return value === '' || Number.isNaN(milliseconds) ? undefined : Math.floor(milliseconds / 1000)
}
