import { randomBytes } from 'node:crypto'
import { claimDevice } from '@herald/db/devices'
import { countLogin, forgiveLogin, type UserWithPassword } from '@herald/db/tenants'
import { Failure } from '../codes.ts'
import type { Context } from '../route.ts'

export type Attempt = {
  /** What failures are counted under: the login as typed, known or not. */
  login: string
  password: string
  deviceGuid?: string
  find(): Promise<UserWithPassword | undefined>
}

/** One password login: the same steps, the same cost and the same refusal whether or not the user exists. */
export async function logIn(context: Context, attempt: Attempt) {
  const { deps, appId } = context
  const user = await deps.passwords.inTurn(async () => {
    const locked = await countLogin(deps.db, appId, attempt.login)
    if (locked)
      throw new Failure(42902, 'Too many logins have failed for this name; try again later.', {
        retryAfter: locked.waitSeconds,
      })
    const found = await attempt.find()
    if (!(await deps.passwords.verify(attempt.password, found?.passwordHash)) || !found)
      throw new Failure(40103, 'The login failed: the name or the password is wrong.')
    await forgiveLogin(deps.db, appId, attempt.login)
    return found
  })
  const device =
    attempt.deviceGuid === undefined
      ? undefined
      : await claimDevice(deps.db, { appId, guid: attempt.deviceGuid, userId: user.userId })
  return {
    ...tokenRecord(context, 'user', String(user.userId), user.tokenVersion),
    user_id: user.userId,
    ...(device && { push_token: device.pushToken }),
  }
}

export function tokenRecord(context: Context, role: 'user' | 'admin', subject: string, version: number) {
  const { tokens } = context.deps.sessions
  const { token, storeToken, expire } = tokens.issue({ app: context.appId, role, subject, version })
  return {
    access_key_secret: randomBytes(32).toString('hex'),
    encrypt_type: 0,
    expire,
    public_key: tokens.publicKey,
    store_token: storeToken,
    token,
  }
}
