import type { Sessions } from '../auth/sessions.ts'
import { Failure } from '../codes.ts'
import { readInt64 } from '../input/fields.ts'
import type { Caller } from '../route.ts'

/** For whom a caller wants to act. */
type ActAs = { userId?: bigint; groupId?: bigint }

export function readActAs(headers: { userId?: string; groupId?: string }): ActAs {
  return { userId: readId('user_id', headers.userId), groupId: readId('group_id', headers.groupId) }
}

function readId(header: string, value: string | undefined): bigint | undefined {
  if (value === undefined) return undefined
  const read = readInt64(value)
  if (read === undefined) throw new Failure(40002, `The header ${header} must be a whole number of 64 bits.`)
  return read
}

/** A user acts as nobody else. */
export function actingUser(own: bigint, actAs: ActAs): Caller {
  if (actAs.groupId !== undefined)
    throw new Failure(40302, 'The header group_id is allowed with an admin token only.')
  if (actAs.userId !== undefined && actAs.userId !== own)
    throw new Failure(40302, 'The header user_id of a user token can only name its own user.')
  return { role: 'user', userId: own, actor: `user ${own}` }
}

/** An admin acts as a user with that user's rights alone, or within a group. */
export async function actingAdmin(
  sessions: Pick<Sessions, 'isUser' | 'isGroup'>,
  appId: string,
  { userId, groupId }: ActAs,
  name: 'admin' | 'operator',
): Promise<Caller> {
  if (userId !== undefined && groupId !== undefined)
    throw new Failure(40302, 'The headers user_id and group_id cannot be used together.')
  if (userId !== undefined) {
    if (!(await sessions.isUser(appId, userId)))
      throw new Failure(40401, `The user ${userId} does not exist.`)
    return { role: 'user', userId, actor: `${name} as user ${userId}` }
  }
  if (groupId !== undefined) {
    if (!(await sessions.isGroup(appId, groupId)))
      throw new Failure(40401, `The group ${groupId} does not exist.`)
    return { role: 'admin', groupId, actor: `${name} of group ${groupId}` }
  }
  return { role: 'admin', actor: name }
}
