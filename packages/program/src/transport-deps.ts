import type { TransportDeps } from '@herald/channels'
import { readSession, taskMemory } from '@herald/db/certificates'
import { type Database, isTransient } from '@herald/db/store'
import { certificateHolds } from './certificate-holds.ts'
import type { Context } from './service.ts'

/** What the processes share (an access token, a stored payload) cannot be read at present. Tells nothing about the vendor. */
export class SharedStateUnavailable extends Error {}

/** Returns the dependencies of the transport of one certificate. */
export function transportDeps(
  context: Pick<Context, 'settings' | 'db' | 'sealer' | 'certificates' | 'log'>,
  certificateId: number,
): TransportDeps {
  const { settings, db, sealer } = context
  return {
    urls: settings.vendorUrls,
    proxy: settings.proxy,
    ca: settings.vendorCa,
    client: settings.vendorClient,
    now: Date.now,
    timeoutMs: settings.sendTimeoutSeconds * 1000,
    async session(key, mint, stale, scope) {
      const place = scope === 'shared' ? { key } : { certificateId, key }
      const name = `${place.certificateId ?? ''} ${key}`
      const known = sessionsOf(db).get(name)
      if (known && known.value !== stale && performance.now() < known.until) return known.value
      const { value, freshFor, renewalError } = await reading(() =>
        readSession(db, sealer, place, mint, stale),
      )
      if (renewalError !== undefined)
        context.log.warn(
          { err: renewalError, certificateId },
          'an access token of the vendor was not renewed; the present one is used until it expires',
        )
      keepSession(sessionsOf(db), name, value, freshFor)
      return value
    },
    holds: certificateHolds(context, certificateId),
    taskMemory: (taskId, key, make) => reading(() => taskMemory(db, taskId, certificateId, key, make)),
  }
}

/**
 * Access tokens of this process until they are due for renewal. Without it each push of an application that sends once a minute would
 * read its token. A token that another process has replaced is refused by the vendor, and then read again.
 */
const sessionsByDatabase = new WeakMap<Database, Sessions>()
type Sessions = Map<string, { value: string; until: number }>
const MAX_SESSIONS = 20_000

function sessionsOf(db: Database): Sessions {
  let sessions = sessionsByDatabase.get(db)
  if (!sessions) {
    sessions = new Map()
    sessionsByDatabase.set(db, sessions)
  }
  return sessions
}

function keepSession(sessions: Sessions, name: string, value: string, freshFor: number): void {
  // Deleted first, so that the map is in the order of the reads.
  sessions.delete(name)
  sessions.set(name, { value, until: performance.now() + freshFor * 1000 })
  if (sessions.size > MAX_SESSIONS) sessions.delete(sessions.keys().next().value as string)
}

/** Tells errors of Postgres from those of the vendor, which callers count as silence. */
async function reading<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isTransient(error)) throw error
    throw new SharedStateUnavailable('Postgres is not available', { cause: error })
  }
}
