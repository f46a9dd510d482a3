import { changePassword, createUser, listUsers, removeUser } from '@herald/db/tenants'
import { z } from 'zod'
import { byOf } from '../audit.ts'
import { Failure } from '../codes.ts'
import { int64, name, optional, page, required, text } from '../input/fields.ts'
import { int64Out, pageOf, readPage } from '../output/fields.ts'
import { showUser, userRecord } from '../output/user-record.ts'
import { route } from '../route.ts'
import { scopeOf } from '../scope.ts'

const tag = 'Users and groups'
const password = required(text(1024))
const mobile = optional(
  z.string().regex(/^\+?\d{3,20}$/, { error: 'must have 3 to 20 digits, with an optional leading +' }),
)
const email = optional(
  name(254).refine((value) => /^[^\s@]+@[^\s@]+$/.test(value), { error: 'must be an email address' }),
)

export const addUser = route({
  method: 'post',
  path: '/admin/user',
  tag,
  access: 'admin',
  summary: 'Create a user',
  description: 'An admin acting for a group creates a member of that group.',
  input: z.strictObject({ username: required(name(128)), mobile, email, password }),
  answer: z.object({ user_id: int64Out }),
  failures: [40901, 42901],
  example: { username: 'example-user', password: 'example-password' },
  async handler(context, input) {
    const { deps } = context
    const passwordHash = await deps.passwords.inTurn(context, () => deps.passwords.hash(input.password))
    const user = {
      username: input.username,
      mobile: input.mobile,
      // Logins are compared in lower case.
      email: input.email?.toLowerCase(),
      passwordHash,
    }
    const created = await createUser(deps.db, scopeOf(context), user, byOf(context))
    if ('taken' in created) throw new Failure(40901, `A user with this ${created.taken} already exists.`)
    return { user_id: created.userId }
  },
})

export const userList = route({
  method: 'post',
  path: '/admin/user/list',
  tag,
  access: 'admin',
  summary: 'List users',
  example: { limit: 10 },
  input: z.strictObject({
    username: optional(name(128)).describe(
      'Only the user with this name, for example after a lost response.',
    ),
    ...page,
  }),
  answer: pageOf(userRecord),
  handler: (context, input) =>
    readPage(
      input,
      (page) => listUsers(context.deps.db, scopeOf(context), page, input.username),
      (user) => user.userId,
      showUser,
    ),
})

export const userRemove = route({
  method: 'post',
  path: '/admin/user/remove',
  tag,
  access: 'admin',
  summary: 'Remove a user',
  example: { user_id: '$OTHER_USER_ID' },
  description:
    'Revokes the user’s tokens. The devices remain, with new push tokens and without owner, alias, tags, badge and inbox.',
  input: z.strictObject({ user_id: required(int64) }),
  answer: z.object({ removed: z.literal(true) }),
  async handler(context, { user_id }) {
    const { deps, appId } = context
    if (!(await removeUser(deps.db, deps.pushTokens, scopeOf(context), user_id, byOf(context))))
      throw new Failure(40401, `The user ${user_id} does not exist.`)
    deps.sessions.forgetUser(appId, user_id)
    return { removed: true as const }
  },
})

export const userPassword = route({
  method: 'post',
  path: '/admin/user/password',
  tag,
  access: 'admin',
  summary: 'Change the password of a user',
  description:
    'Revokes the user’s tokens and replaces the push tokens of its devices; a login returns the new one.',
  input: z.strictObject({ user_id: required(int64), password }),
  answer: z.object({ changed: z.literal(true) }),
  failures: [42901],
  example: { user_id: '$OTHER_USER_ID', password: 'another-password' },
  async handler(context, input) {
    const { deps, appId } = context
    const hash = await deps.passwords.inTurn(context, () => deps.passwords.hash(input.password))
    const { db, pushTokens } = deps
    if (!(await changePassword(db, pushTokens, scopeOf(context), input.user_id, hash, byOf(context))))
      throw new Failure(40401, `The user ${input.user_id} does not exist.`)
    deps.sessions.forgetUser(appId, input.user_id)
    return { changed: true as const }
  },
})
