/**
 * Cuts a text to a vendor's limit, counted the way that vendor counts, and never through the middle of a character: half a
 * surrogate pair is not valid UTF-8 and makes some vendors refuse the whole request.
 */
export function cutUtf8Bytes(text: string, most: number): string {
  // No UTF-16 unit takes more than three bytes, so short texts need no counting.
  if (text.length * 3 <= most || Buffer.byteLength(text) <= most) return text
  let bytes = 0
  let end = 0
  for (const character of text) {
    bytes += Buffer.byteLength(character)
    if (bytes > most) break
    end += character.length
  }
  return text.slice(0, end)
}

export function cutUtf16Units(text: string, most: number): string {
  if (text.length <= most) return text
  const splitsPair = most > 0 && isHighSurrogate(text.charCodeAt(most - 1))
  return text.slice(0, splitsPair ? most - 1 : most)
}

export function cutCodePoints(text: string, most: number): string {
  if (text.length <= most) return text
  let count = 0
  let end = 0
  for (const character of text) {
    if (++count > most) break
    end += character.length
  }
  return text.slice(0, end)
}

/** The same, with “…” as the last character when something was cut, for vendors whose notices show no sign of it. */
export function ellipsizeCodePoints(text: string, most: number): string {
  const cut = cutCodePoints(text, most)
  return cut === text ? text : `${cutCodePoints(cut, most - 1).trimEnd()}…`
}

export function countCodePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}
