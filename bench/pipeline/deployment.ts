import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { sleep } from '@herald/async'
import { saveCertificate } from '@herald/db/certificates'
import { findImbalances } from '@herald/db/readings'
import { createSealer, type Database, openDatabase } from '@herald/db/store'
import { createApplication } from '@herald/db/tenants'
import { freePort, type RunningProcess, startApp, testRedis, until } from '@herald/testkit'
import { startTestServer } from '@herald/testkit/database-server'
import { cpuSecondsWithChildren, residentMb, statOf } from '../process-figures.ts'

/** What Herald trusts when it calls the sinks. */
export const sinkAuthority = fileURLToPath(
  new URL('../../packages/http2/test/fixtures/ca.pem', import.meta.url),
)

/** The same as in the start scripts, unless a part needs a larger heap. */
const memoryFlags = (heapMb = 256) => `--max-semi-space-size=8 --max-old-space-size=${heapMb}`
/** Half of the memory of its container, as Node sets it there: without a limit V8 leaves a hundred megabytes of garbage more. */
const apiMemoryFlags = '--max-semi-space-size=16 --max-old-space-size=384'

export type Deployment = Awaited<ReturnType<typeof startDeployment>>

/**
 * A database that exists before the deployment, on a server that outlives it. `settleMs`: how long the programs run before a figure is taken that their searches would change. In a database with many days a search costs
 * more to plan than to run, and each connection plans it once.
 */
export type GivenDatabase = { url: string; masterKey: Buffer; settleMs?: number }

/** The server of every measured database. Its memory holds a million devices. */
export const startBenchServer = () => startTestServer({ durable: true, settings: { shared_buffers: '1GB' } })

/**
 * Starts Herald on this machine: durable Postgres with a new database unless one is given, the queue, one API, one planner and
 * `workers`, each in its own process, with the default log level.
 */
export async function startDeployment(options: {
  queue: 'redis' | 'postgres'
  workers: readonly string[]
  env?: Record<string, string>
  database?: GivenDatabase
  /** Limit of the old generation of planner and workers. */
  heapMb?: number
}) {
  const server = options.database ? undefined : await startBenchServer()
  const url = options.database?.url ?? (await server!.createDatabase())
  const redis =
    options.queue === 'redis'
      ? await testRedis(['--appendonly', 'yes', '--appendfsync', 'everysec'])
      : undefined
  const db = openDatabase(url, { max: 6, name: 'bench' })
  const backend = await db.pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  const postmaster = statOf(backend.rows[0]!.pid)!.parent
  const masterKey = options.database?.masterKey ?? randomBytes(32)
  const port = await freePort()
  const env = {
    DATABASE_URL: url,
    QUEUE_URL: redis?.url ?? url,
    HERALD_MASTER_KEY: masterKey.toString('hex'),
    HERALD_OPERATOR_KEY: randomBytes(16).toString('hex'),
    HERALD_METRICS_PORT: '0',
    // A prepared database may have partitions of a year.
    ...(options.database && { HERALD_RETENTION_DAYS: '400' }),
    HERALD_VENDOR_CA: sinkAuthority,
    ...options.env,
  }
  const made = await createApplication(db, { name: 'bench', packageName: 'com.example.bench' })
  if (made === 'taken') throw new Error('the database is not new')
  const processes = new Map<string, RunningProcess>()
  for (const app of ['api', 'planner', ...options.workers]) {
    processes.set(
      app,
      startApp(`apps/${app}/src/main.ts`, {
        NODE_OPTIONS: app === 'api' ? apiMemoryFlags : memoryFlags(options.heapMb),
        ...env,
        ...(app === 'api' && { HERALD_PORT: String(port) }),
      }),
    )
  }
  const base = `http://127.0.0.1:${port}`
  const first = await db.pool.query<{ id: number }>('SELECT next_task_id() AS id')
  const call = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
    const reply = await fetch(base + path, {
      method: 'POST',
      headers: { app_id: made.appId, 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    const envelope = (await reply.json()) as { code: number; data: Record<string, unknown>; message: string }
    if (envelope.code !== 200) throw new Error(`${path}: ${envelope.code} ${envelope.message}`)
    return envelope.data
  }
  await until(async () => (await fetch(`${base}/readyz`)).ok, {
    what: 'the API to be ready',
    seconds: 120,
    everyMs: 100,
  })
  const session = await call('/token/admin', { app_secret: made.appSecret })
  const headers = {
    app_id: made.appId,
    'access-token': String(session.token),
    'content-type': 'application/json',
  }
  await untilPlannerLooked(db)
  /** CPU seconds of each process since its start. */
  function cpuTime(): Map<string, number> {
    const seconds = new Map([...processes].map(([name, { pid }]) => [name, statOf(pid)?.seconds ?? 0]))
    seconds.set('postgres', cpuSecondsWithChildren(postmaster))
    if (redis) seconds.set('redis', statOf(redis.process.pid)?.seconds ?? 0)
    return seconds
  }
  if (options.database) await untilStarted(cpuTime)

  return {
    db,
    base,
    appId: made.appId,
    /**
     * All tasks of this deployment have at least this id. Queries that are repeated during a measurement have ids in their text: with
     * parameters Postgres opens every partition, which would be part of the figure.
     */
    firstTask: first.rows[0]!.id,
    headers,
    call,
    sealer: createSealer(masterKey),
    processes,
    notify: async (body: object) => Number((await call('/push/notify', body, headers)).task_id),
    /** Resident memory of each process in MB. */
    memory: () => new Map([...processes].map(([name, { pid }]) => [name, residentMb(pid) ?? Number.NaN])),
    cpuTime,
    async stop() {
      await Promise.all([...processes.values()].map((process) => process.stop()))
      await db.close()
      await redis?.stop()
      await server?.stop()
    },
  }
}

/**
 * Waits until the planner has looked for the days with open work. It does so once per start and asks every day that is kept, so its cost
 * would be part of the first figure that is taken; it is a figure of its own. The sweep needs these days, and deletes the check of a task
 * that does not exist.
 */
async function untilPlannerLooked(db: Database): Promise<void> {
  const { rows } = await db.pool.query<{ id: number }>(
    'INSERT INTO task_check (task_id) VALUES (next_task_id()) RETURNING id',
  )
  const isLeft = async () =>
    (await db.pool.query('SELECT 1 FROM task_check WHERE id = $1', [rows[0]!.id])).rowCount !== 0
  await until(async () => !(await isLeft()), {
    what: 'the first sweep of the planner',
    seconds: 300,
    everyMs: 100,
  })
}

/**
 * Waits until the other processes have looked too: until Postgres needs less than a twentieth of a core for two seconds, at most a
 * minute.
 */
async function untilStarted(cpuTime: () => Map<string, number>): Promise<void> {
  const limit = performance.now() + 60_000
  for (let quiet = 0; quiet < 2 && performance.now() < limit; ) {
    const before = cpuTime().get('postgres')!
    await sleep(1000)
    quiet = cpuTime().get('postgres')! - before < 0.05 ? quiet + 1 : 0
  }
}

/** Certificate settings without rate limits: benchmarks measure Herald, not the rates that vendors allow. */
export const unlimited = { limits: { requests_per_s: 1_000_000, devices_per_s: 1_000_000 } }

export async function addApnsCertificate(herald: Pick<Deployment, 'db' | 'sealer' | 'appId'>): Promise<void> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  await saveCertificate(herald.db, herald.sealer, {
    application: herald.appId,
    channel: 'apns',
    environment: 'production',
    name: 'bench',
    appId: 'com.example.bench',
    appKey: 'BENCHKEY01',
    appSecret: 'BENCHTEAM1',
    certificate: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    extra: unlimited,
  })
}

/** Inserts iOS devices with well-formed tokens and the push tokens `<prefix>1`, `<prefix>2`, … The import has its own benchmark. */
export async function addIosDevices(db: Database, appId: string, count: number, prefix = 'p'): Promise<void> {
  await db.pool.query({
    text: `INSERT INTO device (app_id, guid, push_token_hash, platform, moved_at)
     SELECT $1, 'g' || n, push_token_hash($3 || n), 'ios', now() - interval '1 hour' FROM generate_series(1, $2::int) n`,
    values: [appId, count, prefix],
  })
  await db.pool.query(
    `INSERT INTO binding (device_id, channel, app_id, token, registered_at, device_changed_at)
     SELECT id, 'apns', app_id, md5(id::text) || md5('x' || id::text), now() - interval '1 hour', now() - interval '1 hour' FROM device WHERE app_id = $1`,
    [appId],
  )
  await db.pool.query('VACUUM ANALYZE device, binding')
}

/**
 * Waits until a counter of the task has reached `count` devices. Throws if it has not grown for a minute. Returns the largest
 * resident memory of each process during the wait.
 */
export async function untilCounted(
  herald: Deployment,
  task: number,
  counter: 'sent' | 'received',
  count: number,
  everyMs = 100,
): Promise<Map<string, number>> {
  const largest = new Map<string, number>()
  let progress = { done: 0, at: Date.now() }
  for (;;) {
    for (const [name, mb] of herald.memory()) largest.set(name, Math.max(mb, largest.get(name) ?? 0))
    const { rows } = await herald.db.pool.query<{ done: number }>(
      `SELECT coalesce(sum(${counter}), 0)::int AS done FROM counter WHERE task_id = ${task}`,
    )
    const { done } = rows[0]!
    if (done >= count) return largest
    if (done > progress.done) progress = { done, at: Date.now() }
    if (Date.now() - progress.at > 60_000)
      throw new Error(`task ${task}: no progress for a minute, ${done} of ${count} ${counter}`)
    await sleep(everyMs)
  }
}

/** Throws if counters are out of balance, of all tasks of the application by default. */
export async function checkBalance({ db, appId }: Deployment, tasks?: number[]): Promise<void> {
  const wrong = await findImbalances(db, tasks ?? (await tasksOf(db, appId)))
  if (wrong.length > 0) throw new Error(`out of balance: ${JSON.stringify(wrong[0])}`)
}

async function tasksOf(db: Database, appId: string): Promise<number[]> {
  const { rows } = await db.pool.query<{ id: number }>('SELECT id FROM task WHERE app_id = $1', [appId])
  return rows.map(({ id }) => id)
}
