/** Pauses between attempts to reach a vendor that refuses or does not answer, in seconds. Specs shorten them. */
export type RecoveryPauses = {
  /** Before each probe of a closed certificate; the last one repeats. */
  probe: readonly number[]
  /** Between checks of a certificate whose requests are refused although the check did not confirm it. */
  check: number
  /** Before the first and at most before a later probe while a breaker is open; doubles in between. */
  breaker: { first: number; max: number }
}

export const recoveryPauses: RecoveryPauses = {
  probe: [60, 120, 300, 900],
  check: 5,
  breaker: { first: 5, max: 60 },
}

const FAR_MS = Date.UTC(9000, 0)

/** Whether a time (Unix ms) is that of a probe that is never made, in the year 9999, or infinite. */
export const isNever = (ms: number): boolean => ms > FAR_MS

/** Seconds until a closed certificate is probed again, after this many probes. */
export function probePause(pauses: RecoveryPauses, probes: number): number {
  return pauses.probe[Math.min(probes, pauses.probe.length - 1)]!
}

/** Seconds until the next probe after this many failed ones, with jitter in 0..1: certificates of one vendor are not probed together. */
export function breakerPause({ breaker }: RecoveryPauses, failures: number, jitter: number): number {
  return Math.min(breaker.max, breaker.first * 2 ** Math.min(failures, 30)) * (0.75 + jitter / 4)
}
