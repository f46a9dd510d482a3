import {
  addMembers,
  createGroup,
  isGroup,
  listGroups,
  listMembers,
  removeGroup,
  removeMembers,
} from '@herald/db/tenants'
import { z } from 'zod'
import { Failure } from '../codes.ts'
import { cutPage, DEFAULT_PAGE, int64Out, pageOf, seconds, timestamp } from '../input/answers.ts'
import { int64, name, page, required } from '../input/fields.ts'
import { type Context, route } from '../route.ts'
import { note } from './audit.ts'
import { showUser, userRecord } from './users.ts'

const tag = 'Users and groups'
const members = { group_id: required(int64), user_ids: required(z.array(int64).max(1000)) }
const memberExample = { group_id: '$GROUP_ID', user_ids: ['$OTHER_USER_ID'] }

/** An admin acting for a group sees no other. */
async function checkGroup({ deps, appId, caller }: Context, groupId: bigint): Promise<void> {
  const hidden = caller.role === 'admin' && caller.groupId !== undefined && caller.groupId !== groupId
  if (hidden || !(await isGroup(deps.db, appId, groupId)))
    throw new Failure(40401, `The group ${groupId} does not exist.`)
}

export const addGroup = route({
  method: 'post',
  path: '/admin/group',
  tag,
  access: 'admin',
  summary: 'Create a group of users',
  input: z.strictObject({ name: required(name(128)) }),
  answer: z.object({ group_id: int64Out }),
  failures: [40901],
  example: { name: 'example-group' },
  async handler({ deps, appId }, input) {
    const created = await createGroup(deps.db, appId, input.name)
    if (created === 'taken') throw new Failure(40901, 'A group with this name already exists.')
    return { group_id: created.groupId }
  },
})

export const groupList = route({
  method: 'post',
  path: '/admin/group/list',
  tag,
  access: 'admin',
  groupRefused: true,
  summary: 'Groups by id',
  example: { limit: 10 },
  input: z.strictObject({ ...page }),
  answer: pageOf(z.object({ group_id: int64Out, name: z.string(), members: z.int(), created_at: timestamp })),
  async handler({ deps, appId }, input) {
    const limit = input.limit ?? DEFAULT_PAGE
    const rows = await listGroups(deps.db, appId, { after: input.after, limit: limit + 1 })
    return cutPage(
      rows,
      limit,
      (group) => group.groupId,
      (group) => ({
        group_id: group.groupId,
        name: group.name,
        members: group.members,
        created_at: seconds(group.createdAt),
      }),
    )
  },
})

export const groupRemove = route({
  method: 'post',
  path: '/admin/group/remove',
  tag,
  access: 'admin',
  groupRefused: true,
  summary: 'Remove a group; its members stay users',
  example: { group_id: '$GROUP_ID' },
  input: z.strictObject({ group_id: required(int64) }),
  answer: z.object({ removed: z.literal(true) }),
  async handler(context, { group_id }) {
    const { deps, appId } = context
    if (!(await removeGroup(deps.db, appId, group_id)))
      throw new Failure(40401, `The group ${group_id} does not exist.`)
    await note(context, 'group.remove', { group_id: String(group_id) })
    return { removed: true as const }
  },
})

export const memberAdd = route({
  method: 'post',
  path: '/admin/group/member/add',
  tag,
  access: 'admin',
  summary: 'Add users to a group',
  example: memberExample,
  description: 'Users that do not exist, or are members already, are passed over.',
  input: z.strictObject(members),
  answer: z.object({ added: z.int() }),
  async handler(context, input) {
    await checkGroup(context, input.group_id)
    return { added: await addMembers(context.deps.db, context.appId, input.group_id, input.user_ids) }
  },
})

export const memberRemove = route({
  method: 'post',
  path: '/admin/group/member/remove',
  tag,
  access: 'admin',
  summary: 'Remove users from a group',
  example: memberExample,
  input: z.strictObject(members),
  answer: z.object({ removed: z.int() }),
  async handler(context, input) {
    await checkGroup(context, input.group_id)
    return { removed: await removeMembers(context.deps.db, context.appId, input.group_id, input.user_ids) }
  },
})

export const memberList = route({
  method: 'post',
  path: '/admin/group/member/list',
  tag,
  access: 'admin',
  summary: 'Members of a group',
  example: { group_id: '$GROUP_ID' },
  input: z.strictObject({ group_id: required(int64), ...page }),
  answer: pageOf(userRecord),
  async handler(context, input) {
    await checkGroup(context, input.group_id)
    const limit = input.limit ?? DEFAULT_PAGE
    const rows = await listMembers(context.deps.db, context.appId, input.group_id, {
      after: input.after,
      limit: limit + 1,
    })
    return cutPage(rows, limit, (user) => user.userId, showUser)
  },
})
