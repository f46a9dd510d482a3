import { Failure } from '../codes.ts'
import { parseExact } from '../input/exact-json.ts'
import { shown } from '../input/shown.ts'
import { scanJson } from './json-scan.ts'

const MAX_DEPTH = 64
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

/** A body as a value, and the text of the one part that is carried verbatim. */
export type ReadJson = { value: unknown; verbatim?: string }

/**
 * Reads a body strictly. Integers that a double cannot hold come back as bigint, so that int64 is exact; everything that
 * would be silently changed or could not be stored is refused.
 */
export function readJson(bytes: Uint8Array, options: { verbatim?: string } = {}): ReadJson {
  const text = decode(bytes)
  const scan = scanJson(text, { maxDepth: MAX_DEPTH, wanted: options.verbatim })
  if (scan.depth > MAX_DEPTH) throw new Failure(40001, `The body is nested deeper than ${MAX_DEPTH} levels.`)
  const value = parseText(text)
  if (scan.duplicate !== undefined)
    throw new Failure(40001, `The field ${shown(scan.duplicate)} occurs twice.`)
  // Only an escape can bring in what a decoded text cannot contain.
  if (text.includes('\\u')) refuseUnstorable(value, '')
  return { value, verbatim: scan.span && text.slice(...scan.span) }
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new Failure(40001, 'The body is not valid UTF-8.')
  }
}

function parseText(text: string): unknown {
  try {
    return parseExact(text)
  } catch {
    throw new Failure(
      40001,
      text.trim() === '' ? 'The body is empty; it must be JSON.' : 'The body is not JSON.',
    )
  }
}

function refuseUnstorable(value: unknown, path: string): void {
  if (typeof value === 'string') {
    const problem = problemIn(value)
    if (problem) throw new Failure(40002, `${path === '' ? 'The body' : shown(path)} ${problem}.`)
  } else if (Array.isArray(value)) {
    value.forEach((item, index) => {
      refuseUnstorable(item, `${path}[${index}]`)
    })
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      const problem = problemIn(key)
      if (problem)
        throw new Failure(40002, `A field name in ${path === '' ? 'the body' : shown(path)} ${problem}.`)
      refuseUnstorable(item, path === '' ? key : `${path}.${key}`)
    }
  }
}

/** Postgres cannot hold the one, nobody can send on the other. */
function problemIn(text: string): string | undefined {
  if (!text.isWellFormed()) return 'contains half of a surrogate pair'
  return text.includes('\0') ? 'contains the character U+0000' : undefined
}
