import { randomBytes } from 'node:crypto'
import { retryWithBackoff, sleep } from '@herald/async'
import { adapters } from '@herald/channels/all'
import { type Database, isTransient } from '@herald/db/store'
import { type NewTask, type Strategy, strategies } from '@herald/domain'
import { createAcceptor } from '@herald/plan'
import { openContext } from '@herald/program'
import { readSettings } from '@herald/settings'
import { createLogger, createRegistry } from '@herald/telemetry'
import { freePort, testRedis, until } from '@herald/testkit'
import { sampleMessage } from '@herald/testkit/sample-message'
import { type StubEntry, startStubServer } from '@herald/testkit/stub-server'
import { readHeraldRecords } from '../chaos/herald-records.ts'
import { startDrillPostgres } from '../chaos/postgres-server.ts'
import { randomFrom } from '../chaos/random.ts'
import { startSampling } from '../chaos/sampling.ts'
import { supervise } from '../chaos/supervised.ts'
import { startBalancer } from './balancer.ts'
import { compare, type Findings, type SentTask } from './compare.ts'
import { type SimulatedDevice, startDevices } from './devices.ts'
import { addDevices, createDrillApplication } from './population.ts'

export type NativeDrillOptions = {
  devices: number
  /** Two in a second. */
  broadcasts: number
  seed: number
  /** Without a database, a Postgres is started for the run and crashes once. */
  databaseUrl?: string
  /** Default: the queue in Postgres. */
  queueUrl?: string
  log(sentence: string): void
}

export type NativeDrillReport = Pick<Findings, 'shown' | 'twice'> & {
  tasks: number
  samples: number
  kills: number
  /** One sentence per violated guarantee. */
  broken: string[]
}

const ACK_SECONDS = 3
const SAMPLE_MS = 200

/**
 * Two gateways behind a load balancer; devices that move, go offline, freeze and die; broadcasts under all strategies; kill -9
 * and rolling restarts of gateways. At the end each device's own log is compared with the counters.
 */
export async function runNativeDrill(options: NativeDrillOptions): Promise<NativeDrillReport> {
  const random = randomFrom(options.seed)
  const postgres = options.databaseUrl ? undefined : await startDrillPostgres()
  const databaseUrl = options.databaseUrl ?? postgres!.url
  const stub = await startStubServer({ latencyMs: 20 })
  const env = {
    DATABASE_URL: databaseUrl,
    QUEUE_URL: options.queueUrl ?? databaseUrl,
    HERALD_MASTER_KEY: randomBytes(32).toString('hex'),
    HERALD_METRICS_PORT: '0',
    HERALD_LOG_LEVEL: 'error',
    HERALD_ACK_SECONDS: String(ACK_SECONDS),
  }
  const context = await openContext({
    settings: readSettings(env).settings,
    log: createLogger({ name: 'drill', level: 'error' }),
    registry: createRegistry('drill'),
    certificateAdapters: adapters,
  })
  const { db } = context
  const appId = await createDrillApplication(db, context.sealer)
  const seeds = await addDevices(db, appId, options.devices)
  const acceptor = createAcceptor({ ...context, onQueueFailure: () => {} })

  const ports = [await freePort(), await freePort()]
  const gateways = ports.map((port) =>
    supervise(`gateway ${port}`, ['apps/worker-native/src/main.ts'], {
      ...env,
      HERALD_GATEWAY_PORT: String(port),
    }),
  )
  const others = [
    supervise('planner', ['apps/planner/src/main.ts'], env),
    supervise('worker', ['bench/chaos/stub-worker.ts', stub.url], env),
  ]
  const balancer = await startBalancer(ports, random)
  const simulated = startDevices({
    url: `ws://127.0.0.1:${balancer.port}/native`,
    devices: seeds,
    random,
    unrest: 0.15,
    deaths: 0.05,
  })
  simulated.startUnrest()

  const broken: string[] = []
  const sampling = startSampling(db, SAMPLE_MS, broken)
  let kills = 0

  /** Retries with the same request id, as a caller does. */
  const accept = async (task: NewTask, n: number): Promise<number> => {
    const send = () => acceptor.accept({ ...task, requestId: `drill ${n}` })
    return (await retryWithBackoff(send, { isTransient, firstMs: 200, maxMs: 200 })).taskId
  }

  const endGateway = async (signal: 'SIGKILL' | 'SIGTERM') => {
    const at = kills++ % 2
    options.log(`${signal} to gateway ${at}`)
    const code = await gateways[at]!.kill(signal)
    if (signal === 'SIGTERM' && code !== 0)
      broken.push(`a gateway ended with ${code} after SIGTERM: ${gateways[at]!.output().slice(-500)}`)
  }

  const crashPostgres = async () => {
    if (!postgres) return
    options.log('kill -9 of Postgres')
    await postgres.crash('SIGKILL')
  }

  const tasks: SentTask[] = []
  try {
    await until(() => simulated.online() > options.devices * 0.7, {
      what: 'the devices to connect',
      seconds: 180,
    })
    const faults: { at: number; make(): Promise<void> }[] = [
      { at: 0.2, make: () => endGateway('SIGKILL') },
      { at: 0.4, make: () => endGateway('SIGTERM') },
      { at: 0.6, make: crashPostgres },
      { at: 0.8, make: () => endGateway('SIGKILL') },
    ]
    const faulting: Promise<void>[] = []
    for (let n = 0; n < options.broadcasts; n++) {
      if (faults[0] && n > faults[0].at * options.broadcasts) faulting.push(faults.shift()!.make())
      const strategy = strategies[n % strategies.length]!
      tasks.push({ id: await accept(taskOf(appId, strategy), n), strategy })
      await sleep(300 + random() * 400)
    }
    await Promise.all(faulting)
    options.log(`${tasks.length} broadcasts; all living devices connect`)
    simulated.connectAll()
    const living = simulated.devices.filter(({ dead }) => !dead)
    await until(() => simulated.online() === living.length, {
      what: 'the living devices to connect',
      seconds: 180,
    })
    await until(() => hasAllEnded(db, living), {
      what: 'all tasks to end',
      seconds: 180,
      everyMs: 100,
    }).catch((error) => broken.push(error.message))
    const ledger = (await (await fetch(`${stub.url}/ledger`)).json()) as StubEntry[]
    const ids = seeds.map(({ id }) => id)
    const { shown, twice, wrong } = compare(
      await readHeraldRecords(db, ids),
      tasks,
      simulated.devices,
      ledger,
    )
    broken.push(...wrong)
    return { tasks: tasks.length, shown, twice, samples: sampling.count(), kills, broken }
  } finally {
    await sampling.stop()
    simulated.stop()
    await balancer.close()
    await Promise.all([...gateways, ...others].map((running) => running.stop()))
    await acceptor.close()
    await context.close()
    await stub.close()
    await postgres?.stop()
  }
}

function taskOf(appId: string, strategy: Strategy): NewTask {
  return {
    appId,
    audience: { kind: 'all' },
    strategy,
    sequence: ['ups', 'fcm'],
    message: sampleMessage(),
    ttl: 3600,
  }
}

/** Whether all tasks have been sent and the living devices have emptied their inboxes. */
async function hasAllEnded(db: Database, living: SimulatedDevice[]): Promise<boolean> {
  const { rows } = await db.pool.query<{ open: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM task WHERE state IN ('accepted', 'planning'))
       OR EXISTS (SELECT 1 FROM batch WHERE state <> 'settled')
       OR EXISTS (SELECT 1 FROM inbox WHERE fallback_at IS NOT NULL OR device_id = ANY($1)) AS open`,
    [living.map(({ id }) => id)],
  )
  return !rows[0]!.open
}

if (import.meta.main) {
  const [queue, ...numbers] = process.argv.slice(2)
  if (queue !== 'redis' && queue !== 'postgres')
    throw new Error('usage: drill.ts redis|postgres [devices] [broadcasts] [seed]')
  const [devices = 2000, broadcasts = 120, seed = 1] = numbers.map(Number)
  const redis = queue === 'redis' ? await testRedis() : undefined
  const report = await runNativeDrill({ devices, broadcasts, seed, queueUrl: redis?.url, log: console.log })
  await redis?.stop()
  for (const sentence of report.broken.slice(0, 20)) console.log(sentence)
  console.log(JSON.stringify({ ...report, broken: report.broken.length }))
  process.exit(report.broken.length > 0 ? 1 : 0)
}
