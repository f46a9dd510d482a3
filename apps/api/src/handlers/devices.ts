import {
  bind,
  findDevice,
  listDevices,
  registerDevice,
  removeDevice,
  setBadge,
  unbind,
} from '@herald/db/devices'
import { environmentOf } from '@herald/db/store'
import { channelOfProvider } from '@herald/domain'
import { z } from 'zod'
import { Failure } from '../codes.ts'
import { cutPage, DEFAULT_PAGE, pageOf } from '../input/answers.ts'
import {
  deviceGuid,
  environment,
  int64,
  integer,
  name,
  optional,
  page,
  platform,
  provider,
  pushToken,
  required,
} from '../input/fields.ts'
import { tokenProblem } from '../input/token-problem.ts'
import { type Context, route } from '../route.ts'
import { ownDeviceRecord, showOwnDevice } from './device-record.ts'
import { heldDevice } from './own-device.ts'

const tag = 'Devices'

export const registerPush = route({
  method: 'post',
  path: '/push/register',
  tag,
  access: 'holder',
  limit: 'register',
  summary: 'Register a device that has no user',
  description:
    'Answers the push token of the guid, the same every time. Refused (40301) for a guid that has an owner, and when the installation has switched registration off.',
  example: { device_guid: 'example-phone', platform: 'android' },
  input: z.strictObject({ device_guid: required(deviceGuid), platform: optional(platform) }),
  answer: z.object({ push_token: z.string() }),
  failures: [40301],
  async handler({ deps, appId, caller }, input) {
    if (!deps.register) throw new Failure(40301, 'Registration without a user is switched off.')
    const registered = await registerDevice(deps.db, {
      appId,
      guid: input.device_guid,
      platform: input.platform,
    })
    if (registered !== 'owned') return { push_token: registered.pushToken }
    const device =
      caller.role === 'user' ? await findDevice(deps.db, appId, { guid: input.device_guid }) : undefined
    if (device && caller.role === 'user' && device.userId === caller.userId)
      return { push_token: device.pushToken }
    throw new Failure(40301, 'The device has an owner: log in with its device_guid instead.')
  },
})

export const bindToken = route({
  method: 'post',
  path: '/user/token/bind',
  tag,
  access: 'holder',
  summary: 'Bind a vendor token to a device',
  description:
    'A token known on another device moves to this one. `platform` defaults to ios for provider 1; for the others to what the device is known to be, else android.',
  example: { push_token: '$PUSH_TOKEN', provider: 2, device_token: 'example-huawei-token' },
  input: z
    .strictObject({
      push_token: required(pushToken),
      provider,
      device_token: required(name(4096)),
      environment: optional(environment).describe('0 = development, 1 = production; default 1.'),
      platform: optional(platform),
      bundle_id: optional(name(255)).describe('The topic, for APNs certificates that have several.'),
    })
    .refine((input) => input.provider !== 1 || !input.platform || input.platform === 'ios', {
      path: ['platform'],
      error: 'must be ios for provider 1',
    }),
  answer: z.object({ provider: z.int(), environment: z.int() }),
  async handler(context, input) {
    const { deps, appId } = context
    const channel = channelOfProvider(input.provider)!
    const problem = deps.adapters[channel]?.checkToken(input.device_token)
    if (problem) throw new Failure(40002, `${tokenProblem('device_token', problem)}.`)
    const device = await heldDevice(context, input.push_token)
    const environment = input.environment ?? 1
    await bind(deps.db, {
      appId,
      deviceId: device.deviceId,
      channel,
      token: input.device_token,
      environment: environmentOf(environment),
      bundleId: input.bundle_id,
      platform: input.platform,
    })
    return { provider: input.provider, environment }
  },
})

export const unbindToken = route({
  method: 'post',
  path: '/user/token/unbind',
  tag,
  access: 'holder',
  summary: 'Remove the vendor token of a device',
  example: { push_token: '$PUSH_TOKEN', provider: 2 },
  input: z.strictObject({ push_token: required(pushToken), provider }),
  answer: z.object({ removed: z.boolean().describe('False when there was none.') }),
  async handler(context, input) {
    const { deviceId } = await heldDevice(context, input.push_token)
    const channel = channelOfProvider(input.provider)!
    return { removed: await unbind(context.deps.db, { appId: context.appId, deviceId, channel }) }
  },
})

export const setDeviceBadge = route({
  method: 'post',
  path: '/user/push/badge',
  tag,
  access: 'holder',
  summary: 'Set the badge count of a device',
  description: 'For the app to call when it was opened, so that `+1` counts from what the user sees.',
  example: { push_token: '$PUSH_TOKEN', badge: 0 },
  input: z.strictObject({ push_token: required(pushToken), badge: required(integer(0, 999_999_999)) }),
  answer: z.object({ badge: z.int() }),
  async handler(context, input) {
    const { deviceId } = await heldDevice(context, input.push_token)
    await setBadge(context.deps.db, context.appId, deviceId, input.badge)
    return { badge: input.badge }
  },
})

export const acknowledge = route({
  method: 'post',
  path: '/push/receipt',
  tag,
  access: 'holder',
  summary: 'Acknowledge pushes from the device',
  description:
    'Counted once per task and device, and only for recipients of the task; `clicked` implies `received`.',
  example: { push_token: '$PUSH_TOKEN', list: [{ task_id: '$TASK_ID', event: 'received' as const }] },
  input: z.strictObject({
    push_token: required(pushToken),
    list: required(
      z
        .array(z.strictObject({ task_id: required(int64), event: required(z.enum(['received', 'clicked'])) }))
        .max(500),
    ),
  }),
  answer: z.object({ accepted: z.int().describe('How many entries were taken.') }),
  async handler(context, input) {
    const { deps, appId } = context
    const { deviceId } = await heldDevice(context, input.push_token)
    const receipts = input.list
      .filter(({ task_id }) => task_id > 0n && task_id <= BigInt(Number.MAX_SAFE_INTEGER))
      .map(({ task_id, event }) => ({ appId, taskId: Number(task_id), deviceId, event }))
    if (receipts.length > 0) await deps.receipts(receipts)
    return { accepted: input.list.length }
  },
})

export const ownDevices = route({
  method: 'post',
  path: '/user/device/list',
  tag,
  access: 'user',
  summary: 'The devices of the user',
  example: { limit: 10 },
  input: z.strictObject({ ...page, device_guid: optional(deviceGuid) }),
  answer: pageOf(ownDeviceRecord),
  async handler(context, input) {
    const limit = input.limit ?? DEFAULT_PAGE
    const rows = await listDevices(
      context.deps.db,
      { appId: context.appId },
      { userId: ownerOf(context), guid: input.device_guid },
      { after: input.after, limit: limit + 1 },
    )
    return cutPage(rows, limit, (device) => device.deviceId, showOwnDevice)
  },
})

export const removeOwnDevice = route({
  method: 'post',
  path: '/user/device/remove',
  tag,
  access: 'user',
  summary: 'Remove a device of the user, with its bindings, tags and inbox',
  example: { device_guid: 'example-tablet' },
  input: z.strictObject({ device_guid: required(deviceGuid) }),
  answer: z.object({ removed: z.literal(true) }),
  async handler(context, input) {
    const { deps, appId } = context
    const device = await findDevice(deps.db, appId, { guid: input.device_guid })
    if (device?.userId !== ownerOf(context) || !(await removeDevice(deps.db, appId, device.deviceId)))
      throw new Failure(40401, 'The user has no device with this device_guid.')
    return { removed: true as const }
  },
})

function ownerOf({ caller }: Context): bigint {
  if (caller.role !== 'user') throw new Error('The gate lets only users through to this route')
  return caller.userId
}
