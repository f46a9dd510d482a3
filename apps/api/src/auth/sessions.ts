import { shareReads } from '@herald/async'
import type { PushTokens } from '@herald/db/devices'
import type { Database } from '@herald/db/store'
import {
  type Application,
  findApplication,
  isGroup,
  renewApplicationSecret,
  revokeAdminTokens,
  revokeUserTokens,
  userTokenVersion,
} from '@herald/db/tenants'
import type { Claims, Tokens } from './tokens.ts'

/** Known applications, users and token versions. They are cached for a second, so that a request costs no query. */
export type Sessions = {
  tokens: Tokens
  application(appId: string): Promise<Application | undefined>
  /** Returns whether `application` needs no query for this id. */
  isApplicationCached(appId: string): boolean
  /** Undefined when the token is invalid, revoked, or of another application. */
  claims(application: Application, token: string): Promise<Claims | undefined>
  isUser(appId: string, userId: bigint): Promise<boolean>
  isGroup(appId: string, groupId: bigint): Promise<boolean>
  revokeUser(appId: string, userId: bigint): Promise<void>
  revokeAdmins(appId: string): Promise<void>
  /** Returns the new secret; undefined when the application does not exist. */
  renewSecret(appId: string, keepOldSeconds: number): Promise<string | undefined>
  /** To be called after a change of the application's settings; other processes notice within a second. */
  forgetApplication(appId: string): void
  /** To be called after a change that ended a user's tokens; other processes notice within a second. */
  forgetUser(appId: string, userId: bigint): void
}

/** Measured by the monotonic clock: if the wall clock were used and set back, revoked tokens would stay valid. */
const FRESH_MS = 1000
/** Characters. Longer ids do not exist, and must not fill the cache. */
const MAX_APP_ID = 32

export function createSessions(db: Database, tokens: Tokens, pushTokens: PushTokens): Sessions {
  const cached = <Value>(read: (key: string) => Promise<Value>) =>
    shareReads({ read, maxAgeMs: FRESH_MS, isMiss: (value) => value === undefined || value === false })
  const keyOf = (appId: string, id: bigint | string) => `${appId}/${id}`
  const byKey =
    <Value>(read: (db: Database, appId: string, id: bigint) => Promise<Value>) =>
    (key: string) => {
      const at = key.lastIndexOf('/')
      return read(db, key.slice(0, at), BigInt(key.slice(at + 1)))
    }
  // Ids that do not exist are cached, too: otherwise every call with such an id would cost a query.
  const applications = shareReads({
    read: (appId: string) => findApplication(db, appId),
    maxAgeMs: FRESH_MS,
  })
  const users = cached(byKey(userTokenVersion))
  const groups = cached(byKey(isGroup))

  return {
    tokens,
    application: async (appId) => (appId.length > MAX_APP_ID ? undefined : applications.get(appId)),
    isApplicationCached: (appId) => appId.length > MAX_APP_ID || applications.isFresh(appId),
    async claims(application, token) {
      const claims = tokens.verify(token)
      if (claims?.app !== application.appId) return undefined
      const version =
        claims.role === 'admin'
          ? application.tokenVersion
          : await users.get(keyOf(application.appId, claims.subject))
      return claims.version === version ? claims : undefined
    },
    isUser: async (appId, userId) => (await users.get(keyOf(appId, userId))) !== undefined,
    isGroup: (appId, groupId) => groups.get(keyOf(appId, groupId)),
    async revokeUser(appId, userId) {
      await revokeUserTokens(db, pushTokens, appId, userId)
      users.forget(keyOf(appId, userId))
    },
    async revokeAdmins(appId) {
      await revokeAdminTokens(db, appId)
      applications.forget(appId)
    },
    async renewSecret(appId, keepOldSeconds) {
      const appSecret = await renewApplicationSecret(db, appId, keepOldSeconds)
      applications.forget(appId)
      return appSecret
    },
    forgetApplication: applications.forget,
    forgetUser: (appId, userId) => users.forget(keyOf(appId, userId)),
  }
}
