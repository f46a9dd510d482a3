/** The part of a pino logger that the queue uses. */
export type QueueLog = {
  warn(details: object, message: string): void
  error(details: object, message: string): void
}

/**
 * A reconnecting client reports the same error several times a second for as long as the server is away.
 * Says the first at once, then at most one in `everyMs` together with how many were left out.
 */
export function seldom(say: (details: object, message: string) => void, everyMs = 10_000) {
  let leftOut = 0
  let last = Number.NEGATIVE_INFINITY
  return (details: object, message: string): void => {
    const now = performance.now()
    if (now - last < everyMs) {
      leftOut += 1
      return
    }
    last = now
    say(leftOut > 0 ? { ...details, leftOut } : details, message)
    leftOut = 0
  }
}
