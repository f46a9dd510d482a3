/** Above this number a push is a broadcast: sent in the normal lane, and confirmed by typing its size. */
export const BROADCAST_DEVICES = 1000

/** Seconds that a push takes at a speed limit; undefined without one. */
export function secondsAtSpeed(devices: number, speed: string): number | undefined {
  const perSecond = Number(speed.trim() || Number.NaN)
  return perSecond > 0 ? Math.ceil(devices / perSecond) : undefined
}

/** Whether a typed number is the expected one; separators of thousands do not count. */
export function isTypedNumber(typed: string, expected: number): boolean {
  const digits = typed.replace(/[\s,.'’\u00a0\u202f]/g, '')
  return /^\d+$/.test(digits) && Number(digits) === expected
}
