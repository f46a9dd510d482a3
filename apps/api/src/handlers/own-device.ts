import { type Device, findDevice, isMember } from '@herald/db'
import { Failure } from '../codes.ts'
import type { Context } from '../route.ts'

/**
 * The device behind a push token, as far as this caller may reach it. A user reaches their own; whoever holds the token of
 * a device without an owner, or calls with nothing but the token, has proved enough by knowing it.
 */
export async function reachDevice(context: Context, pushToken: string, owned: boolean): Promise<Device> {
  const { deps, appId, caller } = context
  const device = await findDevice(deps.db, appId, { pushToken })
  if (!device || !(await mayReach(context, device, owned)))
    throw new Failure(
      40401,
      `There is no device with this push_token${caller.role === 'user' ? ' of this user' : ''}.`,
    )
  return device
}

async function mayReach({ deps, appId, caller }: Context, device: Device, owned: boolean): Promise<boolean> {
  switch (caller.role) {
    case 'user':
      return device.userId === caller.userId || (!owned && device.userId === null)
    case 'admin':
      return caller.groupId === undefined || isMember(deps.db, appId, caller.groupId, device.userId)
    default:
      return !owned
  }
}
