/** The part of a pino logger that the queue uses. */
export type QueueLog = {
  warn(details: object, message: string): void
  error(details: object, message: string): void
}

/**
 * Logs the first line at once, then at most one per `everyMs` with the number of suppressed ones: a reconnecting client
 * reports the same error several times per second until the server is back.
 */
export function throttleLog(write: (details: object, message: string) => void, everyMs = 10_000) {
  let suppressed = 0
  let last = Number.NEGATIVE_INFINITY
  return (details: object, message: string): void => {
    const now = performance.now()
    if (now - last < everyMs) {
      suppressed += 1
      return
    }
    last = now
    write(suppressed > 0 ? { ...details, suppressed } : details, message)
    suppressed = 0
  }
}
