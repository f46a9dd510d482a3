import { type DeviceChange, findDevice, removeDevice, tagsPerDevice } from '@herald/db/devices'
import { channelOfProvider, vendorChannels } from '@herald/domain'
import { z } from 'zod'
import { byOf } from '../audit.ts'
import { bindingTexts } from '../certificates/place.ts'
import { Failure } from '../codes.ts'
import { BadDevice, limits, readDevice } from '../import/read-device.ts'
import { refusalOf } from '../import/refusal.ts'
import { deviceGuid, optional, platform, pushToken, required } from '../input/fields.ts'
import { schemaOf } from '../openapi/schemas.ts'
import { MIB, route } from '../route.ts'
import { isInScope } from '../scope.ts'

const tag = 'Devices'
const MAX_LIST = 1000

const tagList = z.array(z.string().max(limits.tag)).max(tagsPerDevice)
/** Only documents what `readDevice` accepts: checking a batch with it would take as long as writing it. */
const documented = z.strictObject({
  device_guid: z
    .string()
    .max(limits.guid)
    .describe(
      'ID of the installation: a random UUID that the app creates and stores. It must be unguessable.',
    ),
  platform: platform.nullish().describe('If it is unknown, it follows from the bindings.'),
  user_id: z
    .unknown()
    .meta({ type: ['integer', 'string', 'null'], format: 'int64' })
    .optional()
    .describe(
      'A user of Herald. If your users have none, use alias. Another owner or null: the push token is replaced; alias, tags, badge and waiting messages are cleared.',
    ),
  alias: z
    .string()
    .max(limits.alias)
    .nullish()
    .describe(
      'Your own user ID. When it changes or is cleared, messages that are still waiting for the device are not delivered.',
    ),
  tags: tagList.nullish().describe('Replaces all tags.'),
  add_tags: tagList.nullish(),
  remove_tags: tagList.nullish(),
  bindings: z
    .array(
      z.strictObject({
        provider: z
          .unknown()
          .meta({ type: ['integer', 'string'] })
          .describe('A number, or the name of the channel.'),
        device_token: z
          .string()
          .max(limits.deviceToken)
          .nullable()
          .describe('The vendor’s token; null removes it.'),
        environment: z.int().min(0).max(1).nullish().describe('0 = development, 1 = production; default 1.'),
        bundle_id: z.string().max(limits.bundleId).nullish().describe(bindingTexts.bundleId),
        region: z.string().nullish().describe(bindingTexts.region),
      }),
    )
    .max(vendorChannels.length)
    .nullish()
    .describe('Bindings on other channels stay; null removes all.'),
  attributes: z
    .record(z.string(), z.union([z.string().max(limits.attributeText), z.number(), z.boolean()]))
    .nullish()
    .describe(`Replaces all attributes; at most ${limits.attributes} keys.`),
  locale: z.string().nullish().describe('A language tag such as zh-CN.'),
  timezone: z.string().nullish().describe('An IANA name such as Asia/Shanghai.'),
  app_version: z.string().max(limits.appVersion).nullish(),
  enabled: z.boolean().nullish().describe('False: the device receives nothing. Default true.'),
})
const device = z.unknown().meta(schemaOf(documented, 'input'))

const written = z.object({
  push_token: z.string(),
  created: z.boolean().describe('False if the device was known.'),
})

const rules =
  'A field that is absent stays as it is; null or a blank value clears it (`bindings`: only null). A binding is replaced as a whole: send `environment`, `bundle_id` and `region` each time. A vendor token that is bound to another device moves to this one.'

const examples = {
  phone: {
    device_guid: 'example-server-phone',
    platform: 'android' as const,
    alias: 'user-1024',
    add_tags: ['beta'],
    bindings: [{ provider: 2, device_token: `example-server-${channelOfProvider(2)}-token` }],
    attributes: { plan: 'pro', orders: 12 },
    locale: 'zh-CN',
    timezone: 'Asia/Shanghai',
    app_version: '3.2.0',
  },
  logout: { device_guid: 'example-server-phone', alias: null },
}

export const putDevice = route({
  method: 'put',
  path: '/admin/device',
  tag,
  access: 'admin',
  groupRefused: true,
  summary: 'Create or change a device from your own server',
  description: `${rules} Returns the push token that the app needs for its own calls and for the native channel. Set \`alias\` to your user ID when a user signs in, and to null when they sign out.`,
  example: examples.phone,
  input: device,
  answer: written,
  failures: [40401],
  async handler({ deps, appId }, input) {
    const change = orFail(() => readDevice(input, deps.adapters))
    const result = await deps.devices.put(appId, change)
    if ('refused' in result) throw failureOf(refusalOf(result, change))
    return { push_token: result.pushToken, created: result.outcome === 'created' }
  },
})

export const putDevices = route({
  method: 'post',
  path: '/admin/device/batch',
  tag,
  access: 'admin',
  groupRefused: true,
  bodyLimit: 4 * MIB,
  checksText: true,
  summary: `Create or change up to ${MAX_LIST} devices`,
  description: `Each entry is a body of PUT /admin/device. ${rules} Entries are applied in order. An entry that succeeded has \`push_token\` and \`created\`; one that failed has \`code\` and \`message\` and does not affect the others.`,
  example: { list: [examples.phone, examples.logout] },
  input: z.strictObject({ list: required(z.array(device).max(MAX_LIST)) }),
  answer: z.object({
    list: z
      .array(
        z.union([
          written,
          z.object({ code: z.int().describe('As in the answer to a single call.'), message: z.string() }),
        ]),
      )
      .describe('One entry for each entry of the request, in order.'),
  }),
  failures: [42901],
  async handler({ deps, appId }, input) {
    const read = input.list.map((entry) => {
      try {
        return readDevice(entry, deps.adapters)
      } catch (error) {
        if (error instanceof BadDevice) return error
        throw error
      }
    })
    const changes = read.filter((one): one is DeviceChange => !(one instanceof BadDevice))
    const results = await deps.devices.batch(appId, changes)
    let next = 0
    return {
      list: read.map((one) => {
        if (one instanceof BadDevice) return problemOf(one)
        const result = results[next++]!
        if ('refused' in result) return problemOf(refusalOf(result, one))
        return { push_token: result.pushToken, created: result.outcome === 'created' }
      }),
    }
  },
})

export const removeAnyDevice = route({
  method: 'post',
  path: '/admin/device/remove',
  tag,
  access: 'admin',
  summary: 'Remove a device, with its bindings, tags and inbox',
  description:
    'By device_guid or push_token, whether or not the device has a user. Its open connection is closed (4401) within 3 seconds. To erase everything that names a person, use POST /admin/erase.',
  example: { device_guid: 'example-import' },
  input: z
    .strictObject({ device_guid: optional(deviceGuid), push_token: optional(pushToken) })
    .refine((body) => (body.device_guid === undefined) !== (body.push_token === undefined), {
      error: 'must have either device_guid or push_token',
    }),
  answer: z.object({ removed: z.literal(true) }),
  failures: [40401],
  async handler(context, input) {
    const { deps, appId } = context
    const by =
      input.device_guid === undefined ? { pushToken: input.push_token! } : { guid: input.device_guid }
    const found = await findDevice(deps.db, appId, by)
    const isRemoved =
      found &&
      (await isInScope(context, found)) &&
      (await removeDevice(deps.db, appId, found.deviceId, { by: byOf(context) }))
    if (!isRemoved)
      throw new Failure(40401, `No device has this ${'guid' in by ? 'device_guid' : 'push_token'}.`)
    return { removed: true as const }
  },
})

function orFail<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof BadDevice ? failureOf(error) : error
  }
}

function failureOf({ code, message }: BadDevice): Failure {
  return new Failure(code, sentence(message))
}

function problemOf({ code, message }: BadDevice) {
  return { code, message: sentence(message) }
}

/** Problems that have no field in front speak of the whole body. */
function sentence(problem: string): string {
  if (problem.startsWith('is ')) return `The device ${problem}.`
  return `${problem.replace(/^(the|a) /, (article) => article[0]!.toUpperCase() + article.slice(1))}.`
}
