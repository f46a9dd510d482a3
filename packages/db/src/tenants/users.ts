import { disownDevicesOf } from '../devices/devices.ts'
import type { Database } from '../store/database.ts'
import { codeOf, retrying } from '../store/errors.ts'
import { inTransaction } from '../store/statement.ts'

/** User ids are int64 that callers may name, so they travel as bigint. */
export type User = {
  userId: bigint
  username: string
  mobile: string | null
  email: string | null
  createdAt: Date
}

export type UserWithPassword = User & { passwordHash: string; tokenVersion: number }

export type NewUser = { username: string; mobile?: string; email?: string; passwordHash: string }

export type UserField = 'username' | 'mobile' | 'email'

/** With `groupId` the user is born a member of that group. */
export async function createUser(
  db: Database,
  scope: UserScope,
  user: NewUser,
): Promise<{ userId: bigint } | { taken: UserField }> {
  try {
    const { id } = await db.prisma.appUser.create({
      data: {
        appId: scope.appId,
        ...user,
        memberships: scope.groupId === undefined ? undefined : { create: { groupId: scope.groupId } },
      },
      select: { id: true },
    })
    return { userId: id }
  } catch (error) {
    const taken = codeOf(error) === '23505' ? takenField(error) : undefined
    if (taken) return { taken }
    throw error
  }
}

/** Whom a call may reach: an application, or one group's members in it. */
export type UserScope = { appId: string; groupId?: bigint }

function takenField(error: unknown): UserField | undefined {
  const index = /app_user_(username|mobile|email)/.exec(
    JSON.stringify((error as { meta?: unknown }).meta ?? ''),
  )
  return index?.[1] as UserField | undefined
}

const columns = 'id::text, username, mobile, email, password_hash, token_version, created_at'
type Row = {
  id: string
  username: string
  mobile: string | null
  email: string | null
  password_hash: string
  token_version: number
  created_at: Date
}

function userOf(row: Row | undefined): UserWithPassword | undefined {
  if (!row) return undefined
  return {
    userId: BigInt(row.id),
    username: row.username,
    mobile: row.mobile,
    email: row.email,
    passwordHash: row.password_hash,
    tokenVersion: row.token_version,
    createdAt: row.created_at,
  }
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

/** Mobile first, then email, then username: one text may be the mobile of one user and the username of another. */
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
): Promise<User[]> {
  const rows = await db.prisma.appUser.findMany({
    where: {
      appId: scope.appId,
      id: { gt: page.after },
      memberships: scope.groupId === undefined ? undefined : { some: { groupId: scope.groupId } },
    },
    omit: { passwordHash: true, tokenVersion: true },
    orderBy: { id: 'asc' },
    take: page.limit,
  })
  return rows.map(({ id, username, mobile, email, createdAt }) => ({
    userId: id,
    username,
    mobile,
    email,
    createdAt,
  }))
}

/** The user's devices stay, without an owner and without what was personal. */
export async function removeUser(db: Database, scope: UserScope, userId: bigint): Promise<boolean> {
  return retrying(() =>
    inTransaction(db, async (runner) => {
      const { rowCount } = await runner.query(
        `DELETE FROM app_user u WHERE id = $1 AND app_id = $2 AND ${inScope}`,
        [userId, scope.appId, scope.groupId ?? null],
      )
      if (rowCount === 0) return false
      await disownDevicesOf(runner, scope.appId, userId)
      return true
    }),
  )
}

/** Ends the user's tokens too. */
export async function changePassword(
  db: Database,
  scope: UserScope,
  userId: bigint,
  passwordHash: string,
): Promise<boolean> {
  const { rowCount } = await db.pool.query(
    `UPDATE app_user u SET password_hash = $4, token_version = token_version + 1
     WHERE id = $1 AND app_id = $2 AND ${inScope}`,
    [userId, scope.appId, scope.groupId ?? null, passwordHash],
  )
  return rowCount === 1
}

const inScope = `($3::bigint IS NULL OR EXISTS (
  SELECT 1 FROM group_member m WHERE m.group_id = $3 AND m.user_id = u.id))`

/** Ends every token of the user. */
export async function revokeUserTokens(db: Database, appId: string, userId: bigint): Promise<boolean> {
  const { rowCount } = await db.pool.query(
    'UPDATE app_user SET token_version = token_version + 1 WHERE id = $1 AND app_id = $2',
    [userId, appId],
  )
  return rowCount === 1
}

/** Undefined: no such user (any more). */
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
