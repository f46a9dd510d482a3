import { createHmac, randomBytes } from 'node:crypto'
import { shareReads } from '@herald/async'
import type { Database } from '@herald/db/store'
import {
  type Application,
  type ConsoleSessionRow,
  closeConsoleSession,
  findConsoleSession,
  openConsoleSession,
} from '@herald/db/tenants'
import { isSameSecret } from './passwords.ts'
import type { Sessions } from './sessions.ts'

/** `until`: when the secret that opened it ends, in Unix seconds. */
export type ConsoleSession =
  | { role: 'operator' }
  | { role: 'application'; application: Application; until?: number }

/** Sessions of the console. They are cached for a second, so that a request costs no query. */
export type ConsoleSessions = {
  /** Returns the key for the cookie. */
  open(who: ConsoleSession): Promise<string>
  find(key: string): Promise<ConsoleSession | undefined>
  /** Returns whether `find` needs no query to refuse this key. */
  isCached(key: string): boolean
  /** Takes effect in this process at once, in others within a second. */
  close(key: string): Promise<void>
}

/** A working day. */
export const SESSION_SECONDS = 12 * 3600

const FRESH_MS = 1000
const KEY_SHAPE = /^[\w-]{43}$/

export function createConsoleSessions(deps: {
  db: Database
  sessions: Pick<Sessions, 'application'>
  operatorKey?: string
}): ConsoleSessions {
  const { db, sessions, operatorKey } = deps
  const rows = shareReads<string, ConsoleSessionRow | undefined>({
    read: (key) => findConsoleSession(db, key),
    maxAgeMs: FRESH_MS,
  })

  /** The stamp changes with the operator key, or when all admin tokens are revoked, which ends the session. */
  function stampOf(key: string, who: ConsoleSession): string {
    if (who.role === 'application') return String(who.application.tokenVersion)
    // The HMAC key contains the cookie's key, which is not in the table: the operator key cannot be guessed from a row.
    return createHmac('sha256', `${key}${operatorKey}`).update('operator').digest('base64url')
  }

  async function holderOf({ appId, stamp }: ConsoleSessionRow): Promise<ConsoleSession | undefined> {
    if (appId === undefined) return operatorKey === undefined ? undefined : { role: 'operator' }
    const application = await sessions.application(appId, Number(stamp))
    return application && { role: 'application', application }
  }

  return {
    async open(who) {
      const key = randomBytes(32).toString('base64url')
      const appId = who.role === 'application' ? who.application.appId : undefined
      const until = (who.role === 'application' && who.until) || Number.POSITIVE_INFINITY
      const seconds = Math.min(SESSION_SECONDS, Math.floor(until - Date.now() / 1000))
      await openConsoleSession(db, key, { appId, stamp: stampOf(key, who) }, seconds)
      return key
    },
    async find(key) {
      if (!KEY_SHAPE.test(key)) return undefined
      const row = await rows.get(key)
      const who = row && (await holderOf(row))
      return who && isSameSecret(row.stamp, stampOf(key, who)) ? who : undefined
    },
    isCached: (key) => !KEY_SHAPE.test(key) || rows.isFresh(key),
    async close(key) {
      await closeConsoleSession(db, key)
      rows.forget(key)
    },
  }
}
