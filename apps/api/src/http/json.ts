import { parseExact } from '@herald/domain'
import { Failure } from '../codes.ts'
import { quoted } from '../input/input-failure.ts'
import { scanJson } from './json-scan.ts'

const MAX_DEPTH = 64
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

/** `verbatim` has the original texts of the wanted fields, in the order of the body. */
export type ReadJson = { value: unknown; verbatim: string[] }

/**
 * Reads a body strictly: integers beyond 2^53 become bigints, and input that would be changed silently or cannot be stored
 * is refused, unless the caller checks its text (`checksText`).
 */
export function readJson(
  bytes: Uint8Array,
  options: { verbatim?: string; checksText?: true } = {},
): ReadJson {
  const text = decode(bytes)
  const scan = scanJson(text, { maxDepth: MAX_DEPTH, wanted: options.verbatim })
  if (scan.depth > MAX_DEPTH) throw new Failure(40001, `The body is nested deeper than ${MAX_DEPTH} levels.`)
  const value = parseText(text)
  if (scan.duplicate !== undefined)
    throw new Failure(40001, `The field ${quoted(scan.duplicate)} occurs twice.`)
  // Only an escape can produce characters that valid UTF-8 cannot contain.
  if (!options.checksText && text.includes('\\u')) refuseUnstorable(value, '')
  return { value, verbatim: scan.spans.map((span) => text.slice(...span)) }
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
      text.trim() === '' ? 'The body is empty; it must be JSON.' : 'The body is not valid JSON.',
    )
  }
}

/** Whether `refuseUnstorable` accepts the value, without the paths that it makes for its failure. */
export function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return problemIn(value) === undefined
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isStorable)
  for (const key in value)
    if (problemIn(key) || !isStorable((value as Record<string, unknown>)[key])) return false
  return true
}

/** Throws Failure for text that cannot be stored. `path` is that of the value. */
export function refuseUnstorable(value: unknown, path: string): void {
  if (typeof value === 'string') {
    const problem = problemIn(value)
    if (problem) throw new Failure(40002, `${path === '' ? 'The body' : quoted(path)} ${problem}.`)
  } else if (Array.isArray(value)) {
    value.forEach((item, index) => {
      refuseUnstorable(item, `${path}[${index}]`)
    })
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      const problem = problemIn(key)
      if (problem)
        throw new Failure(40002, `A field name in ${path === '' ? 'the body' : quoted(path)} ${problem}.`)
      refuseUnstorable(item, path === '' ? key : `${path}.${key}`)
    }
  }
}

/** Postgres cannot store U+0000, and half of a surrogate pair cannot be encoded as UTF-8. */
function problemIn(text: string): string | undefined {
  if (!text.isWellFormed()) return 'contains half of a surrogate pair'
  return text.includes('\0') ? 'contains the character U+0000' : undefined
}
