import type { DeviceDetails } from '@herald/db/devices'
import { environmentNumber, providerOf, publicName } from '@herald/domain'
import { z } from 'zod'
import { int64Out, nullableTimestamp, seconds, secondsOrNull, timestamp } from './fields.ts'

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
  enabled: z.boolean().describe('False: the device receives nothing.'),
  locale: z.string().nullable(),
  timezone: z.string().nullable(),
  app_version: z.string().nullable(),
  attributes: z.record(z.string(), z.union([z.string(), z.number(), int64Out, z.boolean()])).nullable(),
  last_seen: nullableTimestamp.describe('When the app last called or connected, accurate to within an hour.'),
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
    enabled: device.enabled,
    locale: device.locale,
    timezone: device.timezone,
    app_version: device.appVersion,
    attributes: device.attributes,
    last_seen: secondsOrNull(device.lastSeen),
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
