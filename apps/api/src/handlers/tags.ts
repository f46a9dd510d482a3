import { addTags, clearAlias, removeTags, setAlias, tagsOf, tagsPerDevice } from '@herald/db/devices'
import { z } from 'zod'
import { Failure } from '../codes.ts'
import { name, optional, pushToken, required } from '../input/fields.ts'
import { type RouteContext, route } from '../route.ts'
import { noDevice, ownDevice } from '../scope.ts'

const tag = 'Devices'
const path = '/user/push/tag'
const tags = required(
  z
    .array(required(name(64)))
    .max(10 * tagsPerDevice)
    .refine((names) => new Set(names).size <= tagsPerDevice, {
      error: `must have at most ${tagsPerDevice} different items`,
    }),
).describe(`At most ${tagsPerDevice} different tags.`)
const answer = z.object({ tags: z.array(z.string()).describe('The tags of the device after the call.') })

async function tagsNow(context: RouteContext, deviceId: number) {
  return { tags: await tagsOf(context.deps.db, context.appId, deviceId) }
}

export const readTags = route({
  method: 'get',
  path,
  tag,
  access: 'user',
  summary: 'List the tags of a device',
  example: { push_token: '$PUSH_TOKEN' },
  input: z.strictObject({ push_token: required(pushToken) }),
  answer,
  async handler(context, input) {
    const { deviceId } = await ownDevice(context, input.push_token)
    return tagsNow(context, deviceId)
  },
})

export const addDeviceTags = route({
  method: 'post',
  path,
  tag,
  access: 'user',
  summary: 'Add tags to a device',
  example: { push_token: '$PUSH_TOKEN', tags: ['beta'] },
  description: `A device has at most ${tagsPerDevice} tags of at most 64 characters. Either all tags are added or none.`,
  input: z.strictObject({ push_token: required(pushToken), tags }),
  answer,
  async handler(context, input) {
    const device = await ownDevice(context, input.push_token)
    const result = await addTags(context.deps.db, context.appId, device, input.tags)
    if (result === 'gone') throw noDevice(context)
    if (result === 'too many')
      throw new Failure(40002, `tags: the device would have more than ${tagsPerDevice} tags.`)
    return tagsNow(context, device.deviceId)
  },
})

export const removeDeviceTags = route({
  method: 'delete',
  path,
  tag,
  access: 'user',
  summary: 'Remove tags from a device',
  example: { push_token: '$PUSH_TOKEN', tags: ['beta'] },
  input: z.strictObject({ push_token: required(pushToken), tags }),
  answer,
  async handler(context, input) {
    const device = await ownDevice(context, input.push_token)
    if (!(await removeTags(context.deps.db, context.appId, device, input.tags))) throw noDevice(context)
    return tagsNow(context, device.deviceId)
  },
})

export const removeAllTags = route({
  method: 'delete',
  path: `${path}/all`,
  tag,
  access: 'user',
  summary: 'Remove all tags from a device',
  example: { push_token: '$PUSH_TOKEN' },
  input: z.strictObject({ push_token: required(pushToken) }),
  answer,
  async handler(context, input) {
    const device = await ownDevice(context, input.push_token)
    if (!(await removeTags(context.deps.db, context.appId, device))) throw noDevice(context)
    return { tags: [] }
  },
})

const aliasAnswer = z.object({
  alias: z.string().nullable().describe('The alias of the device after the call.'),
})

export const setDeviceAlias = route({
  method: 'post',
  path: '/user/push/alias',
  tag,
  access: 'user',
  summary: 'Set the alias of a device',
  description:
    'A device has one alias; any number of devices may share it. Another alias is another person: messages that wait for the device are not delivered any more.',
  example: { push_token: '$PUSH_TOKEN', alias: 'carol' },
  input: z.strictObject({ push_token: required(pushToken), alias: required(name(128)) }),
  answer: aliasAnswer,
  async handler(context, input) {
    const device = await ownDevice(context, input.push_token)
    if (!(await setAlias(context.deps.db, context.appId, device, input.alias))) throw noDevice(context)
    return { alias: input.alias }
  },
})

export const clearDeviceAlias = route({
  method: 'delete',
  path: '/user/push/alias',
  tag,
  access: 'user',
  summary: 'Clear the alias of a device',
  description:
    'If `alias` is given, only if it is the current alias. Messages that wait for the device are not delivered any more.',
  example: { push_token: '$PUSH_TOKEN' },
  input: z.strictObject({ push_token: required(pushToken), alias: optional(name(128)) }),
  answer: aliasAnswer,
  async handler(context, input) {
    const device = await ownDevice(context, input.push_token)
    const left = await clearAlias(context.deps.db, context.appId, device, input.alias)
    if (!left) throw noDevice(context)
    return left
  },
})
