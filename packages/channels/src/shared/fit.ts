import { cutCodePoints } from './truncate.ts'

/**
 * The longest beginning of `text` that fits, closed with an ellipsis when anything was cut; undefined when not even the
 * ellipsis does. `fits` is asked about whole candidates, so that it can count what escaping and UTF-8 make of them.
 */
export function longestFitting(text: string, fits: (candidate: string) => boolean): string | undefined {
  if (fits(text)) return text
  if (!fits('…')) return undefined
  let fitting = 0
  let tooLong = text.length
  while (tooLong - fitting > 1) {
    const middle = (fitting + tooLong) >> 1
    if (fits(`${cutCodePoints(text, middle)}…`)) fitting = middle
    else tooLong = middle
  }
  return `${cutCodePoints(text, fitting)}…`
}
