import { longestFitting } from './fit.ts'

/**
 * For vendors that bound the whole request and not its texts: shortens texts in the given order, each no more than it takes,
 * until `size` is at most `most`. A text that had words keeps at least an ellipsis, but for `spare`, which may vanish.
 * Undefined when the shortest forms are still too large.
 */
export function fitTexts<K extends string>(
  texts: Readonly<Record<K, string>>,
  order: readonly K[],
  size: (texts: Readonly<Record<K, string>>) => number,
  most: number,
  spare?: NoInfer<K>,
): Readonly<Record<K, string>> | undefined {
  let fitted = texts
  for (const field of order) {
    if (size(fitted) <= most) return fitted
    const rest = fitted
    const cut = longestFitting(rest[field], (text) => size({ ...rest, [field]: text }) <= most)
    const shortest = rest[field] === '' || field === spare ? '' : '…'
    fitted = { ...rest, [field]: cut ?? shortest }
  }
  return size(fitted) <= most ? fitted : undefined
}
