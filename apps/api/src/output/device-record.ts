import type { DeviceDetails } from '@herald/db/devices'
import { environmentNumber, providerOf, publicName } from '@herald/domain'
import { z } from 'zod'
import { int64Out, seconds, timestamp } from './fields.ts'

const binding = z.object({
  provider: z.int(),
  channel: z.string(),
  environment: z.int(),
  device_token: z.string(),
  bundle_id: z.string().nullable(),
  region: z.string().nullable().describe('Null: the vendor’s usual one, or none.'),
  registered_at: timestamp,
})

/** A device as its user sees it. */
export const ownDeviceRecord = z.object({
  device_guid: z.string(),
  push_token: z.string(),
  platform: z.string().nullable(),
  alias: z.string().nullable(),
  tags: z.array(z.string()),
  badge: z.int(),
  online: z.boolean().describe('Connected to the native channel.'),
  bindings: z.array(binding),
  created_at: timestamp,
})

export const deviceRecord = ownDeviceRecord.extend({
  device_id: int64Out,
  user_id: int64Out.nullable(),
})

export function showOwnDevice(device: DeviceDetails): z.input<typeof ownDeviceRecord> {
  return {
    device_guid: device.guid,
    push_token: device.pushToken,
    platform: device.platform,
    alias: device.alias,
    tags: device.tags,
    badge: device.badge,
    online: device.online,
    bindings: device.bindings.map((bound) => ({
      provider: providerOf(bound.channel),
      channel: publicName(bound.channel),
      environment: environmentNumber(bound.environment),
      device_token: bound.token,
      bundle_id: bound.bundleId,
      region: bound.region,
      registered_at: seconds(bound.registeredAt),
    })),
    created_at: seconds(device.createdAt),
  }
}

export function showDevice(device: DeviceDetails): z.input<typeof deviceRecord> {
  return { ...showOwnDevice(device), device_id: device.deviceId, user_id: device.userId }
}
