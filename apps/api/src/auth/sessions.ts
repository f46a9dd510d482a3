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
import { createShortCache } from './short-cache.ts'
import type { Claims, Tokens } from './tokens.ts'

/** Who exists and whose tokens still count, at most one second old, so that a request costs no query. */
export type Sessions = {
  tokens: Tokens
  application(appId: string): Promise<Application | undefined>
  /** Undefined when the token is not good, not of this application, or revoked. */
  claims(application: Application, token: string): Promise<Claims | undefined>
  isUser(appId: string, userId: bigint): Promise<boolean>
  isGroup(appId: string, groupId: bigint): Promise<boolean>
  revokeUser(appId: string, userId: bigint): Promise<void>
  revokeAdmins(appId: string): Promise<void>
  /** Answers the new secret of an application, or undefined when there is none. */
  renewSecret(appId: string): Promise<string | undefined>
  /** After a change that ended a user's tokens: this process knows at once, others within a second. */
  forgetUser(appId: string, userId: bigint): void
}

const FRESH_MS = 1000

export function createSessions(db: Database, tokens: Tokens): Sessions {
  const applications = createShortCache((appId) => findApplication(db, appId), FRESH_MS)
  const users = createShortCache<number>((key) => {
    const at = key.lastIndexOf('/')
    return userTokenVersion(db, key.slice(0, at), BigInt(key.slice(at + 1)))
  }, FRESH_MS)
  const groups = createShortCache<true>(async (key) => {
    const at = key.lastIndexOf('/')
    return (await isGroup(db, key.slice(0, at), BigInt(key.slice(at + 1)))) ? true : undefined
  }, FRESH_MS)
  const keyOf = (appId: string, id: bigint | string) => `${appId}/${id}`

  return {
    tokens,
    application: applications.get,
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
    isGroup: async (appId, groupId) => (await groups.get(keyOf(appId, groupId))) === true,
    async revokeUser(appId, userId) {
      await revokeUserTokens(db, appId, userId)
      users.forget(keyOf(appId, userId))
    },
    async revokeAdmins(appId) {
      await revokeAdminTokens(db, appId)
      applications.forget(appId)
    },
    async renewSecret(appId) {
      const appSecret = await renewApplicationSecret(db, appId)
      applications.forget(appId)
      return appSecret
    },
    forgetUser: (appId, userId) => users.forget(keyOf(appId, userId)),
  }
}
