import { type Card, cards } from '@herald/channels/cards'
import {
  bind,
  DeviceGone,
  findDevice,
  listDevices,
  type Registered,
  registerDevice,
  removeDevice,
  replacePushToken,
  setBadge,
  unbind,
} from '@herald/db/devices'
import { channelOfProvider, environmentOf, publicName, regionOfBinding } from '@herald/domain'
import { z } from 'zod'
import { byOf } from '../audit.ts'
import { bindingTexts, checkRegion } from '../certificates/place.ts'
import { Failure } from '../codes.ts'
import {
  deviceGuid,
  environment,
  int64,
  integer,
  MAX_DEVICE_TOKEN,
  name,
  optional,
  page,
  platform,
  provider,
  pushToken,
  region,
  required,
} from '../input/fields.ts'
import { tokenProblem } from '../input/input-failure.ts'
import { storedToken } from '../input/stored-token.ts'
import { ownDeviceRecord, showOwnDevice } from '../output/device-record.ts'
import { pageOf, readPage } from '../output/fields.ts'
import { receiptLimit } from '../receipts/receipt-limit.ts'
import { type RouteContext, route } from '../route.ts'
import { deviceOfHolder, noDevice, scopeOf } from '../scope.ts'

const tag = 'Devices'
const all: readonly Card[] = cards
const solePlatforms = all
  .flatMap(({ solePlatform, provider }) => (solePlatform ? [`${solePlatform} for provider ${provider}`] : []))
  .join(', ')

export const registerPush = route({
  method: 'post',
  path: '/push/register',
  tag,
  access: 'holder',
  limit: 'register',
  actsForNobody: true,
  summary: 'Register a device that has no user',
  description:
    'Refused (40301) unless the application allows it, see PUT /admin/app/settings. A known device_guid is refused (40901) unless its current push_token is sent, or the caller is its user. 42901 if the application’s limit per day is reached.',
  example: { device_guid: 'example-phone', platform: 'android' },
  input: z.strictObject({
    device_guid: required(deviceGuid).describe(
      'ID of the installation. Make it random: a caller who knows it can register it first.',
    ),
    platform: optional(platform),
    push_token: optional(pushToken).describe('The current push token, if the device was registered before.'),
  }),
  answer: z.object({ push_token: z.string() }),
  failures: [40301, 40901, 42901],
  async handler({ deps, appId, caller }, input) {
    if (!deps.register)
      throw new Failure(40301, 'Registration without a user is disabled on this server (HERALD_REGISTER).')
    const registered = await registerDevice(deps.db, deps.pushTokens, {
      appId,
      guid: input.device_guid,
      platform: input.platform,
      pushToken: input.push_token,
      userId: caller.role === 'user' ? caller.userId : undefined,
    })
    if ('refused' in registered) throw registrationFailure(registered)
    return { push_token: registered.pushToken }
  },
})

function registrationFailure(registered: Extract<Registered, { refused: string }>): Failure {
  switch (registered.refused) {
    case 'off':
      return new Failure(40301, 'The application does not allow registration without a user.')
    case 'known':
      return new Failure(
        40901,
        'The device_guid is registered already: send its current push_token, or log in with the device_guid.',
      )
    case 'limit':
      return new Failure(42901, 'The application’s limit of registrations per day is reached.', {
        retryAfter: registered.waitSeconds,
      })
  }
}

export const replaceToken = route({
  method: 'post',
  path: '/admin/device/token',
  tag,
  access: 'admin',
  summary: 'Replace the push token of a device',
  description:
    'The old push token stops working at once, and a connection that uses it is closed (4401) within 3 seconds. The response contains the new one, and so does PUT /admin/device later; an app that logs in gets it at its next login with the device_guid.',
  example: { device_guid: 'example-phone' },
  input: z.strictObject({ device_guid: required(deviceGuid) }),
  answer: z.object({ push_token: z.string() }),
  async handler(context, input) {
    const { deps } = context
    const { db, pushTokens } = deps
    const token = await replacePushToken(db, pushTokens, scopeOf(context), input.device_guid, byOf(context))
    if (token === undefined) throw new Failure(40401, 'No device has this device_guid.')
    return { push_token: token }
  },
})

export const bindToken = route({
  method: 'post',
  path: '/user/token/bind',
  tag,
  access: 'holder',
  summary: 'Bind a vendor token to a device',
  description: `A token that is bound to another device moves to this one. \`platform\` defaults to ${solePlatforms}, otherwise to the known platform of the device, otherwise to android.`,
  example: { push_token: '$PUSH_TOKEN', provider: 2, device_token: `example-${channelOfProvider(2)}-token` },
  input: z
    .strictObject({
      push_token: required(pushToken),
      provider,
      device_token: required(name(MAX_DEVICE_TOKEN)),
      environment: optional(environment).describe('0 = development, 1 = production; default 1.'),
      platform: optional(platform),
      bundle_id: optional(name(255)).describe(bindingTexts.bundleId),
      region: optional(region).describe(bindingTexts.region),
    })
    .superRefine(({ provider, platform }, context) => {
      // Runs for a provider out of range too.
      const solePlatform = all.find((card) => card.provider === provider)?.solePlatform
      if (solePlatform && platform && platform !== solePlatform)
        context.addIssue({
          code: 'custom',
          path: ['platform'],
          message: `must be ${solePlatform} for provider ${provider}`,
        })
    }),
  answer: z.object({ provider: z.int(), channel: z.string(), environment: z.int() }),
  async handler(context, input) {
    const { deps, appId } = context
    const channel = channelOfProvider(input.provider)!
    const adapter = deps.adapters[channel]
    const token = storedToken(adapter, input.device_token)
    const problem = adapter?.checkToken(token)
    if (problem) throw new Failure(40002, `${tokenProblem('device_token', problem)}.`)
    const device = await deviceOfHolder(context, input.push_token)
    const named = checkRegion(channel, input.region)
    const environment = input.environment ?? 1
    await bind(deps.db, {
      appId,
      deviceId: device.deviceId,
      tokenGeneration: device.tokenGeneration,
      channel,
      token,
      canonicalToken: adapter?.canonicalToken,
      environment: environmentOf(environment),
      bundleId: input.bundle_id,
      region: regionOfBinding(channel, adapter?.regionOf?.(token), named),
      platform: input.platform,
    }).catch((error) => {
      throw error instanceof DeviceGone ? noDevice(context) : error
    })
    return { provider: input.provider, channel: publicName(channel), environment }
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
  answer: z.object({ removed: z.boolean().describe('False if the device had no such binding.') }),
  async handler(context, input) {
    const { deviceId, tokenGeneration } = await deviceOfHolder(context, input.push_token)
    const channel = channelOfProvider(input.provider)!
    const binding = { appId: context.appId, deviceId, tokenGeneration, channel }
    const removed = await unbind(context.deps.db, binding)
    if (removed === undefined) throw noDevice(context)
    return { removed }
  },
})

export const setDeviceBadge = route({
  method: 'post',
  path: '/user/push/badge',
  tag,
  access: 'holder',
  summary: 'Set the badge count of a device',
  description: 'The app calls this when it is opened, so that `+1` adds to the number that the user sees.',
  example: { push_token: '$PUSH_TOKEN', badge: 0 },
  input: z.strictObject({ push_token: required(pushToken), badge: required(integer(0, 999_999_999)) }),
  answer: z.object({ badge: z.int() }),
  async handler(context, input) {
    const device = await deviceOfHolder(context, input.push_token)
    if (!(await setBadge(context.deps.db, context.appId, device, input.badge))) throw noDevice(context)
    return { badge: input.badge }
  },
})

export const acknowledge = route({
  method: 'post',
  path: '/push/receipt',
  tag,
  access: 'holder',
  summary: 'Acknowledge pushes from the device',
  description: `Counted once per task and device, and only for recipients of the task. \`clicked\` implies \`received\`. Except with an admin token, each API process takes ${receiptLimit.perSecond} entries per second from a device, and at most ${receiptLimit.burst.toLocaleString('en')} at once (42901).`,
  example: { push_token: '$PUSH_TOKEN', list: [{ task_id: '$TASK_ID', event: 'received' as const }] },
  input: z.strictObject({
    push_token: required(pushToken),
    list: required(
      z
        .array(z.strictObject({ task_id: required(int64), event: required(z.enum(['received', 'clicked'])) }))
        .max(500),
    ),
  }),
  answer: z.object({
    accepted: z
      .int()
      .describe(
        'Number of entries in the request. Entries for tasks that were not sent to this device are ignored.',
      ),
  }),
  async handler(context, input) {
    const { deps, appId, isAdminToken } = context
    const { deviceId } = await deviceOfHolder(context, input.push_token)
    const wait = isAdminToken ? 0 : deps.limits.receipts.take(String(deviceId), input.list.length)
    if (wait > 0)
      throw new Failure(42901, 'Too many receipts of this device; try again later.', { retryAfter: wait })
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
  summary: 'List the devices of the user',
  example: { limit: 10 },
  input: z.strictObject({ ...page, device_guid: optional(deviceGuid) }),
  answer: pageOf(ownDeviceRecord),
  handler(context, input) {
    const search = { userId: ownerOf(context), guid: input.device_guid }
    return readPage(
      input,
      (page) => listDevices(context.deps.db, context.deps.pushTokens, { appId: context.appId }, search, page),
      (device) => device.deviceId,
      showOwnDevice,
    )
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
    if (device?.userId !== ownerOf(context) || !(await removeDevice(deps.db, appId, device.deviceId, device)))
      throw new Failure(40401, 'The user has no device with this device_guid.')
    return { removed: true as const }
  },
})

function ownerOf({ caller }: RouteContext): bigint {
  if (caller.role !== 'user') throw new Error('authorise admits only users to this route')
  return caller.userId
}
