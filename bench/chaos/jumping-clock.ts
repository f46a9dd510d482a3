/**
 * Imported before a program of the drill as `jumping-clock.ts?ms=3600000`: SIGUSR2 sets its clock ahead, the next one resets
 * it. As after an adjustment of the machine's clock, Date jumps, timers and performance.now() do not.
 */
const ahead = Number(new URL(import.meta.url).searchParams.get('ms'))
const Real = Date
let offset = 0

class JumpingDate extends Real {
  constructor(...given: unknown[]) {
    if (given.length === 0) super(Real.now() + offset)
    else super(...(given as [number]))
  }
  static override now(): number {
    return Real.now() + offset
  }
}

globalThis.Date = JumpingDate as DateConstructor
process.on('SIGUSR2', () => {
  offset = offset === 0 ? ahead : 0
})
