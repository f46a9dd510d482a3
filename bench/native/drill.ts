import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { adapters, type StubEntry, startStubServer } from '@herald/channels'
import {
  createApplication,
  type Database,
  findImbalances,
  isPassing,
  migrate,
  saveCertificate,
} from '@herald/db'
import { type NewTask, type Strategy, strategies } from '@herald/domain'
import { startPostgres } from '@herald/embedded'
import { createAcceptor } from '@herald/plan'
import { openContext } from '@herald/program'
import { readSettings } from '@herald/settings'
import { createLogger, createRegistry } from '@herald/telemetry'
import { freePort, testRedis } from '@herald/testkit'
import { supervise } from '../chaos/supervised.ts'
import { startBalancer } from './balancer.ts'
import { type FlockDevice, startFlock } from './flock.ts'

export type NativeDrillOptions = {
  devices: number
  seconds: number
  seed: number
  /** A database of its own; without one a Postgres is started for the run, and crashes once. */
  databaseUrl?: string
  /** Where jobs travel; without one in Postgres. */
  queueUrl?: string
  log(sentence: string): void
}

export type NativeDrillReport = {
  tasks: number
  shown: number
  /** Devices that got a combined push by the native channel and, for want of a timely acknowledgement, by the vendor too. */
  twice: number
  samples: number
  kills: number
  /** One sentence for everything that is not as promised. */
  broken: string[]
}

const ACK_SECONDS = 3
const KINDS = ['accepted', 'accepted', 'accepted', 'rejected', undefined] as const

type SentTask = { id: number; strategy: Strategy }

/**
 * Two gateways behind a balancer, devices that move, sleep, freeze and die, broadcasts under all strategies, kill -9 and a
 * rolling restart of gateways; at the end each device's own log is held against the counters.
 */
export async function runNativeDrill(options: NativeDrillOptions): Promise<NativeDrillReport> {
  const random = randomFrom(options.seed)
  const postgres = options.databaseUrl ? undefined : await startOwnPostgres()
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
    die: (reason) => {
      throw new Error(reason)
    },
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
  const flock = startFlock({
    url: `ws://127.0.0.1:${balancer.port}/native`,
    devices: seeds,
    random,
    unrest: 0.15,
    deaths: 0.05,
  })

  const broken: string[] = []
  const report: NativeDrillReport = { tasks: 0, shown: 0, twice: 0, samples: 0, kills: 0, broken }
  let over = false
  const sampling = (async () => {
    while (!over) {
      try {
        const wrong = await findImbalances(db)
        report.samples++
        if (wrong.length > 0) broken.push(`out of balance: ${JSON.stringify(wrong[0])}`)
      } catch {
        // Postgres is being killed or restarted.
      }
      await sleep(200)
    }
  })()

  /** As a caller would: again with the same request id until it is answered. */
  const accept = async (task: NewTask, n: number): Promise<number> => {
    for (;;) {
      try {
        return (await acceptor.accept({ ...task, requestId: `drill ${n}` })).taskId
      } catch (error) {
        if (!isPassing(error)) throw error
        await sleep(200)
      }
    }
  }

  const endGateway = async (signal: 'SIGKILL' | 'SIGTERM') => {
    const at = report.kills++ % 2
    options.log(`${signal} to gateway ${at}`)
    const code = await gateways[at]!.kill(signal)
    if (signal === 'SIGTERM' && code !== 0)
      broken.push(`a gateway ended with ${code} after SIGTERM: ${gateways[at]!.output().slice(-500)}`)
  }

  const tasks: SentTask[] = []
  try {
    await waitFor(() => flock.online() > options.devices * 0.7, 60, 'the devices to connect')
    const began = Date.now()
    const faults: { at: number; make(): Promise<void> }[] = [
      { at: 0.2, make: () => endGateway('SIGKILL') },
      { at: 0.4, make: () => endGateway('SIGTERM') },
      { at: 0.6, make: async () => postgres?.crash(options.log) },
      { at: 0.8, make: () => endGateway('SIGKILL') },
    ]
    const faulting: Promise<void>[] = []
    for (let n = 0; Date.now() - began < options.seconds * 1000; n++) {
      if (faults[0] && Date.now() - began > faults[0].at * options.seconds * 1000)
        faulting.push(faults.shift()!.make())
      const strategy = strategies[n % strategies.length]!
      tasks.push({ id: await accept(taskOf(appId, strategy), n), strategy })
      await sleep(300 + random() * 400)
    }
    await Promise.all(faulting)
    report.tasks = tasks.length
    options.log(`${tasks.length} broadcasts; everybody who lives comes home`)
    flock.gather()
    const living = flock.devices.filter(({ dead }) => !dead)
    await waitFor(() => flock.online() === living.length, 60, 'the living to connect')
    await waitFor(() => isQuiet(db, living), 60, 'the end of what is open').catch((error) =>
      broken.push(error.message),
    )
    const ledger = (await (await fetch(`${stub.url}/ledger`)).json()) as StubEntry[]
    await compare(db, tasks, flock.devices, ledger, report)
  } finally {
    over = true
    await sampling
    flock.stop()
    await balancer.close()
    await Promise.all([...gateways, ...others].map((running) => running.stop()))
    await acceptor.close()
    await context.close()
    await stub.close()
    await postgres?.stop()
  }
  return report
}

/** A Postgres that can be killed and comes back on the same port. */
async function startOwnPostgres() {
  const dir = mkdtempSync(join(tmpdir(), 'herald-native-drill-'))
  let running = await startPostgres({ dir, durable: true })
  await migrate(running.url)
  return {
    url: running.url,
    async crash(log: (sentence: string) => void) {
      log('kill -9 of Postgres')
      process.kill(running.pid, 'SIGKILL')
      running = await startPostgres({ dir, durable: true, port: running.port })
    },
    async stop() {
      await running.stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

function taskOf(appId: string, strategy: Strategy): NewTask {
  return {
    appId,
    audience: { kind: 'all' },
    strategy,
    sequence: ['ups', 'fcm'],
    message: {
      type: 'text',
      title: 'Drill',
      badge: { kind: 'add', count: 1 },
      ios: {},
      android: {},
      huawei: {},
      honor: {},
      xiaomi: {},
      oppo: {},
      vivo: {},
      flyme: {},
      fcm: {},
    },
    ttl: 3600,
  }
}

async function createDrillApplication(
  db: Database,
  sealer: Parameters<typeof saveCertificate>[1],
): Promise<string> {
  const made = await createApplication(db, {
    name: `drill ${randomBytes(4).toString('hex')}`,
    packageName: 'com.example',
  })
  if (made === 'taken') throw new Error('the name of the drill is taken')
  await saveCertificate(db, sealer, {
    application: made.appId,
    channel: 'xiaomi',
    environment: 'production',
    name: 'drill',
    appId: '100000',
    appKey: 'key',
    appSecret: 'secret',
    certificate: '',
    extra: {
      package_name: 'com.example',
      limits: { requests_per_s: 1_000_000, devices_per_s: 1_000_000 },
    },
  })
  return made.appId
}

type Seed = { id: number; pushToken: string }
const vendorToken = (id: number) => {
  const kind = KINDS[id % KINDS.length]
  return kind && `${id}:${kind}`
}

async function addDevices(db: Database, appId: string, count: number): Promise<Seed[]> {
  const { rows } = await db.pool.query<Seed>(
    `INSERT INTO device (app_id, guid, push_token, platform, moved_at)
     SELECT $1, $1 || n, $1 || '-' || n, 'android', now() - interval '1 hour' FROM generate_series(1, $2::int) n
     RETURNING id, push_token AS "pushToken"`,
    [appId, count],
  )
  const bound = rows.filter(({ id }) => vendorToken(id))
  await db.pool.query(
    `INSERT INTO binding (device_id, channel, app_id, token, registered_at)
     SELECT b.id, 'xiaomi', $1, b.token, now() - interval '1 hour' FROM unnest($2::bigint[], $3::text[]) AS b (id, token)`,
    [appId, bound.map(({ id }) => id), bound.map(({ id }) => vendorToken(id))],
  )
  return rows
}

/** Nothing is planned or sent any more, and the living have emptied their inboxes. */
async function isQuiet(db: Database, living: FlockDevice[]): Promise<boolean> {
  const { rows } = await db.pool.query<{ open: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM task WHERE state IN ('accepted', 'planning'))
       OR EXISTS (SELECT 1 FROM batch WHERE state <> 'settled')
       OR EXISTS (SELECT 1 FROM inbox WHERE fallback_at IS NOT NULL OR device_id = ANY($1)) AS open`,
    [living.map(({ id }) => id)],
  )
  return !rows[0]!.open
}

async function compare(
  db: Database,
  tasks: SentTask[],
  devices: FlockDevice[],
  ledger: StubEntry[],
  report: NativeDrillReport,
): Promise<void> {
  const { broken } = report
  const accepted = new Map(ledger.map((entry) => [`${entry.task} ${entry.token}`, entry.accepted]))
  for (const { id: task, strategy } of tasks) {
    const receipts = await nativeReceipts(db, task)
    const vendorBatches = await vendorTimes(db, task)
    let [received, sentByVendor] = [0, 0]
    for (const device of devices) {
      const where = `device ${device.id} (${vendorToken(device.id) ?? 'no vendor'}), task ${task} (${strategy})`
      const shown = device.shown.get(task) ?? 0
      const byVendor = accepted.get(`${task} ${vendorToken(device.id)}`) ?? 0
      const receiptAt = receipts.get(device.id)
      report.shown += shown
      if (receiptAt !== undefined) received++
      sentByVendor += byVendor
      if (shown > 1) broken.push(`${where} was shown ${shown} times`)
      if (byVendor > 1) broken.push(`${where} was sent ${byVendor} times by its vendor`)
      if (receiptAt !== undefined && shown === 0) broken.push(`${where} has a receipt and was never shown`)
      if (!device.dead && shown > 0 && receiptAt === undefined)
        broken.push(`${where} was shown without a receipt`)
      if (strategy === 'ospush_only') {
        if (shown > 0) broken.push(`${where} came over the native channel`)
        if (byVendor !== Number(vendorToken(device.id)?.endsWith(':accepted') ?? false))
          broken.push(`${where} was not handed to its vendor`)
        continue
      }
      if (!device.dead && shown === 0 && byVendor === 0) broken.push(`${where} got nothing`)
      if (strategy === 'nativepush_only' && byVendor > 0) broken.push(`${where} went to a vendor`)
      if (shown > 0 && byVendor > 0) {
        report.twice++
        const handedOver = vendorBatches.get(device.id) ?? 0
        if (receiptAt !== undefined && receiptAt < handedOver)
          broken.push(`${where} went to its vendor ${handedOver - receiptAt} ms after it had acknowledged`)
      }
    }
    const { rows } = await db.pool.query<{ channel: string; sent: number; received: number; target: number }>(
      'SELECT channel, sent, received, target FROM counter WHERE task_id = $1',
      [task],
    )
    const counters = new Map(rows.map((row) => [row.channel, row]))
    const native = counters.get('native')
    if ((native?.received ?? 0) !== received)
      broken.push(`task ${task} counts ${native?.received} received, devices acknowledged ${received}`)
    if ((native?.sent ?? 0) < received) broken.push(`task ${task} counts fewer sent than received`)
    if ((counters.get('xiaomi')?.sent ?? 0) !== sentByVendor)
      broken.push(
        `task ${task} counts ${counters.get('xiaomi')?.sent} sent, the vendor accepted ${sentByVendor}`,
      )
  }
}

/** When each device's native receipt was recorded, in Unix ms. */
async function nativeReceipts(db: Database, task: number): Promise<Map<number, number>> {
  const { rows } = await db.pool.query<{ id: number; at: number }>(
    `SELECT device_id AS id, (extract(epoch FROM received_at) * 1000)::float8 AS at FROM receipt
     WHERE task_id = $1 AND channel = 'native'`,
    [task],
  )
  return new Map(rows.map(({ id, at }) => [id, at]))
}

/** When a recipient was last given to the vendor after the native channel, in Unix ms. */
async function vendorTimes(db: Database, task: number): Promise<Map<number, number>> {
  const { rows } = await db.pool.query<{ id: number; at: number }>(
    `SELECT r.id, max(extract(epoch FROM b.planned_at) * 1000)::float8 AS at
     FROM batch b CROSS JOIN LATERAL unnest(b.recipients) AS r (id)
     WHERE b.task_id = $1 AND b.channel = 'xiaomi' AND 'native' = ANY(b.tried) GROUP BY 1`,
    [task],
  )
  return new Map(rows.map(({ id, at }) => [id, at]))
}

async function waitFor(condition: () => boolean | Promise<boolean>, seconds: number, what: string) {
  const until = Date.now() + seconds * 1000
  while (!(await condition())) {
    if (Date.now() > until) throw new Error(`waited ${seconds} s for ${what} in vain`)
    await sleep(100)
  }
}

/** A small seeded generator (mulberry32): the same seed gives the same lives. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [queue, ...numbers] = process.argv.slice(2)
  if (queue !== 'redis' && queue !== 'postgres')
    throw new Error('usage: drill.ts redis|postgres [devices] [seconds] [seed]')
  const [devices = 2000, seconds = 60, seed = 1] = numbers.map(Number)
  const redis = queue === 'redis' ? await testRedis() : undefined
  const report = await runNativeDrill({ devices, seconds, seed, queueUrl: redis?.url, log: console.log })
  await redis?.stop()
  for (const sentence of report.broken.slice(0, 20)) console.log(sentence)
  console.log(JSON.stringify({ ...report, broken: report.broken.length }))
  process.exit(report.broken.length > 0 ? 1 : 0)
}
