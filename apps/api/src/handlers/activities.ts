import { activitiesPerDevice, bindActivity, unbindActivity } from '@herald/db/devices'
import { cardOf, vendorChannels } from '@herald/domain'
import { z } from 'zod'
import { Failure } from '../codes.ts'
import { MAX_DEVICE_TOKEN, name, optional, pushToken, required } from '../input/fields.ts'
import { tokenProblem } from '../input/input-failure.ts'
import { storedToken } from '../input/stored-token.ts'
import { type RouteContext, route } from '../route.ts'
import { deviceOfHolder, noDevice } from '../scope.ts'

const tag = 'Devices'

const named = {
  push_token: required(pushToken),
  activity_id: optional(name(255)).describe(
    'ID of an activity that the device shows, chosen by the application; several devices may show the same.',
  ),
  attributes_type: optional(name(255)).describe(
    'Instead of activity_id, for a push-to-start token: the type of the ActivityAttributes that it starts.',
  ),
}

type Named = { activity_id?: string; attributes_type?: string }

function checkName({ activity_id, attributes_type }: Named, context: z.RefinementCtx): void {
  if ((activity_id === undefined) !== (attributes_type === undefined)) return
  context.addIssue({
    code: 'custom',
    path: ['activity_id'],
    message:
      activity_id === undefined
        ? 'must not be blank, unless attributes_type is set'
        : 'cannot be set beside attributes_type',
  })
}

function nameOf({ activity_id, attributes_type }: Named) {
  return activity_id === undefined
    ? ({ kind: 'start', name: attributes_type! } as const)
    : ({ kind: 'activity', name: activity_id } as const)
}

/** The vendors whose devices have such tokens. */
const vendors = vendorChannels.filter((channel) => cardOf(channel).activityTokens)

const titles = vendors.map((channel) => cardOf(channel).title.en).join(' or ')

/** Returns the token in the form in which it is stored. */
function readToken({ deps }: RouteContext, typed: string): string {
  let token = typed
  for (const channel of vendors) {
    const adapter = deps.adapters[channel]
    token = storedToken(adapter, token)
    const problem = adapter?.checkToken(token)
    if (problem) throw new Failure(40002, `${tokenProblem('token', problem)}.`)
  }
  return token
}

export const bindActivityToken = route({
  method: 'post',
  path: '/user/activity',
  tag,
  access: 'holder',
  summary: 'Bind the token of a Live Activity to a device',
  description: `The app calls this whenever ActivityKit gives it a token: with \`activity_id\` for the token of an activity, with \`attributes_type\` for a push-to-start token. Another token under the same name replaces the first. A device has at most ${activitiesPerDevice}; beyond that the oldest are removed. Tokens of activities are removed when the activity ends, when the vendor calls them dead, and after 7 days; push-to-start tokens after 180 days. Pushes are sent with the environment and bundle id of the ${titles} token of the device, which must be bound too.`,
  example: { push_token: '$PUSH_TOKEN', activity_id: 'order-1024', token: 'ab'.repeat(40) },
  input: z
    .strictObject({ ...named, token: required(name(MAX_DEVICE_TOKEN)).describe('Hexadecimal.') })
    .superRefine(checkName),
  answer: z.object({ bound: z.literal(true) }),
  async handler(context, input) {
    const token = readToken(context, input.token)
    const { deviceId, tokenGeneration } = await deviceOfHolder(context, input.push_token)
    const activity = { appId: context.appId, deviceId, tokenGeneration, ...nameOf(input), token }
    if (!(await bindActivity(context.deps.db, activity))) throw noDevice(context)
    return { bound: true as const }
  },
})

export const unbindActivityToken = route({
  method: 'delete',
  path: '/user/activity',
  tag,
  access: 'holder',
  summary: 'Remove the token of a Live Activity',
  description: 'For an activity that the user dismissed or the app ended itself.',
  example: { push_token: '$PUSH_TOKEN', activity_id: 'order-1024' },
  input: z.strictObject(named).superRefine(checkName),
  answer: z.object({ removed: z.boolean().describe('False if the device had no such token.') }),
  async handler(context, input) {
    const { deviceId, tokenGeneration } = await deviceOfHolder(context, input.push_token)
    const activity = { appId: context.appId, deviceId, tokenGeneration, ...nameOf(input) }
    const removed = await unbindActivity(context.deps.db, activity)
    if (removed === undefined) throw noDevice(context)
    return { removed }
  },
})
