import { countCodePoints, cutCodePoints } from './truncate.ts'

/** A text that may be shortened, and the fewest characters it may be cut to; with 0 it may vanish. */
export type Cut<K extends string> = { field: K; least: number }

/**
 * For vendors that bound the whole request and not its texts: shortens texts in the order of `cuts`, each no more than
 * needed, until `size` is at most `most`. Undefined when the shortest forms are still too large.
 */
export function fitTexts<K extends string>(
  texts: Readonly<Record<K, string>>,
  cuts: readonly Cut<K>[],
  size: (texts: Readonly<Record<K, string>>) => number,
  most: number,
): Readonly<Record<K, string>> | undefined {
  let fitted = texts
  for (const { field, least } of cuts) {
    if (size(fitted) <= most) return fitted
    const whole = fitted[field]
    const cutTo = (characters: number) => ({ ...fitted, [field]: cutCodePoints(whole, characters) })
    // Escapes make a character cost one to twelve bytes, so the place of the cut is searched, not computed.
    let low = Math.min(least, countCodePoints(whole))
    let high = countCodePoints(whole)
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if (size(cutTo(middle)) <= most) low = middle
      else high = middle - 1
    }
    fitted = cutTo(low)
  }
  return size(fitted) <= most ? fitted : undefined
}
