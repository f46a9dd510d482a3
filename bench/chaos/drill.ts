import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type StubEntry, startStubServer } from '@herald/channels'
import {
  createApplication,
  createSealer,
  findImbalances,
  migrate,
  openDatabase,
  saveCertificate,
} from '@herald/db'
import { startPostgres } from '@herald/embedded'
import { freePort, testRedis } from '@herald/testkit'
import { expectedCounts, populate } from './population.ts'
import { type Supervised, supervise } from './supervised.ts'

export type DrillOptions = {
  queue: 'redis' | 'postgres'
  devices: number
  /** Targeted notifies while the broadcasts run. */
  targeted: number
  /** Seconds between two faults. */
  every: number
  seed: number
  /** So many faults come whatever the time, so that a slow machine is not spared. */
  leastFaults?: number
  /** No faults after this; what is open then must end within a minute and a half. */
  seconds: number
  /** Freezes one worker for longer than its leases. */
  longFreeze?: boolean
  log(sentence: string): void
}

export type DrillReport = {
  tasks: number
  faults: number
  restarts: number
  deliveries: number
  duplicates: number
  samples: number
  /** One sentence for everything that is not as promised. */
  broken: string[]
}

/** Separate processes, a broadcast and targeted pushes, and a fault every few seconds; then the promises are checked. */
export async function runDrill(options: DrillOptions): Promise<DrillReport> {
  const random = randomFrom(options.seed)
  const dir = mkdtempSync(join(tmpdir(), 'herald-drill-'))
  let postgres = await startPostgres({ dir, durable: false })
  const redis = options.queue === 'redis' ? await testRedis() : undefined
  const stub = await startStubServer({ latencyMs: 5 })
  await migrate(postgres.url)
  const db = openDatabase(postgres.url, { max: 4, name: 'drill', onIdleError: () => {} })
  // Quick to start, yet what was committed must outlive a kill -9 of the server, or the drill would blame Herald for its loss.
  await db.pool.query(
    `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = on', current_database()); END $$`,
  )
  const masterKey = randomBytes(32)
  const sealer = createSealer(masterKey)
  const apiPort = await freePort()
  const base = `http://127.0.0.1:${apiPort}`

  const made = await createApplication(db, { name: 'drill', packageName: 'com.example.drill' })
  if (made === 'taken') throw new Error('the database is not new')
  const { appId, appSecret } = made
  for (const channel of ['xiaomi', 'oppo', 'huawei'] as const) {
    await saveCertificate(db, sealer, {
      application: appId,
      channel,
      environment: 'production',
      name: channel,
      appId: '100000',
      appKey: channel === 'huawei' ? '' : 'key',
      appSecret: 'secret',
      certificate: '',
      extra: {
        limits: { requests_per_s: 1_000_000, devices_per_s: 10_000_000 },
        ...(channel === 'xiaomi' && { package_name: 'com.example.drill' }),
      },
    })
  }
  await populate(db, appId, options.devices)

  const env = (extra: Record<string, string> = {}) => ({
    DATABASE_URL: postgres.url,
    QUEUE_URL: redis?.url ?? postgres.url,
    HERALD_MASTER_KEY: masterKey.toString('hex'),
    HERALD_OPERATOR_KEY: 'drill-operator-key',
    HERALD_METRICS_PORT: '0',
    HERALD_SEND_TIMEOUT_SECONDS: '5',
    HERALD_LOG_LEVEL: 'error',
    ...extra,
  })
  const processes: Supervised[] = [
    supervise('api', ['apps/api/src/main.ts'], env({ HERALD_PORT: String(apiPort) })),
    ...['planner-1', 'planner-2'].map((name) => supervise(name, ['apps/planner/src/main.ts'], env())),
    ...['worker-1', 'worker-2'].map((name) =>
      supervise(name, ['bench/chaos/stub-worker.ts', stub.url], env()),
    ),
  ]

  const broken: string[] = []
  const report: DrillReport = {
    tasks: 0,
    faults: 0,
    restarts: 0,
    deliveries: 0,
    duplicates: 0,
    samples: 0,
    broken,
  }
  let over = false

  const post = async (
    path: string,
    body: object,
    token?: string,
  ): Promise<{ code: number; data: Record<string, never> }> => {
    for (;;) {
      try {
        const answer = await fetch(base + path, {
          method: 'POST',
          headers: {
            app_id: appId,
            'content-type': 'application/json',
            ...(token && { 'access-token': token }),
          },
          body: JSON.stringify(body),
          signal: AbortSignal.timeout(20_000),
        })
        const envelope = (await answer.json()) as { code: number; data: Record<string, never> }
        if (envelope.code === 200) return envelope
        if (envelope.code < 50000) throw new Refused(`${path} answered ${JSON.stringify(envelope)}`)
      } catch (error) {
        if (error instanceof Refused) throw error
      }
      await sleep(200)
    }
  }

  const sampling = (async () => {
    while (!over) {
      try {
        const wrong = await findImbalances(db)
        report.samples++
        if (wrong.length > 0) broken.push(`out of balance: ${JSON.stringify(wrong[0])}`)
      } catch {
        // Postgres is being restarted.
      }
      await sleep(500)
    }
  })()

  const pending = new Set<Promise<void>>()
  const inBackground = (work: Promise<unknown>) => {
    const settled = work.then(
      () => {},
      () => {},
    )
    pending.add(settled)
    settled.finally(() => pending.delete(settled))
  }
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!

  const faulting = (async () => {
    const until = Date.now() + options.seconds * 1000
    await sleep(2000)
    for (let n = 1; (Date.now() < until || n <= (options.leastFaults ?? 0)) && !over; n++) {
      if (n === 3 && redis) {
        options.log('FLUSHALL')
        await flush(redis.port)
      } else if (n === 5) {
        options.log('kill -9 of Postgres')
        process.kill(postgres.pid, 'SIGKILL')
        postgres = await startPostgres({ dir, durable: false, port: postgres.port })
      } else if (n === 2 && options.longFreeze) {
        const victim = pick(processes.slice(3))
        options.log(`SIGSTOP of ${victim.name} for longer than its leases`)
        inBackground(victim.freeze(FREEZE_PAST_LEASE))
      } else await strike()
      report.faults++
      await sleep(options.every * 1000)
    }
  })()

  async function strike(): Promise<void> {
    const kind = random()
    const victim = pick(processes)
    const seconds = 1 + Math.floor(random() * 4)
    if (kind < 0.6) {
      options.log(`kill -9 of ${victim.name}`)
      await victim.kill()
    } else if (kind < 0.85) {
      options.log(`SIGSTOP of ${victim.name} for ${seconds} s`)
      inBackground(victim.freeze(seconds))
    } else {
      const table = pick(['counter', 'batch', 'task', 'binding'])
      options.log(`${table} locked for ${seconds} s`)
      inBackground(lockTable(table, seconds))
    }
  }

  async function lockTable(table: string, seconds: number): Promise<void> {
    const client = await db.pool.connect()
    try {
      await client.query(
        `BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(${seconds}); COMMIT`,
      )
    } finally {
      client.release(true)
    }
  }

  try {
    const { data: session } = await post('/token/admin', { app_secret: appSecret })
    const token = session.token as unknown as string
    const notify = async (audience: unknown, requestId: string) => {
      const { data } = await post(
        '/push/notify',
        {
          audience,
          setting: { request_id: requestId, distribution_strategy: 'ospush_only' },
          message: { title: 'Drill', body: 'x' },
        },
        token,
      )
      return Number(data.task_id)
    }
    const broadcast = await notify('all', 'broadcast')
    const tasks = new Map<number, { devices: number[]; broadcast: boolean }>()
    const everyone = Array.from({ length: options.devices }, (_, n) => n)
    tasks.set(broadcast, { devices: everyone, broadcast: true })
    for (let n = 0; n < options.targeted; n++) {
      // Every kind of device but those whose token dies, so that a task's counters do not depend on which came first.
      const devices = [0, n, n + 7, n + 31].map((d) => (d * 13) % options.devices).filter((d) => d % 100 < 90)
      const task = await notify({ alias: devices.map((d) => `d${d}`) }, `targeted ${n}`)
      tasks.set(task, { devices: [...new Set(devices)], broadcast: false })
      await sleep(Math.max(0, (options.seconds * 1000) / options.targeted - 20))
    }
    await faulting
    report.tasks = tasks.size

    await Promise.all(pending)
    const deadline = Date.now() + 90_000
    for (;;) {
      const open = await db.pool
        .query(`SELECT id, state FROM task WHERE state NOT IN ('finished', 'cancelled')`)
        .then((result) => result.rows)
      if (open.length === 0) break
      if (Date.now() > deadline) {
        broken.push(`${open.length} tasks did not end, the first is ${JSON.stringify(open[0])}`)
        break
      }
      await sleep(500)
    }
    const ledger = (await (await fetch(`${stub.url}/ledger`)).json()) as StubEntry[]
    await compare(tasks, ledger)
  } finally {
    over = true
    await Promise.all([sampling, faulting])
    await Promise.all(pending)
    report.restarts = processes.reduce((sum, process) => sum + process.restarts(), 0)
    await Promise.all(processes.map((process) => process.stop()))
    await db.close()
    await stub.close()
    await redis?.stop()
    await postgres.stop()
    rmSync(dir, { recursive: true, force: true })
  }
  return report

  async function compare(tasks: Map<number, { devices: number[]; broadcast: boolean }>, ledger: StubEntry[]) {
    const acceptedBy = new Map<string, number>()
    for (const entry of ledger) {
      if (entry.accepted === 0) continue
      report.deliveries++
      report.duplicates += entry.accepted - 1
      const key = `${entry.task} ${entry.channel}`
      acceptedBy.set(key, (acceptedBy.get(key) ?? 0) + 1)
    }
    for (const [task, { devices, broadcast }] of tasks) {
      const { rows } = await db.pool.query(
        `SELECT channel, target, sent, failed, moved, expired, cancelled FROM counter WHERE task_id = $1`,
        [task],
      )
      const wanted = expectedCounts(devices, !broadcast)
      const found = Object.fromEntries(
        rows.map(({ channel, target, sent, failed, moved }) => [channel, { target, sent, failed, moved }]),
      )
      if (JSON.stringify(sortKeys(found)) !== JSON.stringify(sortKeys(wanted))) {
        broken.push(`task ${task} counts ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`)
      }
      for (const { channel, sent } of rows) {
        const accepted = acceptedBy.get(`${task} ${channel}`) ?? 0
        if (accepted !== sent)
          broken.push(`task ${task}: the vendor accepted ${accepted} on ${channel}, counted are ${sent}`)
      }
    }
  }
}

/** Seconds: a lease of 30, and time for the planner to give the batches to somebody else. */
const FREEZE_PAST_LEASE = 34

class Refused extends Error {}

function sortKeys(counts: object): object {
  return Object.fromEntries(Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1)))
}

async function flush(port: number): Promise<void> {
  const { createConnection } = await import('node:net')
  await new Promise<void>((resolve, reject) => {
    const socket = createConnection(port, '127.0.0.1', () => socket.write('FLUSHALL\r\n'))
    socket.once('data', () => {
      socket.end()
      resolve()
    })
    socket.once('error', reject)
  })
}

/** A small seeded generator (mulberry32): the same seed gives the same faults. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}
