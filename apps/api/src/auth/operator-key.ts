import { shareReads } from '@herald/async'
import type { Database } from '@herald/db/store'
import { countLoginAttempt, loginLimit, loginLock } from '@herald/db/tenants'
import { Failure } from '../codes.ts'
import { isSameSecret } from './passwords.ts'

/** The name under which wrong operator keys and failed sign-ins of an address are counted, by all processes together. */
export const guesserOf = (address: string) => `console ${address}`

const LOCK_MS = 1000

/**
 * Compares operator keys sent as a bearer token. Ten wrong ones lock the address out for 15 minutes, also with the right key:
 * otherwise guessing could go on. `onWrong` is called for each of the ten.
 */
export function createOperatorKeyCheck({ db, operatorKey }: { db: Database; operatorKey?: string }) {
  // Read for every call of the operator, hence cached.
  const locks = shareReads({
    read: (address: string) => loginLock(db, '', guesserOf(address)),
    maxAgeMs: LOCK_MS,
  })
  /** Wrong keys per address that are being counted: without it, guesses sent at once would all be compared. */
  const counting = new Map<string, number>()

  async function countWrong(address: string): Promise<{ waitSeconds: number } | undefined> {
    counting.set(address, (counting.get(address) ?? 0) + 1)
    try {
      return await countLoginAttempt(db, '', guesserOf(address))
    } finally {
      const left = counting.get(address)! - 1
      if (left > 0) counting.set(address, left)
      else counting.delete(address)
      locks.forget(address)
    }
  }

  return async (key: string, address: string, onWrong: () => Promise<void>): Promise<void> => {
    const wrong = new Failure(40102, 'The operator key is wrong.')
    if (operatorKey === undefined) throw wrong
    const locked = await locks.get(address)
    if (locked) throw lockedOut(locked.waitSeconds)
    if ((counting.get(address) ?? 0) >= loginLimit.failures) throw lockedOut(loginLimit.windowSeconds)
    if (isSameSecret(key, operatorKey)) return
    const full = await countWrong(address)
    if (full) throw lockedOut(full.waitSeconds)
    await onWrong()
    throw wrong
  }
}

export const lockedOut = (retryAfter: number) =>
  new Failure(42902, 'Too many failed sign-ins from this address; try again later.', { retryAfter })
