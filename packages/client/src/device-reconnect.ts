/** What to do after a connection ended. */
export type AfterClose =
  | { do: 'reconnect'; ms: number }
  /** Trying again would not help: `reason` says why. */
  | { do: 'stop'; reason: 'replaced' | 'refused' }

const FIRST_MS = 1_000
const LONGEST_MS = 60_000
const RESTLESS_MS = 30_000

/**
 * Close codes of the gateway: 4409 = a newer connection of this device took over, 4400 and 4401 = it will never accept what
 * we say, 4429 = slower, 4503 = it is going away and others wait. `failures` counts attempts since the last welcome. Waits
 * are spread at random, or a gateway's restart would bring all its devices back in the same instant.
 */
export function afterClose(code: number, failures: number, random: () => number): AfterClose {
  if (code === 4409) return { do: 'stop', reason: 'replaced' }
  if (code === 4400 || code === 4401) return { do: 'stop', reason: 'refused' }
  if (code === 4503 && failures === 0) return { do: 'reconnect', ms: FIRST_MS * random() }
  const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures, 10))
  const ms = Math.round(longest * (0.3 + 0.7 * random()))
  return { do: 'reconnect', ms: code === 4429 ? Math.max(ms, RESTLESS_MS) : ms }
}
