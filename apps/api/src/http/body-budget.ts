import { tokenBuckets } from '@herald/async'
import type { Logger } from '@herald/telemetry'
import { Failure } from '../codes.ts'

/** Bounds the memory that request bodies of callers without a token occupy. */
export type BodyBudget = {
  /** Throws BodyBudgetFull when too many bodies, of the address or of all, are in memory. */
  open(address: string): BodyShare
}

export type BodyShare = {
  /** Sets the number of bytes that the body occupies now; throws BodyBudgetFull when it is too many. */
  hold(bytes: number): void
  close(): void
}

type Amount = { bodies: number; bytes: number }

export class BodyBudgetFull extends Failure {
  constructor() {
    super(50301, 'Too many request bodies are being received; nothing was accepted.', { retryAfter: 2 })
  }
}

export function createBodyBudget(options: { perAddress: Amount; all: Amount; log: Logger }): BodyBudget {
  const { perAddress, all, log } = options
  const total: Amount = { bodies: 0, bytes: 0 }
  const byAddress = new Map<string, Amount>()
  // A flood must not fill the log.
  const warnings = tokenBuckets({ perSecond: 1 / 60, burst: 1 })

  function change(address: string, { bodies, bytes }: Amount): void {
    const own = byAddress.get(address) ?? { bodies: 0, bytes: 0 }
    for (const amount of [own, total]) {
      amount.bodies += bodies
      amount.bytes += bytes
    }
    if (own.bodies > 0) byAddress.set(address, own)
    else byAddress.delete(address)
  }

  function checkRoom(address: string, { bodies, bytes }: Amount): void {
    const exceeds = (amount: Amount, max: Amount) =>
      amount.bodies + bodies > max.bodies || amount.bytes + bytes > max.bytes
    const own = byAddress.get(address) ?? { bodies: 0, bytes: 0 }
    if (!exceeds(own, perAddress) && !exceeds(total, all)) return
    if (warnings.take('') === 0)
      log.warn({ address, own, total }, 'refused a request body: too many are being received')
    throw new BodyBudgetFull()
  }

  return {
    open(address) {
      checkRoom(address, { bodies: 1, bytes: 0 })
      change(address, { bodies: 1, bytes: 0 })
      let held = 0
      const set = (bytes: number) => {
        change(address, { bodies: 0, bytes: bytes - held })
        held = bytes
      }
      return {
        hold(bytes) {
          if (bytes > held) checkRoom(address, { bodies: 0, bytes: bytes - held })
          set(bytes)
        },
        close() {
          set(0)
          change(address, { bodies: -1, bytes: 0 })
        },
      }
    },
  }
}
