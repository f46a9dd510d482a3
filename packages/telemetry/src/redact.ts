const secretNames =
  /^(access[-_]?token|app[-_]?secret|authorization|bearer|certificate|client[-_]?secret|cookie|credential|device[-_]?token|jwt|master[-_]?key|operator[-_]?key|pass(phrase|wd|word)|private[-_]?key|proxy-authorization|push[-_]?token|secret|set-cookie|token|token[-_]?key|tokens|vendor[-_]?token)s?$/i

/** Field names that were looked at. Few are used, but some come from callers: beyond the limit they are compared each time. */
const known = new Map<string, boolean>()
const MAX_KNOWN = 1000

function isSecret(name: string): boolean {
  let secret = known.get(name)
  if (secret === undefined) {
    secret = secretNames.test(name)
    if (known.size < MAX_KNOWN && name.length < 100) known.set(name, secret)
  }
  return secret
}

const hidden = '[hidden]'
/** Bounds the work, because an object may be cyclic. */
const MAX_DEPTH = 8

/**
 * A copy for the log: values of fields with names of secrets are replaced at any depth. Errors, dates and other class
 * instances are left to the logger.
 */
export function redact(value: unknown, depth = 0): unknown {
  if (value === null || typeof value !== 'object') return value
  if (depth > MAX_DEPTH) return hidden
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1))
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  const copy: Record<string, unknown> = {}
  for (const [name, item] of Object.entries(value)) {
    const shown = isSecret(name) ? hidden : redact(item, depth + 1)
    // A plain assignment would set the prototype.
    if (name === '__proto__') Object.defineProperty(copy, name, { value: shown, enumerable: true })
    else copy[name] = shown
  }
  return copy
}

const BEARER = /bearer/i

/** Hides passwords in URLs and bearer tokens anywhere in a log line. */
export function redactLine(line: string): string {
  // Most lines contain neither.
  if (!line.includes('://') && !BEARER.test(line)) return line
  return line
    .replace(/(:\/\/[^:@/\s"]*):[^@/\s"]+@/g, `$1:${hidden}@`)
    .replace(/\b(bearer)\s+[\w.~+/=-]+/gi, `$1 ${hidden}`)
}
