const secretNames =
  /^(access[-_]?token|app[-_]?secret|authorization|bearer|certificate|client[-_]?secret|cookie|credential|device[-_]?token|jwt|master[-_]?key|operator[-_]?key|pass(phrase|wd|word)|private[-_]?key|proxy-authorization|push[-_]?token|secret|set-cookie|token|token[-_]?key|tokens|vendor[-_]?token)s?$/i

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
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      name,
      secretNames.test(name) ? hidden : redact(item, depth + 1),
    ]),
  )
}

/** Hides passwords in URLs and bearer tokens anywhere in a log line. */
export function redactLine(line: string): string {
  return line
    .replace(/(:\/\/[^:@/\s"]*):[^@/\s"]+@/g, `$1:${hidden}@`)
    .replace(/\b(bearer)\s+[\w.~+/=-]+/gi, `$1 ${hidden}`)
}
