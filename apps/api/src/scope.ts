import { type Device, findDevice } from '@herald/db/devices'
import { isMember } from '@herald/db/tenants'
import { Failure } from './codes.ts'
import type { RouteContext } from './route.ts'

/** What an admin may access: the application, or one group of it. */
export function scopeOf({ appId, caller }: RouteContext): { appId: string; groupId?: bigint } {
  return { appId, groupId: caller.role === 'admin' ? caller.groupId : undefined }
}

/** The same for functions on tasks: group ids are assigned by Herald and below 2^53. */
export function taskScopeOf(context: RouteContext): { appId: string; groupId?: number } {
  const { appId, groupId } = scopeOf(context)
  return { appId, groupId: groupId === undefined ? undefined : Number(groupId) }
}

/** Returns the device with this push token if it is the user's own or in the admin's scope. */
export function ownDevice(context: RouteContext, pushToken: string): Promise<Device> {
  return deviceOf(context, pushToken, false)
}

/**
 * The same for calls where knowing the push token is enough: also returns the device to an anonymous caller, and a device
 * without an owner to any user.
 */
export function deviceOfHolder(context: RouteContext, pushToken: string): Promise<Device> {
  return deviceOf(context, pushToken, true)
}

async function deviceOf(context: RouteContext, pushToken: string, tokenIsEnough: boolean): Promise<Device> {
  const { deps, appId, caller } = context
  const device = await findDevice(deps.db, appId, { pushToken })
  if (!device || !(await mayAccess(context, device, tokenIsEnough))) throw noDevice(context)
  // A call of the device itself, not of the application's server.
  if (device.isSeenLongAgo && caller.role !== 'admin') deps.seen(device.deviceId)
  return device
}

/** Also for a device that was found, but has another owner or is removed when the call writes. */
export function noDevice({ caller }: RouteContext): Failure {
  return new Failure(
    40401,
    caller.role === 'user'
      ? 'The user has no device with this push_token.'
      : 'No device has this push_token.',
  )
}

/** Returns whether an admin who acts for a group, if they do, may access the device. */
export function isInScope(context: RouteContext, device: Device): Promise<boolean> {
  return mayAccess(context, device, false)
}

async function mayAccess(
  { deps, appId, caller }: RouteContext,
  device: Device,
  tokenIsEnough: boolean,
): Promise<boolean> {
  switch (caller.role) {
    case 'user':
      return device.userId === caller.userId || (tokenIsEnough && device.userId === null)
    case 'admin':
      return caller.groupId === undefined || isMember(deps.db, appId, caller.groupId, device.userId)
    default:
      return tokenIsEnough
  }
}
