import { addAudit, type By } from '../ledger/audit-rows.ts'
import type { Database } from '../store/database.ts'
import { codeOf } from '../store/errors.ts'
import { inTransaction } from '../store/statement.ts'
import type { User } from './users.ts'

export type Group = { groupId: bigint; name: string; members: number; createdAt: Date }

export async function createGroup(
  db: Database,
  appId: string,
  name: string,
  by?: By,
): Promise<{ groupId: bigint } | 'taken'> {
  try {
    return await inTransaction(db, async (runner) => {
      const { rows } = await runner.query<{ id: string }>(
        'INSERT INTO user_group (app_id, name) VALUES ($1, $2) RETURNING id::text',
        [appId, name],
      )
      const groupId = BigInt(rows[0]!.id)
      if (by)
        await addAudit(runner, { appId, by, action: 'group.create', detail: { group_id: String(groupId) } })
      return { groupId }
    })
  } catch (error) {
    if (codeOf(error) === '23505') return 'taken'
    throw error
  }
}

export async function listGroups(
  db: Database,
  appId: string,
  page: { after?: bigint; limit: number },
): Promise<Group[]> {
  const rows = await db.prisma.userGroup.findMany({
    where: { appId, id: { gt: page.after } },
    include: { _count: { select: { members: true } } },
    orderBy: { id: 'asc' },
    take: page.limit,
  })
  return rows.map((row) => ({
    groupId: row.id,
    name: row.name,
    members: row._count.members,
    createdAt: row.createdAt,
  }))
}

export async function removeGroup(db: Database, appId: string, groupId: bigint, by?: By): Promise<boolean> {
  return inTransaction(db, async (runner) => {
    const { rowCount } = await runner.query('DELETE FROM user_group WHERE app_id = $1 AND id = $2', [
      appId,
      groupId,
    ])
    if (rowCount === 0) return false
    if (by)
      await addAudit(runner, { appId, by, action: 'group.remove', detail: { group_id: String(groupId) } })
    return true
  })
}

export async function isGroup(db: Database, appId: string, groupId: bigint): Promise<boolean> {
  const { rowCount } = await db.pool.query({
    name: 'is-group',
    text: 'SELECT 1 FROM user_group WHERE id = $1 AND app_id = $2',
    values: [groupId, appId],
  })
  return rowCount === 1
}

export async function isMember(
  db: Database,
  appId: string,
  groupId: bigint,
  userId: bigint | null,
): Promise<boolean> {
  const { rowCount } = await db.pool.query(
    `SELECT 1 FROM group_member m JOIN user_group g ON g.id = m.group_id
     WHERE m.group_id = $1 AND m.user_id = $2 AND g.app_id = $3`,
    [groupId, userId, appId],
  )
  return rowCount === 1
}

const memberChanges = {
  add: `INSERT INTO group_member (group_id, user_id)
        SELECT g.id, u.id FROM user_group g JOIN app_user u ON u.app_id = g.app_id
        WHERE g.id = $1 AND g.app_id = $2 AND u.id = ANY($3::bigint[])
        ORDER BY u.id ON CONFLICT DO NOTHING`,
  remove: `DELETE FROM group_member m USING user_group g
           WHERE g.id = $1 AND g.app_id = $2 AND m.group_id = g.id AND m.user_id = ANY($3::bigint[])`,
}

/** Returns how many users became members, or no longer are. Users that do not exist are ignored. */
export async function changeMembers(
  db: Database,
  change: keyof typeof memberChanges,
  { appId, groupId, userIds }: { appId: string; groupId: bigint; userIds: bigint[] },
  by?: By,
): Promise<number> {
  return inTransaction(db, async (runner) => {
    const { rowCount } = await runner.query(memberChanges[change], [groupId, appId, userIds.map(String)])
    const users = rowCount ?? 0
    if (by && users > 0) {
      const detail = { group_id: String(groupId), users }
      await addAudit(runner, { appId, by, action: `group.member_${change}`, detail })
    }
    return users
  })
}

export async function listMembers(
  db: Database,
  appId: string,
  groupId: bigint,
  page: { after?: bigint; limit: number },
): Promise<User[]> {
  // One statement: if the members were read first, a user could be removed before it is read.
  const rows = await db.prisma.appUser.findMany({
    where: { appId, id: { gt: page.after }, memberships: { some: { groupId, group: { appId } } } },
    omit: { appId: true, passwordHash: true, tokenVersion: true },
    orderBy: { id: 'asc' },
    take: page.limit,
  })
  return rows.map(({ id, ...user }) => ({ userId: id, ...user }))
}
