import { changeMembers, createGroup, isGroup, listGroups, listMembers, removeGroup } from '@herald/db/tenants'
import { z } from 'zod'
import { byOf } from '../audit.ts'
import { Failure } from '../codes.ts'
import { int64, name, page, required } from '../input/fields.ts'
import { int64Out, pageOf, readPage, seconds, timestamp } from '../output/fields.ts'
import { showUser, userRecord } from '../output/user-record.ts'
import { type RouteContext, route } from '../route.ts'

const tag = 'Users and groups'

/** An admin acting for a group can access no other group. */
async function checkGroup({ deps, appId, caller }: RouteContext, groupId: bigint): Promise<void> {
  const hidden = caller.role === 'admin' && caller.groupId !== undefined && caller.groupId !== groupId
  if (hidden || !(await isGroup(deps.db, appId, groupId)))
    throw new Failure(40401, `The group ${groupId} does not exist.`)
}

export const addGroup = route({
  method: 'post',
  path: '/admin/group',
  tag,
  access: 'admin',
  groupRefused: true,
  summary: 'Create a group of users',
  input: z.strictObject({ name: required(name(128)) }),
  answer: z.object({ group_id: int64Out }),
  failures: [40901],
  example: { name: 'example-group' },
  async handler(context, input) {
    const { deps, appId } = context
    const created = await createGroup(deps.db, appId, input.name, byOf(context))
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
  summary: 'List groups',
  example: { limit: 10 },
  input: z.strictObject({ ...page }),
  answer: pageOf(z.object({ group_id: int64Out, name: z.string(), members: z.int(), created_at: timestamp })),
  handler: ({ deps, appId }, input) =>
    readPage(
      input,
      (page) => listGroups(deps.db, appId, page),
      (group) => group.groupId,
      ({ groupId, name, members, createdAt }) => ({
        group_id: groupId,
        name,
        members,
        created_at: seconds(createdAt),
      }),
    ),
})

export const groupRemove = route({
  method: 'post',
  path: '/admin/group/remove',
  tag,
  access: 'admin',
  groupRefused: true,
  summary: 'Remove a group',
  description: 'Its members remain users.',
  example: { group_id: '$GROUP_ID' },
  input: z.strictObject({ group_id: required(int64) }),
  answer: z.object({ removed: z.literal(true) }),
  async handler(context, { group_id }) {
    const { deps, appId } = context
    if (!(await removeGroup(deps.db, appId, group_id, byOf(context))))
      throw new Failure(40401, `The group ${group_id} does not exist.`)
    deps.sessions.forgetGroup(appId, group_id)
    return { removed: true as const }
  },
})

function memberChange(
  change: 'add' | 'remove',
  counted: 'added' | 'removed',
  words: { summary: string; description?: string },
) {
  return route({
    method: 'post',
    path: `/admin/group/member/${change}`,
    tag,
    access: 'admin',
    ...words,
    example: { group_id: '$GROUP_ID', user_ids: ['$OTHER_USER_ID'] },
    input: z.strictObject({ group_id: required(int64), user_ids: required(z.array(int64).max(1000)) }),
    answer: z.object({ [counted]: z.int() }),
    async handler(context, { group_id: groupId, user_ids: userIds }) {
      await checkGroup(context, groupId)
      const { deps, appId } = context
      const members = { appId, groupId, userIds }
      return { [counted]: await changeMembers(deps.db, change, members, byOf(context)) }
    },
  })
}

export const memberAdd = memberChange('add', 'added', {
  summary: 'Add users to a group',
  description: 'Users that do not exist or are already members are ignored.',
})
export const memberRemove = memberChange('remove', 'removed', { summary: 'Remove users from a group' })

export const memberList = route({
  method: 'post',
  path: '/admin/group/member/list',
  tag,
  access: 'admin',
  summary: 'List the members of a group',
  example: { group_id: '$GROUP_ID' },
  input: z.strictObject({ group_id: required(int64), ...page }),
  answer: pageOf(userRecord),
  async handler(context, input) {
    await checkGroup(context, input.group_id)
    return readPage(
      input,
      (page) => listMembers(context.deps.db, context.appId, input.group_id, page),
      (user) => user.userId,
      showUser,
    )
  },
})
