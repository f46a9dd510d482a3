/**
 * Cuts a text to so many characters, of which an emoji is one, and never through the middle of one: half a surrogate pair is
 * not valid UTF-8 and makes some vendors refuse the whole request.
 */
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
