type Counting = {
  /** The limit holds for UTF-16 units too, in which an emoji is two: for vendors that do not say how they count. */
  utf16?: boolean
}

/**
 * Cuts a text to `max` characters. A surrogate pair (an emoji) counts as one and is never split: half of it is invalid UTF-8,
 * for which some vendors refuse the whole request.
 */
export function cutCodePoints(text: string, max: number, { utf16 = false }: Counting = {}): string {
  if (text.length <= max) return text
  let count = 0
  let end = 0
  for (const character of text) {
    count += utf16 ? character.length : 1
    if (count > max) break
    end += character.length
  }
  return text.slice(0, end)
}

/** The same, with “…” as the last character if the text was cut. */
export function cutText(text: string, max: number, counting: Counting = {}): string {
  const cut = cutCodePoints(text, max, counting)
  return cut === text ? text : `${cutCodePoints(cut, max - 1, counting).trimEnd()}…`
}

/**
 * For vendors that limit the size of the whole request: shortens the texts in the given order until `size` is at most `max`. A
 * text that was not empty keeps at least an ellipsis, except `optional`, which may become empty. Returns undefined if that is not
 * enough.
 */
export function fitTexts<K extends string>(
  texts: Readonly<Record<K, string>>,
  order: readonly K[],
  size: (texts: Readonly<Record<K, string>>) => number,
  max: number,
  optional?: NoInfer<K>,
): Readonly<Record<K, string>> | undefined {
  let fitted = texts
  for (const field of order) {
    if (size(fitted) <= max) return fitted
    const rest = fitted
    const cut = longestFitting(rest[field], (text) => size({ ...rest, [field]: text }) <= max)
    const shortest = rest[field] === '' || field === optional ? '' : '…'
    fitted = { ...rest, [field]: cut ?? shortest }
  }
  return size(fitted) <= max ? fitted : undefined
}

/** Returns the longest prefix of `text` that fits with an ellipsis. `fits` gets whole candidates, so it can count escaping. */
function longestFitting(text: string, fits: (candidate: string) => boolean): string | undefined {
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
