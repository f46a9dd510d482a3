import { randomBytes } from 'node:crypto'
import { saveCertificate } from '@herald/db/certificates'
import {
  type DeviceChange,
  listDevices,
  openDeviceWriter,
  openPushTokens,
  type PushTokens,
} from '@herald/db/devices'
import type { Database, Sealer } from '@herald/db/store'
import { createApplication, createUser } from '@herald/db/tenants'
import { cardOf, type VendorChannel, vendorChannels } from '@herald/domain'
import { packageName } from '@herald/simulators'
import { type DemoCredentials, demoCertificate, demoToken } from '@herald/standalone'
import { unlimited } from '../pipeline/deployment.ts'

/** Channels on which a device has a valid token or a dead one, and whether it connects to the native channel. */
export type DeviceKind = { alive: VendorChannel[]; dead: VendorChannel[]; native: boolean }

const single = vendorChannels.flatMap((channel) =>
  Array.from({ length: 9 }, (): DeviceKind => ({ alive: [channel], dead: [], native: false })),
)
const several: DeviceKind[] = [
  { alive: ['fcm'], dead: ['xiaomi'], native: false },
  { alive: ['fcm'], dead: ['meizu'], native: false },
  { alive: ['huawei', 'oppo'], dead: [], native: false },
  { alive: ['honor', 'fcm'], dead: [], native: false },
  { alive: [], dead: ['vivo'], native: false },
]
const connected = Array.from(
  { length: 6 },
  (_, i): DeviceKind => ({
    alive: i % 2 === 0 ? [] : [vendorChannels[(i + 1) % vendorChannels.length]!],
    dead: [],
    native: true,
  }),
)
const kinds = [...single, ...several, ...connected]

export const kindOf = (n: number): DeviceKind => kinds[n % kinds.length]!
const tokens = new Map<string, string>()

/** Cached, because the comparison at the end needs a million of them. */
export function tokenOf(n: number, channel: VendorChannel): string {
  const name = `${channel}/${n}`
  const known = tokens.get(name) ?? demoToken(channel, guidOf(n))
  tokens.set(name, known)
  return known
}
export const guidOf = (n: number) => `device-${n}`

const BROADCAST_TAGS = 10
const SMALL_TAGS = 200
const OWNERS = 50
const OWNED = 1000

/** The inbox would keep messages to these devices for a day, so only tasks for vendors target them. */
const isUnreachable = (n: number) => kindOf(n).alive.length === 0 && !kindOf(n).native

/** Devices by their number, and the numbers of each tag and user. */
export type Population = {
  size: number
  numbers: readonly number[]
  broadcastTags: ReadonlyMap<string, readonly number[]>
  smallTags: ReadonlyMap<string, readonly number[]>
  nativeTag: readonly [string, readonly number[]]
  owners: ReadonlyMap<string, readonly number[]>
  /** Devices of one certificate, which get pushes that begin together. */
  reminded: readonly number[]
  /** Herald's device id and push token by number. */
  ids: number[]
  pushTokens: string[]
}

export const aliasOf = (n: number) => `alias-${n}`

export type Tenant = { appId: string; appSecret: string; population: Population }

/** Creates an application with certificates of all vendors and devices of every kind. */
export async function createTenant(
  db: Database,
  sealer: Sealer,
  credentials: DemoCredentials,
  size: number,
): Promise<Tenant> {
  const { appId, appSecret } = credentials.application
  await createWithCertificates(db, sealer, credentials, { appId, appSecret, name: 'Chaos' })
  return { appId, appSecret, population: await populate(db, await openPushTokens(db, sealer), appId, size) }
}

/** An application that floods: its devices have numbers of the same population, above those of the tenant. */
export type Flooder = { appId: string; appSecret: string; devices: readonly number[] }

const FLOODED_DEVICES = 800

/** Whether a push to the device can only go to one vendor, and does. */
export function hasOneVendor(n: number): boolean {
  const { alive, dead, native } = kindOf(n)
  return alive.length === 1 && dead.length === 0 && !native
}

/** Creates another application with the same vendor accounts, and devices of one vendor each. */
export async function createFlooder(
  db: Database,
  sealer: Sealer,
  credentials: DemoCredentials,
  population: Population,
): Promise<Flooder> {
  const flooder = { appId: 'flooder', appSecret: randomBytes(24).toString('hex') }
  await createWithCertificates(db, sealer, credentials, { ...flooder, name: 'Flooder' })
  const devices = Array.from({ length: 2 * FLOODED_DEVICES }, (_, i) => population.size + i)
    .filter(hasOneVendor)
    .slice(0, FLOODED_DEVICES)
  await importDevices(db, await openPushTokens(db, sealer), flooder.appId, devices, [], population)
  return { ...flooder, devices }
}

async function createWithCertificates(
  db: Database,
  sealer: Sealer,
  credentials: DemoCredentials,
  application: { appId: string; appSecret: string; name: string },
): Promise<void> {
  const made = await createApplication(db, { ...application, packageName })
  if (made === 'taken') throw new Error('the database is not new')
  for (const channel of vendorChannels) {
    const { extra, ...fields } = demoCertificate(channel, credentials)
    await saveCertificate(db, sealer, {
      application: application.appId,
      channel,
      environment: 'production',
      name: channel,
      ...fields,
      extra: { ...extra, ...unlimited },
    })
  }
}

async function populate(db: Database, tokens: PushTokens, appId: string, size: number): Promise<Population> {
  const numbers = Array.from({ length: size }, (_, n) => n)
  const reachable = numbers.filter((n) => !isUnreachable(n))
  const owners: string[] = []
  for (let u = 0; u < OWNERS; u++) {
    const user = await createUser(db, { appId }, { username: `owner-${u}`, passwordHash: '' })
    if ('taken' in user) throw new Error(`the user owner-${u} is taken`)
    owners.push(String(user.userId))
  }
  const population: Population = {
    size,
    numbers,
    broadcastTags: Map.groupBy(reachable, (n) => `broadcast-${n % BROADCAST_TAGS}`),
    smallTags: Map.groupBy(reachable, (n) => `small-${n % SMALL_TAGS}`),
    nativeTag: ['native', numbers.filter((n) => kindOf(n).native)],
    owners: Map.groupBy(
      reachable.filter((n) => n < OWNED),
      (n) => owners[n % OWNERS]!,
    ),
    reminded: numbers.filter((n) => hasOneVendor(n) && kindOf(n).alive[0] === 'apns'),
    ids: [],
    pushTokens: [],
  }
  await importDevices(db, tokens, appId, numbers, owners, population)
  await db.pool.query('VACUUM ANALYZE device, binding, device_tag')
  return population
}

/** Registers the devices and adds their ids and push tokens to the population. */
async function importDevices(
  db: Database,
  tokens: PushTokens,
  appId: string,
  numbers: readonly number[],
  owners: readonly string[],
  population: Population,
): Promise<void> {
  const devices = openDeviceWriter(db, tokens, appId, { expectNew: true })
  for (let from = 0; from < numbers.length; from += 2000)
    await devices.write(numbers.slice(from, from + 2000).map((n) => deviceOf(n, owners)))
  for (let after = 0, page = 1000; page === 1000; ) {
    const list = await listDevices(db, tokens, { appId }, {}, { after: BigInt(after), limit: 1000 })
    for (const { deviceId, guid, pushToken } of list) {
      const n = Number(guid.slice('device-'.length))
      population.ids[n] = deviceId
      population.pushTokens[n] = pushToken
      after = deviceId
    }
    page = list.length
  }
}

function deviceOf(n: number, owners: readonly string[]): DeviceChange {
  const { alive, dead, native } = kindOf(n)
  const tags = isUnreachable(n) ? [] : [`broadcast-${n % BROADCAST_TAGS}`, `small-${n % SMALL_TAGS}`]
  return {
    guid: guidOf(n),
    platform: alive.some((channel) => cardOf(channel).solePlatform === 'ios') ? 'ios' : 'android',
    alias: aliasOf(n),
    userId: n < OWNED && !isUnreachable(n) ? owners[n % OWNERS] : undefined,
    tags: native ? [...tags, 'native'] : tags,
    bindings: [...alive, ...dead].map((channel) => ({
      channel,
      token: tokenOf(n, channel),
      environment: 1 as const,
    })),
  }
}

/** Returns the tokens that the vendor reports as dead. */
export function deadTokens({ numbers }: Population, channel: VendorChannel): string[] {
  return numbers.filter((n) => kindOf(n).dead.includes(channel)).map((n) => tokenOf(n, channel))
}
