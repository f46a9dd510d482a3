import { createHash } from 'node:crypto'
import type { ImportDevice } from '@herald/db/devices'
import type { VendorChannel } from '@herald/domain'

type DemoDevice = Pick<ImportDevice, 'guid' | 'platform' | 'alias' | 'tags'> & {
  /** Belongs to the demo user. */
  owned?: true
  channels: readonly VendorChannel[]
}

const android = 'android'

/** Something for every channel, audience and strategy; two vivo devices, because vivo takes one and several differently. */
const devices: readonly DemoDevice[] = [
  { guid: 'demo-iphone', platform: 'ios', owned: true, alias: 'alice', tags: ['vip'], channels: ['apns'] },
  { guid: 'demo-ipad', platform: 'ios', channels: ['apns'] },
  { guid: 'demo-pixel', platform: android, owned: true, alias: 'alice', channels: ['fcm'] },
  { guid: 'demo-huawei', platform: android, alias: 'bob', tags: ['vip'], channels: ['huawei'] },
  { guid: 'demo-harmony', platform: 'harmony', channels: ['huawei'] },
  { guid: 'demo-honor', platform: android, channels: ['honor'] },
  { guid: 'demo-xiaomi', platform: android, channels: ['xiaomi'] },
  { guid: 'demo-oppo', platform: android, channels: ['oppo'] },
  { guid: 'demo-vivo-1', platform: android, channels: ['vivo'] },
  { guid: 'demo-vivo-2', platform: android, channels: ['vivo'] },
  { guid: 'demo-meizu', platform: android, channels: ['meizu'] },
  { guid: 'demo-several', platform: android, alias: 'bob', channels: ['fcm', 'huawei', 'xiaomi'] },
  { guid: 'demo-native', platform: android, owned: true, channels: [] },
]

/** The demo devices as far as their vendors are simulated; one that no simulator would serve is left out. */
export function demoDevices(userId: bigint, simulated: readonly VendorChannel[]): ImportDevice[] {
  return devices
    .map(({ owned, channels, tags = [], ...device }) => ({
      ...device,
      userId: owned && String(userId),
      tags: ['demo', device.platform, ...tags],
      bindings: channels
        .filter((channel) => simulated.includes(channel))
        .map((channel) => ({ channel, token: demoToken(channel, device.guid), environment: 1 as const })),
      native: channels.length === 0,
    }))
    .filter(({ native, bindings }) => native || bindings.length > 0)
    .map(({ native: _, ...device }) => device)
}

const shapes: Record<VendorChannel, (hash: Buffer) => string> = {
  apns: (hash) => hash.toString('hex'),
  huawei: (hash) => `IQAAAA${hash.toString('base64url')}`,
  xiaomi: (hash) => Buffer.concat([hash, hash.subarray(0, 16)]).toString('base64'),
  meizu: (hash) => `M${hash.toString('hex').slice(0, 31)}`,
  vivo: (hash) =>
    BigInt(`0x${hash.toString('hex')}`)
      .toString()
      .slice(0, 23),
  oppo: (hash) => `OPPO_CN_${hash.toString('hex').slice(0, 32)}`,
  fcm: (hash) => `${hash.toString('base64url').slice(0, 22)}:APA91b${hash.toString('base64url')}`,
  honor: (hash) => `B${hash.toString('base64url')}`,
}

/** The same at every start, in the shape of the vendor's real ones. */
export function demoToken(channel: VendorChannel, guid: string): string {
  return shapes[channel](createHash('sha256').update(`${channel}/${guid}`).digest())
}
