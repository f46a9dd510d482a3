import { keepReads } from '@herald/async'
import type { PushTokens } from '@herald/db/devices'
import type { By } from '@herald/db/ledger'
import type { Database } from '@herald/db/store'
import {
  type Application,
  changesOf,
  findApplication,
  isGroup,
  renewApplicationSecret,
  revokeAdminTokens,
  revokeUserTokens,
  userTokenVersion,
} from '@herald/db/tenants'
import type { Claims, Tokens } from './tokens.ts'

/** Known applications, users and token versions. They are kept until they change, so that a request costs no query. */
export type Sessions = {
  tokens: Tokens
  /** `version` is a token version that the application has had: what is kept from before it is read again. */
  application(appId: string, version?: number): Promise<Application | undefined>
  /** Returns whether `application` needs no query for this id. */
  isApplicationCached(appId: string): boolean
  /** Undefined when the token is invalid, revoked, or of another application. */
  claims(application: Application, token: string): Promise<Claims | undefined>
  isUser(appId: string, userId: bigint): Promise<boolean>
  isGroup(appId: string, groupId: bigint): Promise<boolean>
  revokeUser(appId: string, userId: bigint, by: By): Promise<void>
  revokeAdmins(appId: string, by: By): Promise<void>
  /** Returns the new secret; undefined when the application does not exist. */
  renewSecret(appId: string, keepOldSeconds: number, by: By): Promise<string | undefined>
  /** To be called after a change of the application's settings; other processes notice within a second. */
  forgetApplication(appId: string): void
  /** To be called after a change that ended a user's tokens; other processes notice within a second. */
  forgetUser(appId: string, userId: bigint): void
  /** To be called after the removal of a group; other processes notice within a second. */
  forgetGroup(appId: string, groupId: bigint): void
}

/** How long an id that does not exist is remembered. Otherwise every call with such an id would cost a query. */
const MISS_MS = 1000
/** Changes are reported (changesOf). Nothing is used for longer than this, in case a change was not, such as one made without triggers. */
const MAX_AGE_MS = 3_600_000
const MAX_KEYS = 50_000
/** Characters. Longer ids do not exist, and must not fill the cache. */
const MAX_APP_ID = 32

export function createSessions(db: Database, tokens: Tokens, pushTokens: PushTokens): Sessions {
  const changes = changesOf(db)
  const kept = <Value>(read: (key: string) => Promise<Value>) =>
    keepReads({
      read,
      maxKeys: MAX_KEYS,
      maxAgeMs: MAX_AGE_MS,
      isMiss: (value) => value === undefined || value === false,
      missMs: MISS_MS,
    })
  const keyOf = (appId: string, id: bigint | string) => `${appId}/${id}`
  const byKey =
    <Value>(read: (db: Database, appId: string, id: bigint) => Promise<Value>) =>
    (key: string) => {
      const at = key.lastIndexOf('/')
      return read(db, key.slice(0, at), BigInt(key.slice(at + 1)))
    }
  const applications = kept((appId) => findApplication(db, appId))
  const users = kept(byKey(userTokenVersion))
  const groups = kept(byKey(isGroup))
  changes.onApplications(({ all, ids }) => {
    if (all) applications.forgetAll()
    else for (const appId of ids) applications.forget(appId)
  })
  changes.onUsers(({ all, ids }) => {
    const isStale = (key: string) => all || ids.has(key.slice(0, key.lastIndexOf('/')))
    users.forgetWhere(isStale)
    groups.forgetWhere(isStale)
  })
  /** Without a promise of its own: it runs in every call, and nearly always has nothing to wait for. */
  function current<Value>(read: (key: string) => Promise<Value>, key: string): Promise<Value> {
    const asked = changes.refreshed()
    return asked ? asked.then(() => read(key)) : read(key)
  }

  /** Reads once more what is kept with a lower version: another process has just raised it. */
  async function notBefore(appId: string, version: number): Promise<Application | undefined> {
    const kept = await current(applications.get, appId)
    if (!kept || kept.tokenVersion >= version) return kept
    applications.forget(appId)
    return applications.get(appId)
  }

  return {
    tokens,
    application(appId, version) {
      if (appId.length > MAX_APP_ID) return Promise.resolve(undefined)
      return version === undefined ? current(applications.get, appId) : notBefore(appId, version)
    },
    isApplicationCached: (appId) => appId.length > MAX_APP_ID || applications.isKept(appId),
    async claims(application, token) {
      const claims = tokens.verify(token)
      if (claims?.app !== application.appId) return undefined
      const { app, role, subject, version } = claims
      // We have signed the version: strangers cannot cause a second read.
      if (role === 'admin') {
        const known = application.tokenVersion < version ? await notBefore(app, version) : application
        return known?.tokenVersion === version ? claims : undefined
      }
      const key = keyOf(app, subject)
      let known = await current(users.get, key)
      if (known !== undefined && known < version) {
        users.forget(key)
        known = await users.get(key)
      }
      return known === version ? claims : undefined
    },
    isUser: async (appId, userId) => (await current(users.get, keyOf(appId, userId))) !== undefined,
    isGroup: (appId, groupId) => current(groups.get, keyOf(appId, groupId)),
    async revokeUser(appId, userId, by) {
      await revokeUserTokens(db, pushTokens, appId, userId, by)
      users.forget(keyOf(appId, userId))
    },
    async revokeAdmins(appId, by) {
      await revokeAdminTokens(db, appId, by)
      applications.forget(appId)
    },
    async renewSecret(appId, keepOldSeconds, by) {
      const appSecret = await renewApplicationSecret(db, appId, keepOldSeconds, by)
      applications.forget(appId)
      return appSecret
    },
    forgetApplication: applications.forget,
    forgetUser: (appId, userId) => users.forget(keyOf(appId, userId)),
    forgetGroup: (appId, groupId) => groups.forget(keyOf(appId, groupId)),
  }
}
