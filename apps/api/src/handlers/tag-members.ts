import { changeTagMembers, type DeviceKey, listTags, tagsPerDevice } from '@herald/db/devices'
import { z } from 'zod'
import { Failure } from '../codes.ts'
import { deviceGuid, int64, integer, name, optional, pushToken, required } from '../input/fields.ts'
import { int64Out } from '../output/fields.ts'
import { MIB, route } from '../route.ts'

const tag = 'Devices'
const MAX_ENTRIES = 1000

const entry = z
  .strictObject({
    push_token: optional(pushToken),
    device_guid: optional(deviceGuid),
    alias: optional(name(128)),
    user_id: optional(int64),
  })
  .refine((body) => Object.values(body).filter((value) => value !== undefined).length === 1, {
    error: 'must have exactly one of push_token, device_guid, alias, user_id',
  })
type Entry = z.output<typeof entry>

function keyOf({ push_token, device_guid, alias, user_id }: Entry): DeviceKey {
  if (push_token !== undefined) return { pushToken: push_token }
  if (device_guid !== undefined) return { guid: device_guid }
  return alias !== undefined ? { alias } : { userId: String(user_id) }
}

function entryOf(key: DeviceKey): z.input<typeof unknownEntry> {
  if ('pushToken' in key) return { push_token: key.pushToken }
  if ('guid' in key) return { device_guid: key.guid }
  return 'alias' in key ? { alias: key.alias } : { user_id: BigInt(key.userId) }
}

const unknownEntry = z.object({
  push_token: z.string().optional(),
  device_guid: z.string().optional(),
  alias: z.string().optional(),
  user_id: int64Out.optional(),
})

export const tagMembers = route({
  method: 'post',
  path: '/admin/tag/member',
  tag,
  access: 'admin',
  groupRefused: true,
  bodyLimit: MIB,
  summary: 'Add a tag to devices and remove it from others',
  description: `An alias or a user stands for all its devices. \`add\` is applied before \`remove\`. Refused (40002) if a device would have more than ${tagsPerDevice} tags. More than 5,000 devices are written in several commits; those made before the refusal are kept.`,
  example: { tag: 'beta', add: [{ device_guid: 'example-phone' }], remove: [{ alias: 'user-1024' }] },
  input: z.strictObject({
    tag: required(name(64)),
    add: optional(z.array(entry).max(MAX_ENTRIES)),
    remove: optional(z.array(entry).max(MAX_ENTRIES)),
  }),
  answer: z.object({
    added: z.int().describe('Number of devices that did not have the tag.'),
    removed: z.int().describe('Number of devices that had it.'),
    unknown: z.array(unknownEntry).describe('Entries that stand for no device.'),
  }),
  failures: [42901],
  async handler({ deps, appId }, input) {
    const changed = await changeTagMembers(deps.db, appId, input.tag, {
      add: (input.add ?? []).map(keyOf),
      remove: (input.remove ?? []).map(keyOf),
    })
    if ('full' in changed)
      throw new Failure(
        40002,
        `add: the device with device_guid ${JSON.stringify(changed.full)} would have more than ${tagsPerDevice} tags.`,
      )
    return { ...changed, unknown: changed.unknown.map(entryOf) }
  },
})

export const tagList = route({
  method: 'post',
  path: '/admin/tag/list',
  tag,
  access: 'admin',
  groupRefused: true,
  summary: 'List the tags of the application with their numbers of devices',
  description: 'Sorted by name. Tags that no device has are left out.',
  example: { limit: 10 },
  input: z.strictObject({
    limit: optional(integer(1, 1000)).describe('Maximum number of entries (default 100).'),
    after: optional(name(64)).describe('Return only tags after this one: `next` of the previous page.'),
    prefix: optional(name(64)).describe('Return only tags that begin with this text; case matters.'),
    count_up_to: optional(integer(1, 1_000_000)).describe(
      'Count the devices of a tag up to this number; counting a tag of a million devices takes a while (default: count all).',
    ),
  }),
  answer: z.object({
    list: z.array(
      z.object({
        tag: z.string(),
        devices: z.int().describe('If it is `count_up_to`, there may be more.'),
      }),
    ),
    next: z.string().nullable().describe('`after` of the next call; null on the last page.'),
  }),
  async handler({ deps, appId }, { limit = 100, after, prefix, count_up_to: countUpTo }) {
    const tags = await listTags(deps.db, appId, { after, prefix, countUpTo, limit: limit + 1 })
    const list = tags.slice(0, limit)
    return { list, next: tags.length > limit ? list.at(-1)!.tag : null }
  },
})
