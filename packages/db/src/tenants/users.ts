import type { AuditAction } from '@herald/domain'
import { disownDevicesOf } from '../devices/devices.ts'
import { type PushTokens, replaceTokensOfUser } from '../devices/push-tokens.ts'
import { addAudit, auditRow, type By } from '../ledger/audit-rows.ts'
import type { Database } from '../store/database.ts'
import { codeOf, retrying } from '../store/errors.ts'
import { openDays } from '../store/open-days.ts'
import { inPrismaTransaction, inTransaction } from '../store/statement.ts'

/** User ids are int64 and may be chosen by callers, hence bigint. */
export type User = {
  userId: bigint
  username: string
  mobile: string | null
  email: string | null
  createdAt: Date
}

/** Without a password (null) for users of the application's own sign-in. */
export type UserWithPassword = User & { passwordHash: string | null; tokenVersion: number }

export type NewUser = { username: string; mobile?: string; email?: string; passwordHash: string }

export type UserField = 'username' | 'mobile' | 'email'

/** With `groupId` the user becomes a member of that group. */
export async function createUser(
  db: Database,
  scope: UserScope,
  user: NewUser,
  by?: By,
): Promise<{ userId: bigint } | { taken: UserField }> {
  const { appId, groupId } = scope
  try {
    return await inPrismaTransaction(db, async (prisma) => {
      const { id } = await prisma.appUser.create({
        data: {
          appId,
          ...user,
          memberships: groupId === undefined ? undefined : { create: { groupId } },
        },
        select: { id: true },
      })
      if (by)
        await prisma.audit.create({
          data: auditRow({ appId, by, action: 'user.create', detail: { user_id: String(id) } }),
        })
      return { userId: id }
    })
  } catch (error) {
    const taken = codeOf(error) === '23505' ? takenField(error) : undefined
    if (taken) return { taken }
    throw error
  }
}

/** The users of an application, or the members of one of its groups. */
export type UserScope = { appId: string; groupId?: bigint }

function takenField(error: unknown): UserField | undefined {
  const index = /app_user_(username|mobile|email)/.exec(
    JSON.stringify((error as { meta?: unknown }).meta ?? ''),
  )
  return index?.[1] as UserField | undefined
}

const columns = `id::text AS "userId", username, mobile, email, password_hash AS "passwordHash",
  token_version AS "tokenVersion", created_at AS "createdAt"`
type Row = Omit<UserWithPassword, 'userId'> & { userId: string }

function userOf(row: Row | undefined): UserWithPassword | undefined {
  return row && { ...row, userId: BigInt(row.userId) }
}

export async function findUserById(
  db: Database,
  appId: string,
  userId: bigint,
): Promise<UserWithPassword | undefined> {
  const { rows } = await db.pool.query<Row>(`SELECT ${columns} FROM app_user WHERE id = $1 AND app_id = $2`, [
    userId,
    appId,
  ])
  return userOf(rows[0])
}

export async function findUserByName(
  db: Database,
  appId: string,
  username: string,
): Promise<UserWithPassword | undefined> {
  const { rows } = await db.pool.query<Row>(
    `SELECT ${columns} FROM app_user WHERE app_id = $1 AND username = $2`,
    [appId, username],
  )
  return userOf(rows[0])
}

/** Returns the user with this name, who is created without a password if unknown. */
export async function userNamed(db: Database, appId: string, username: string): Promise<UserWithPassword> {
  for (;;) {
    const known = await findUserByName(db, appId, username)
    if (known) return known
    // Another process may create the user at the same time, or remove it right after.
    const { rows } = await db.pool.query<Row>(
      `INSERT INTO app_user (app_id, username) VALUES ($1, $2)
       ON CONFLICT (app_id, username) DO NOTHING RETURNING ${columns}`,
      [appId, username],
    )
    const created = userOf(rows[0])
    if (created) return created
  }
}

/** Mobile before email before username: the mobile of one user may be the username of another. */
export async function findUserByLogin(
  db: Database,
  appId: string,
  login: string,
): Promise<UserWithPassword | undefined> {
  const { rows } = await db.pool.query<Row>(
    `SELECT ${columns} FROM app_user
     WHERE app_id = $1 AND (mobile = $2 OR email = $3 OR username = $2)
     ORDER BY mobile IS NOT DISTINCT FROM $2 DESC, email IS NOT DISTINCT FROM $3 DESC LIMIT 1`,
    [appId, login, login.toLowerCase()],
  )
  return userOf(rows[0])
}

export async function listUsers(
  db: Database,
  scope: UserScope,
  page: { after?: bigint; limit: number },
  username?: string,
): Promise<User[]> {
  const rows = await db.prisma.appUser.findMany({
    where: {
      appId: scope.appId,
      id: { gt: page.after },
      username,
      memberships: scope.groupId === undefined ? undefined : { some: { groupId: scope.groupId } },
    },
    omit: { appId: true, passwordHash: true, tokenVersion: true },
    orderBy: { id: 'asc' },
    take: page.limit,
  })
  return rows.map(({ id, ...user }) => ({ userId: id, ...user }))
}

/** The user's devices stay, without an owner and without the owner's data. Their push tokens are replaced. */
export async function removeUser(
  db: Database,
  tokens: PushTokens,
  scope: UserScope,
  userId: bigint,
  by?: By,
): Promise<boolean> {
  const days = await openDays(db)
  return retrying(() =>
    inTransaction(db, async (runner) => {
      const { rowCount } = await runner.query(
        `DELETE FROM app_user u WHERE id = $1 AND app_id = $2 AND ${inScope}`,
        [userId, scope.appId, scope.groupId ?? null],
      )
      if (rowCount === 0) return false
      await disownDevicesOf(runner, days, tokens, scope.appId, userId)
      if (by) await addAudit(runner, userEntry(scope.appId, by, 'user.remove', userId))
      return true
    }),
  )
}

/** Also revokes the user's tokens and replaces the push tokens of its devices. */
export async function changePassword(
  db: Database,
  tokens: PushTokens,
  scope: UserScope,
  userId: bigint,
  passwordHash: string,
  by?: By,
): Promise<boolean> {
  return retrying(() =>
    inTransaction(db, async (runner) => {
      const { rowCount } = await runner.query(
        `UPDATE app_user u SET password_hash = $4, token_version = token_version + 1
         WHERE id = $1 AND app_id = $2 AND ${inScope}`,
        [userId, scope.appId, scope.groupId ?? null, passwordHash],
      )
      if (rowCount !== 1) return false
      await replaceTokensOfUser(runner, tokens, scope.appId, userId)
      if (by) await addAudit(runner, userEntry(scope.appId, by, 'user.password', userId))
      return true
    }),
  )
}

function userEntry(appId: string, by: By, action: AuditAction, userId: bigint) {
  return { appId, by, action, detail: { user_id: String(userId) } }
}

const inScope = `($3::bigint IS NULL OR EXISTS (
  SELECT 1 FROM group_member m WHERE m.group_id = $3 AND m.user_id = u.id))`

/** Revokes all tokens of the user and replaces the push tokens of its devices. */
export async function revokeUserTokens(
  db: Database,
  tokens: PushTokens,
  appId: string,
  userId: bigint,
  by?: By,
): Promise<boolean> {
  return retrying(() =>
    inTransaction(db, async (runner) => {
      const { rowCount } = await runner.query(
        'UPDATE app_user SET token_version = token_version + 1 WHERE id = $1 AND app_id = $2',
        [userId, appId],
      )
      if (rowCount !== 1) return false
      await replaceTokensOfUser(runner, tokens, appId, userId)
      if (by) await addAudit(runner, userEntry(appId, by, 'token.revoke', userId))
      return true
    }),
  )
}

/** Undefined if the user does not exist. */
export async function userTokenVersion(
  db: Database,
  appId: string,
  userId: bigint,
): Promise<number | undefined> {
  const { rows } = await db.pool.query<{ token_version: number }>({
    name: 'user-token-version',
    text: 'SELECT token_version FROM app_user WHERE id = $1 AND app_id = $2',
    values: [userId, appId],
  })
  return rows[0]?.token_version
}
