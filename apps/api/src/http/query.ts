import { Failure } from '../codes.ts'
import { quoted } from '../input/input-failure.ts'

/** Reads the query string. A parameter that occurs twice is refused. */
export function readQuery(url: string): Record<string, string> {
  const at = url.indexOf('?')
  const query: Record<string, string> = Object.create(null)
  if (at < 0) return query
  for (const [key, value] of new URLSearchParams(url.slice(at + 1))) {
    if (key in query) throw new Failure(40002, `The query parameter ${quoted(key)} occurs twice.`)
    query[key] = value
  }
  return query
}
