import { Failure } from '../codes.ts'
import { shown } from '../input/shown.ts'

/** The query of an address; a parameter given twice is refused rather than guessed at. */
export function readQuery(url: string): Record<string, string> {
  const at = url.indexOf('?')
  const query: Record<string, string> = Object.create(null)
  if (at < 0) return query
  for (const [key, value] of new URLSearchParams(url.slice(at + 1))) {
    if (key in query) throw new Failure(40002, `The query parameter ${shown(key)} is given twice.`)
    query[key] = value
  }
  return query
}
