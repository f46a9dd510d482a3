import { cutCodePoints } from './truncate.ts'

/**
 * A vendor's own words for a code that no table knows, fit for failure lists that operators copy around: one short line,
 * with anything that looks like a token or a key blanked.
 */
export function wording(words: unknown): string {
  if (typeof words !== 'string') return ''
  const line = words
    .slice(0, 1000)
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .replace(/[\w=+/-]{12,}/g, '…')
  return cutCodePoints(line.trim(), 60).toWellFormed()
}
