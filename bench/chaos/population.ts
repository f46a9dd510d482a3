import { saveCertificate } from '@herald/db/certificates'
import { type ImportDevice, openDeviceImport } from '@herald/db/devices'
import type { Database, Sealer } from '@herald/db/store'
import { createApplication, createUser } from '@herald/db/tenants'
import { type VendorChannel, vendorChannels } from '@herald/domain'
import { certificateFields, type DemoCredentials, demoToken, packageName } from '@herald/standalone'

/** What a device has by its number: tokens that live, tokens that are dead, a place in the flock on the native channel. */
export type DeviceKind = { alive: VendorChannel[]; dead: VendorChannel[]; flock: boolean }

const single = vendorChannels.flatMap((channel) =>
  Array.from({ length: 9 }, (): DeviceKind => ({ alive: [channel], dead: [], flock: false })),
)
const several: DeviceKind[] = [
  { alive: ['fcm'], dead: ['xiaomi'], flock: false },
  { alive: ['fcm'], dead: ['meizu'], flock: false },
  { alive: ['huawei', 'oppo'], dead: [], flock: false },
  { alive: ['honor', 'fcm'], dead: [], flock: false },
  { alive: [], dead: ['vivo'], flock: false },
]
const connected = Array.from(
  { length: 6 },
  (_, i): DeviceKind => ({
    alive: i % 2 === 0 ? [] : [vendorChannels[(i + 1) % vendorChannels.length]!],
    dead: [],
    flock: true,
  }),
)
const kinds = [...single, ...several, ...connected]

export const kindOf = (n: number): DeviceKind => kinds[n % kinds.length]!
const tokens = new Map<string, string>()

/** Remembered: the comparison at the end asks for a million of them. */
export function tokenOf(n: number, channel: VendorChannel): string {
  const name = `${channel}/${n}`
  const known = tokens.get(name) ?? demoToken(channel, guidOf(n))
  tokens.set(name, known)
  return known
}
const guidOf = (n: number) => `device-${n}`

const BROADCAST_TAGS = 10
const SMALL_TAGS = 200
const OWNERS = 50
const OWNED = 1000

/** Nothing of theirs is alive and the inbox would keep their messages for a day, so only vendors' tasks name them. */
const isLost = (n: number) => kindOf(n).alive.length === 0 && !kindOf(n).flock

/** Who belongs to which tag and user, by number; aliases are the number itself. */
export type Population = {
  size: number
  numbers: readonly number[]
  broadcastTags: ReadonlyMap<string, readonly number[]>
  smallTags: ReadonlyMap<string, readonly number[]>
  flockTag: readonly [string, readonly number[]]
  owners: ReadonlyMap<string, readonly number[]>
  /** Herald's own device id and push token by number, filled when the devices are made. */
  ids: number[]
  pushTokens: string[]
}

export const aliasOf = (n: number) => `alias-${n}`

export type Tenant = { appId: string; appSecret: string; population: Population }

/** An application with certificates of all eight vendors and devices of every kind. */
export async function createTenant(
  db: Database,
  sealer: Sealer,
  credentials: DemoCredentials,
  size: number,
): Promise<Tenant> {
  const { appId, appSecret } = credentials.application
  const made = await createApplication(db, { appId, appSecret, name: 'Chaos', packageName })
  if (made === 'taken') throw new Error('the database is not new')
  for (const channel of vendorChannels) {
    const { extra, ...fields } = certificateFields[channel](credentials)
    await saveCertificate(db, sealer, {
      application: appId,
      channel,
      environment: 'production',
      name: channel,
      ...fields,
      extra: { ...extra, limits: { requests_per_s: 1_000_000, devices_per_s: 1_000_000 } },
    })
  }
  return { appId, appSecret, population: await populate(db, appId, size) }
}

async function populate(db: Database, appId: string, size: number): Promise<Population> {
  const numbers = Array.from({ length: size }, (_, n) => n)
  const reachable = numbers.filter((n) => !isLost(n))
  const owners: string[] = []
  for (let u = 0; u < OWNERS; u++) {
    const user = await createUser(db, { appId }, { username: `owner-${u}`, passwordHash: '' })
    if ('taken' in user) throw new Error(`the user owner-${u} is taken`)
    owners.push(String(user.userId))
  }
  const flock = numbers.filter((n) => kindOf(n).flock)
  const population: Population = {
    size,
    numbers,
    broadcastTags: group(reachable, (n) => `broadcast-${n % BROADCAST_TAGS}`),
    smallTags: group(reachable, (n) => `small-${n % SMALL_TAGS}`),
    flockTag: ['flock', flock],
    owners: group(
      reachable.filter((n) => n < OWNED),
      (n) => owners[n % OWNERS]!,
    ),
    ids: [],
    pushTokens: [],
  }
  const devices = openDeviceImport(db, appId)
  for (let from = 0; from < size; from += 2000)
    await devices.add(numbers.slice(from, from + 2000).map((n) => deviceOf(n, owners)))
  const { rows } = await db.pool.query<{ id: number; guid: string; token: string }>(
    'SELECT id, guid, push_token AS token FROM device WHERE app_id = $1',
    [appId],
  )
  for (const { id, guid, token } of rows) {
    const n = Number(guid.slice('device-'.length))
    population.ids[n] = id
    population.pushTokens[n] = token
  }
  await db.pool.query('VACUUM ANALYZE device, binding, device_tag')
  return population
}

function deviceOf(n: number, owners: readonly string[]): ImportDevice {
  const { alive, dead, flock } = kindOf(n)
  const tags = isLost(n) ? [] : [`broadcast-${n % BROADCAST_TAGS}`, `small-${n % SMALL_TAGS}`]
  return {
    guid: guidOf(n),
    platform: alive.includes('apns') ? 'ios' : 'android',
    alias: aliasOf(n),
    userId: n < OWNED && !isLost(n) ? owners[n % OWNERS] : undefined,
    tags: flock ? [...tags, 'flock'] : tags,
    bindings: [...alive, ...dead].map((channel) => ({
      channel,
      token: tokenOf(n, channel),
      environment: 1 as const,
    })),
  }
}

function group(numbers: readonly number[], nameOf: (n: number) => string): Map<string, number[]> {
  const groups = new Map<string, number[]>()
  for (const n of numbers) {
    const name = nameOf(n)
    groups.set(name, [...(groups.get(name) ?? []), n])
  }
  return groups
}

/** Tokens of a channel that the vendor calls dead. */
export function deadTokens({ numbers }: Population, channel: VendorChannel): string[] {
  return numbers.filter((n) => kindOf(n).dead.includes(channel)).map((n) => tokenOf(n, channel))
}
