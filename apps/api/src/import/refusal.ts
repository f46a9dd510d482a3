import { type DeviceChange, type RefusedDevice, tagsPerDevice } from '@herald/db/devices'
import { BadDevice } from './read-device.ts'

/** Why a device that is well-formed was not written. */
export function refusalOf({ refused }: RefusedDevice, { userId }: DeviceChange): BadDevice {
  switch (refused) {
    case 'unknown user':
      return new BadDevice(`user_id ${userId} does not exist`, 40401)
    case 'too many tags':
      return new BadDevice(`the device would have more than ${tagsPerDevice} tags`)
  }
}
