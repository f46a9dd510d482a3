import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { certificatesOf } from '@herald/db/certificates'
import { createSealer, type Database, openDatabase } from '@herald/db/store'
import { vendorChannels } from '@herald/domain'
import { callbackUrlOf } from '@herald/plan'
import { keepDemoCredentials } from '@herald/standalone'
import { until } from '@herald/testkit'
import { type Cast, prepareCast, rolesOf } from './cast.ts'
import { type DrillFlock, startDrillFlock } from './flock.ts'
import { createTenant, deadTokens, type Tenant } from './population.ts'
import { type DrillPostgres, startDrillPostgres } from './postgres-server.ts'
import { type QueueServers, startQueueServers } from './queue-servers.ts'
import { randomFrom } from './random.ts'
import type { QueueKind } from './schedule.ts'
import { startVendors, type Vendors } from './vendors.ts'

export type StageOptions = {
  seed: number
  queue: QueueKind
  devices: number
  size: 'full' | 'small'
  /** Time limit of one call to a vendor; a busy machine needs more, a vendor that hangs holds its worker for so long. */
  sendTimeout: number
  log(sentence: string): void
}

export type Stage = {
  db: Database
  postgres: DrillPostgres
  queue: QueueServers
  vendors: Vendors
  cast: Cast
  tenant: Tenant
  flock: DrillFlock
}

/** Servers, vendors, every program of Herald and connected devices. What is opened puts its closing into `closing` at once. */
export async function setStage(
  options: StageOptions,
  closing: (() => Promise<unknown>)[],
  onBroken: (sentence: string) => void,
): Promise<Stage> {
  const { seed, log } = options
  const dir = mkdtempSync(join(tmpdir(), 'herald-chaos-keys-'))
  closing.push(async () => rmSync(dir, { recursive: true, force: true }))
  const postgres = await startDrillPostgres()
  closing.push(postgres.stop)
  const queue = await startQueueServers(options.queue, postgres.url)
  closing.push(queue.stop)
  const credentials = await keepDemoCredentials(dir)
  const vendors = await startVendors(dir, (sentence) => {
    onBroken(sentence)
    log(sentence)
  })
  closing.push(vendors.stop)
  const cast = await prepareCast(rolesOf(options.size), randomFrom(seed + 1))
  closing.push(cast.stop)
  const db = openDatabase(postgres.url, { max: 12, name: 'chaos', onIdleError: () => {} })
  closing.push(db.close)

  log(
    `${options.devices} devices, ${cast.roles.length} processes of Herald, ${options.queue} queue, seed ${seed}`,
  )
  const sealer = createSealer(cast.masterKey)
  const tenant = await createTenant(db, sealer, credentials, options.devices)
  for (const certificate of await certificatesOf(db, sealer, tenant.appId)) {
    const url = callbackUrlOf(certificate, `http://127.0.0.1:${cast.front.port}`)
    if (url) vendors.registerReceipts(certificate.channel, url)
  }
  for (const channel of vendorChannels) await vendors.kill(channel, deadTokens(tenant.population, channel))

  cast.start({
    ...vendors.env,
    DATABASE_URL: postgres.url,
    QUEUE_URL: queue.url,
    HERALD_SEND_TIMEOUT_SECONDS: String(options.sendTimeout),
  })
  for (const base of cast.apis)
    await until(async () => (await fetch(`${base}/readyz`)).ok, { what: `the API at ${base}`, seconds: 120 })
  const { flockTag, ids, pushTokens } = tenant.population
  const [, members] = flockTag
  const flock = await startDrillFlock({
    url: `ws://127.0.0.1:${cast.native.port}/native`,
    devices: members.map((n) => ({ id: ids[n]!, pushToken: pushTokens[n]! })),
    seed: seed + 2,
  })
  closing.push(flock.stop)
  await until(async () => (await flock.online()) >= members.length * 0.95, {
    what: 'the devices to connect',
    seconds: 120,
    everyMs: 200,
  })
  return { db, postgres, queue, vendors, cast, tenant, flock }
}
