import type { Sessions } from '../auth/sessions.ts'
import { Failure } from '../codes.ts'
import type { Caller } from '../route.ts'
import type { AccessRule, ActAs, Authenticated } from './authenticate.ts'

type Known = Pick<Sessions, 'isUser' | 'isGroup'>

/** Decides which user or group the caller acts for, and whether it may use the route. */
export async function authorise(
  sessions: Known,
  rule: AccessRule,
  authenticated: Authenticated,
): Promise<Caller> {
  const caller = await callerOf(sessions, rule, authenticated)
  if (rule.access === 'operator' && caller.role !== 'operator')
    throw new Failure(40301, 'Only the operator may do this.')
  const isForBoth = rule.access === 'console' || rule.access === 'owner'
  const isAdmin = caller.role === 'admin' || (caller.role === 'operator' && isForBoth)
  if ((rule.access === 'admin' || isForBoth) && !isAdmin)
    throw new Failure(40301, 'Only an admin of the application may do this.')
  if (rule.access === 'user' && caller.role !== 'user')
    throw new Failure(
      40301,
      'Only a user may do this: send a user token, or an admin token with the header user_id.',
    )
  if (rule.groupRefused && caller.role === 'admin' && caller.groupId !== undefined)
    throw new Failure(40301, 'An admin of a group may not do this.')
  return caller
}

async function callerOf(
  sessions: Known,
  { access }: AccessRule,
  { application, identity, actAs }: Authenticated,
): Promise<Caller> {
  if (identity.role === 'none') return { role: 'none' }
  if (identity.role === 'user') return actingUser(identity.userId, actAs)
  if (identity.role === 'operator' && (access === 'operator' || access === 'owner' || access === 'console'))
    return { role: 'operator', actor: 'operator' }
  return actingAdmin(sessions, application.appId, actAs, identity.role)
}

/** A user acts for no other user. */
function actingUser(own: bigint, actAs: ActAs): Caller {
  if (actAs.groupId !== undefined)
    throw new Failure(40302, 'The header group_id is allowed with an admin token only.')
  if (actAs.userId !== undefined && actAs.userId !== own)
    throw new Failure(40302, 'With a user token, the header user_id must be the user’s own id.')
  return { role: 'user', userId: own, actor: `user ${own}` }
}

/** An admin acts as a user with only that user's rights, or within a group. On these routes the operator is an admin. */
async function actingAdmin(
  sessions: Known,
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
