import { longestFitting } from './fit.ts'

/** A text that may be shortened; one that is not `needed` may vanish. */
export type Cut<K extends string> = { field: K; needed: boolean }

/**
 * For vendors that bound the whole request and not its texts: shortens texts in the order of `cuts`, each no more than
 * it takes, until `size` is at most `most`. Undefined when the shortest forms are still too large.
 */
export function fitTexts<K extends string>(
  texts: Readonly<Record<K, string>>,
  cuts: readonly Cut<K>[],
  size: (texts: Readonly<Record<K, string>>) => number,
  most: number,
): Readonly<Record<K, string>> | undefined {
  let fitted = texts
  for (const { field, needed } of cuts) {
    if (size(fitted) <= most) return fitted
    const rest = fitted
    const cut = longestFitting(rest[field], (text) => size({ ...rest, [field]: text }) <= most)
    fitted = { ...rest, [field]: cut ?? (needed ? '…' : '') }
  }
  return size(fitted) <= most ? fitted : undefined
}
