import { randomBytes } from 'node:crypto'
import { claimDevice, UserGone } from '@herald/db/devices'
import {
  countLoginAttempt,
  recordFailedSignIn,
  type UserWithPassword,
  uncountLoginAttempt,
} from '@herald/db/tenants'
import { byOf } from '../audit.ts'
import { Failure } from '../codes.ts'
import type { RouteContext } from '../route.ts'
import type { Claims, Tokens } from './tokens.ts'

export type Attempt = {
  /** The login in lower case, whether or not it exists; failures are counted per login. */
  login: string
  password: string
  deviceGuid?: string
  find(): Promise<UserWithPassword | undefined>
}

/** Logs in with a password. Steps, cost and error message are the same whether or not the user exists. */
export async function logIn(context: RouteContext, { login, password, deviceGuid, find }: Attempt) {
  const { deps, appId, isAdminToken } = context
  const { db, passwords } = deps
  const user = await limitFailures(context, () =>
    passwords.inTurn({ appId, login, isAdminToken }, async () => {
      const locked = await countLoginAttempt(db, appId, login)
      if (locked)
        throw new Failure(42902, 'Too many failed logins for this name; try again later.', {
          retryAfter: locked.waitSeconds,
        })
      const found = await find()
      // A user has several logins, which share this limit. It must not show: the answer would tell that they belong together. Logins
      // are in lower case, so none has the name of this counter; an attempt with that name would tell whether the limit is reached.
      const owner = found ? `User ${found.userId}` : `No user ${login}`
      const isLocked = await countLoginAttempt(db, appId, owner)
      if (!(await passwords.verify(password, found?.passwordHash)) || isLocked || !found) {
        await recordFailedSignIn(db, {
          appId,
          by: byOf(context),
          action: 'login.failed',
          detail: found && { user_id: String(found.userId) },
        })
        throw new Failure(
          40103,
          'The login failed: the name or the password is wrong, or too many logins of this user failed.',
        )
      }
      await uncountLoginAttempt(db, appId, login)
      await uncountLoginAttempt(db, appId, owner)
      return found
    }),
  )
  return signIn(context, user, deviceGuid)
}

/** The token record of a user who has proved who it is. The device becomes the user's. */
export async function signIn(
  { deps, appId }: RouteContext,
  { userId, tokenVersion: version }: Pick<UserWithPassword, 'userId' | 'tokenVersion'>,
  deviceGuid: string | undefined,
) {
  const { db, pushTokens, sessions } = deps
  const device =
    deviceGuid === undefined
      ? undefined
      : await claimDevice(db, pushTokens, {
          appId,
          guid: deviceGuid,
          userId,
          tokenVersion: version,
        }).catch((error) => {
          if (error instanceof UserGone)
            throw new Failure(40103, 'The login failed: the user was removed, or its tokens were revoked.')
          throw error
        })
  return {
    ...tokenRecord(sessions.tokens, { app: appId, role: 'user', subject: String(userId), version }),
    user_id: userId,
    ...(device && { push_token: device.pushToken }),
  }
}

/** Counts an attempt that fails with 40103 for the address, in this process; too many are refused. Not for callers with an admin token. */
export async function limitFailures<T>(
  { deps, isAdminToken, address }: RouteContext,
  attempt: () => Promise<T>,
): Promise<T> {
  if (isAdminToken) return attempt()
  const { failedLogin } = deps.limits
  const retryAfter = failedLogin.take(address)
  if (retryAfter > 0)
    throw new Failure(42902, 'Too many failed logins from this address; try again later.', { retryAfter })
  let failed = false
  try {
    return await attempt()
  } catch (error) {
    failed = error instanceof Failure && error.code === 40103
    throw error
  } finally {
    if (!failed) failedLogin.giveBack(address)
  }
}

export function tokenRecord(tokens: Tokens, claims: Claims, until?: number) {
  const { token, storeToken, expire } = tokens.issue(claims, undefined, until)
  return {
    access_key_secret: randomBytes(32).toString('hex'),
    encrypt_type: 0,
    expire,
    public_key: tokens.publicKey,
    store_token: storeToken,
    token,
  }
}
