import { createHmac, randomBytes } from 'node:crypto'
import type { Database } from '@herald/db/store'
import {
  type Application,
  type ConsoleSessionRow,
  closeConsoleSession,
  findConsoleSession,
  openConsoleSession,
} from '@herald/db/tenants'
import { isSameSecret } from './same-secret.ts'
import type { Sessions } from './sessions.ts'
import { createShortCache } from './short-cache.ts'

export type ConsoleSession = { role: 'operator' } | { role: 'application'; application: Application }

/** Who is signed in to the console. What is known is at most a second old, so that a request costs no query. */
export type ConsoleSessions = {
  /** Answers the key for the cookie. */
  open(who: ConsoleSession): Promise<string>
  find(key: string): Promise<ConsoleSession | undefined>
  /** Here at once, on other processes within a second. */
  close(key: string): Promise<void>
}

/** A working day; whoever leaves the browser open signs in again the next. */
export const SESSION_SECONDS = 12 * 3600

const FRESH_MS = 1000
const KEY_SHAPE = /^[\w-]{43}$/

export function createConsoleSessions(deps: {
  db: Database
  sessions: Pick<Sessions, 'application'>
  operatorKey?: string
}): ConsoleSessions {
  const { db, sessions, operatorKey } = deps
  const rows = createShortCache((key) => findConsoleSession(db, key), FRESH_MS)

  /** A new operator key, or the end of all admin tokens, ends the sessions that rest on them. */
  function stampOf(key: string, who: ConsoleSession): string {
    if (who.role === 'application') return String(who.application.tokenVersion)
    // Keyed with what the table does not hold, so that the operator key cannot be guessed from it.
    return createHmac('sha256', `${key}${operatorKey}`).update('operator').digest('base64url')
  }

  async function holderOf({ appId }: ConsoleSessionRow): Promise<ConsoleSession | undefined> {
    if (appId === undefined) return operatorKey === undefined ? undefined : { role: 'operator' }
    const application = await sessions.application(appId)
    return application && { role: 'application', application }
  }

  return {
    async open(who) {
      const key = randomBytes(32).toString('base64url')
      const appId = who.role === 'application' ? who.application.appId : undefined
      await openConsoleSession(db, key, { appId, stamp: stampOf(key, who) }, SESSION_SECONDS)
      return key
    },
    async find(key) {
      if (!KEY_SHAPE.test(key)) return undefined
      const row = await rows.get(key)
      const who = row && (await holderOf(row))
      return who && isSameSecret(row.stamp, stampOf(key, who)) ? who : undefined
    },
    async close(key) {
      await closeConsoleSession(db, key)
      rows.forget(key)
    },
  }
}
