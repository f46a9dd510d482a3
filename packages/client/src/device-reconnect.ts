/** What to do after a connection ended. */
export type AfterClose =
  | { do: 'reconnect'; ms: number }
  /** Reconnecting would fail again. */
  | { do: 'stop'; reason: 'replaced' | 'refused' }

const FIRST_MS = 1_000
const MAX_MS = 60_000
const MIN_THROTTLED_MS = 30_000
/** The reason of a 4401 if no hello came in time: it was delayed, and the push token may be right. */
const NO_HELLO = 'no hello with a push token was received'

/**
 * Close codes of the gateway: 4409 = replaced by a newer connection of this device, 4400 and 4401 = protocol error or unknown
 * push token, 4429 = too many frames, 4503 = the gateway is shutting down. `failures` counts attempts since the last welcome.
 * Delays are random, so that the devices of a restarted gateway do not reconnect all at once.
 */
export function afterClose(code: number, failures: number, random: () => number, reason = ''): AfterClose {
  if (code === 4409) return { do: 'stop', reason: 'replaced' }
  if (code === 4400 || (code === 4401 && reason !== NO_HELLO)) return { do: 'stop', reason: 'refused' }
  if (code === 4503 && failures === 0) return { do: 'reconnect', ms: FIRST_MS * random() }
  const max = Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(failures, 10))
  const ms = Math.round(max * (0.3 + 0.7 * random()))
  return { do: 'reconnect', ms: code === 4429 ? Math.max(ms, MIN_THROTTLED_MS) : ms }
}
