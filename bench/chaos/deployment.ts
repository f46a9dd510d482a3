import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { certificatesOf } from '@herald/db/certificates'
import { saveWebhook } from '@herald/db/events'
import { createSealer, type Database, openDatabase } from '@herald/db/store'
import { eventNames, vendorChannels } from '@herald/domain'
import { newWebhookSecret } from '@herald/outbound'
import { callbackUrlOf } from '@herald/plan'
import { keepDemoCredentials } from '@herald/standalone'
import { until } from '@herald/testkit'
import { type EventSink, startEventSink } from './event-sink.ts'
import { type HostLinks, startHostLinks } from './host-links.ts'
import { type NativeDevices, startNativeDevices } from './native-devices.ts'
import { createFlooder, createTenant, deadTokens, type Flooder, type Tenant } from './population.ts'
import { type DrillPostgres, startDrillPostgres } from './postgres-server.ts'
import { type Processes, prepareProcesses, processesOf } from './processes.ts'
import { type QueueServers, startQueueServers } from './queue-servers.ts'
import { randomFrom } from './random.ts'
import { DRILL_CAMPAIGN } from './requests.ts'
import type { QueueKind } from './schedule.ts'
import { startVendors, type Vendors } from './vendors.ts'

export type DeploymentOptions = {
  seed: number
  queue: QueueKind
  devices: number
  size: 'full' | 'small'
  /** Time limit in seconds of one call to a vendor. A busy machine needs more; a vendor that hangs blocks its worker longer. */
  sendTimeout: number
  log(sentence: string): void
}

export type Deployment = {
  db: Database
  postgres: DrillPostgres
  queue: QueueServers
  vendors: Vendors
  processes: Processes
  links: HostLinks
  tenant: Tenant
  /** The application that floods. */
  flooder: Flooder
  devices: NativeDevices
  /** The server of the application. */
  sink: EventSink
}

/** Starts servers, vendors, all of Herald's programs and connected devices. Each adds its stop function to `closing` at once. */
export async function startDeployment(
  options: DeploymentOptions,
  closing: (() => Promise<unknown>)[],
  onBroken: (sentence: string) => void,
): Promise<Deployment> {
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
  const processes = await prepareProcesses(processesOf(options.size), randomFrom(seed + 1))
  closing.push(processes.stop)
  const links = await startHostLinks(
    processes.list.map(({ name }) => name),
    { databaseUrl: postgres.url, queueUrl: queue.url, queue: options.queue },
  )
  closing.push(links.stop)
  const db = openDatabase(postgres.url, { max: 12, name: 'chaos', onIdleError: () => {} })
  closing.push(db.close)

  log(
    `${options.devices} devices, ${processes.list.length} Herald processes, ${options.queue} queue, seed ${seed}`,
  )
  const sealer = createSealer(processes.masterKey)
  const tenant = await createTenant(db, sealer, credentials, options.devices)
  for (const certificate of await certificatesOf(db, sealer, tenant.appId)) {
    const url = callbackUrlOf(certificate, `http://127.0.0.1:${processes.apiBalancer.port}`)
    if (url) vendors.registerReceipts(certificate.channel, url)
  }
  for (const channel of vendorChannels) await vendors.kill(channel, deadTokens(tenant.population, channel))

  const secret = newWebhookSecret()
  const sink = await startEventSink({ secret, random: randomFrom(seed + 6), onBroken })
  closing.push(sink.close)
  const webhook = { name: 'drill', url: sink.url, events: [...eventNames], campaign: DRILL_CAMPAIGN }
  await saveWebhook(db, sealer, tenant.appId, { ...webhook, newSecret: secret }, { actor: 'drill' })

  const flooder = await createFlooder(db, sealer, credentials, tenant.population)

  processes.start({ ...vendors.env, HERALD_SEND_TIMEOUT_SECONDS: String(options.sendTimeout) }, links.envOf)
  await untilReady(processes.apis)
  const { nativeTag, ids, pushTokens } = tenant.population
  const [, native] = nativeTag
  const devices = await startNativeDevices({
    url: `ws://127.0.0.1:${processes.gatewayBalancer.port}/native`,
    devices: native.map((n) => ({ id: ids[n]!, pushToken: pushTokens[n]! })),
    seed: seed + 2,
  })
  closing.push(devices.stop)
  const gateways = () =>
    processes.list.flatMap(({ name, role }) =>
      role === 'gateway' ? (processes.byName.get(name)?.output() ?? '') : [],
    )
  await until(async () => (await devices.online()) === native.length, {
    what: 'the devices to connect',
    seconds: 120,
    everyMs: 200,
  }).catch((error) => {
    throw new Error(`${error.message} The gateways wrote: ${gateways().join('').slice(-2000)}`, {
      cause: error,
    })
  })
  await devices.startUnrest()
  return { db, postgres, queue, vendors, processes, links, tenant, flooder, devices, sink }
}

export async function untilReady(apis: readonly string[]): Promise<void> {
  for (const base of apis)
    await until(async () => (await fetch(`${base}/readyz`)).ok, { what: `the API at ${base}`, seconds: 120 })
}
