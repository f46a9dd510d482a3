import { type Device, findDevice } from '@herald/db/devices'
import { isMember } from '@herald/db/tenants'
import { Failure } from '../codes.ts'
import type { Context } from '../route.ts'

/** The device behind a push token, if it is the user's own or within the admin's reach. */
export function ownDevice(context: Context, pushToken: string): Promise<Device> {
  return deviceOf(context, pushToken, false)
}

/**
 * The same for calls that need nothing but the push token: whoever holds that of a device without an owner, or calls with
 * nothing else, has proved enough by knowing it.
 */
export function heldDevice(context: Context, pushToken: string): Promise<Device> {
  return deviceOf(context, pushToken, true)
}

async function deviceOf(context: Context, pushToken: string, held: boolean): Promise<Device> {
  const { deps, appId, caller } = context
  const device = await findDevice(deps.db, appId, { pushToken })
  if (!device || !(await mayReach(context, device, held)))
    throw new Failure(
      40401,
      `There is no device with this push_token${caller.role === 'user' ? ' of this user' : ''}.`,
    )
  return device
}

async function mayReach({ deps, appId, caller }: Context, device: Device, held: boolean): Promise<boolean> {
  switch (caller.role) {
    case 'user':
      return device.userId === caller.userId || (held && device.userId === null)
    case 'admin':
      return caller.groupId === undefined || isMember(deps.db, appId, caller.groupId, device.userId)
    default:
      return held
  }
}
