import { fork } from 'node:child_process'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { saveCertificate } from '@herald/db/certificates'
import { findImbalances } from '@herald/db/readings'
import { createSealer, type Database, openDatabase } from '@herald/db/store'
import { createApplication } from '@herald/db/tenants'
import { freePort, type RunningProcess, startApp, startTestServer, testRedis } from '@herald/testkit'
import { familySeconds, residentMb, statOf } from '../process-figures.ts'

export type Sink = {
  url: string
  pid: number
  counts(): Promise<{ requests: number; distinct: number }>
  stop(): void
}

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const sinkAuthority = here('../../packages/http2/test/fixtures/ca.pem')

/** The fast APNs sink as a process of its own; it counts distinct requests, so that speed is never bought with loss. */
export async function startSink(): Promise<Sink> {
  const child = fork(here('../http2/sink.ts'), ['1000'])
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return {
    url: `https://localhost:${port}`,
    pid: child.pid!,
    async counts() {
      child.send('counts')
      const [counts] = (await once(child, 'message')) as [{ requests: number; distinct: number }]
      return counts
    },
    stop: () => child.disconnect(),
  }
}

/** As their start scripts have it. */
const memoryBounds = '--max-semi-space-size=8 --max-old-space-size=256'

export type Stage = Awaited<ReturnType<typeof openStage>>

/**
 * A deployment on this machine: durable Postgres, the queue asked for, one API, one planner and the workers named, each a
 * process of its own.
 */
export async function openStage(options: {
  queue: 'redis' | 'postgres'
  workers: readonly string[]
  env?: Record<string, string>
}) {
  const server = await startTestServer({ durable: true, settings: { shared_buffers: '1GB' } })
  const url = await server.createDatabase()
  const redis =
    options.queue === 'redis'
      ? await testRedis(['--appendonly', 'yes', '--appendfsync', 'everysec'])
      : undefined
  const db = openDatabase(url, { max: 6, name: 'bench' })
  const backend = await db.pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  const postmaster = statOf(backend.rows[0]!.pid)!.parent
  const masterKey = randomBytes(32)
  const port = await freePort()
  const env = {
    DATABASE_URL: url,
    QUEUE_URL: redis?.url ?? url,
    HERALD_MASTER_KEY: masterKey.toString('hex'),
    HERALD_OPERATOR_KEY: randomBytes(16).toString('hex'),
    HERALD_METRICS_PORT: '0',
    HERALD_LOG_LEVEL: 'error',
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
        ...env,
        ...(app === 'api' ? { HERALD_PORT: String(port) } : { NODE_OPTIONS: memoryBounds }),
      }),
    )
  }
  const base = `http://127.0.0.1:${port}`
  const call = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
    const answer = await fetch(base + path, {
      method: 'POST',
      headers: { app_id: made.appId, 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    const envelope = (await answer.json()) as { code: number; data: Record<string, unknown>; message: string }
    if (envelope.code !== 200) throw new Error(`${path}: ${envelope.code} ${envelope.message}`)
    return envelope.data
  }
  for (let tries = 0; ; tries++) {
    const up = await fetch(`${base}/readyz`).then(
      (answer) => answer.ok,
      () => false,
    )
    if (up) break
    if (tries > 300) throw new Error(`the API did not come up: ${processes.get('api')?.output()}`)
    await sleep(100)
  }
  const session = await call('/token/admin', { app_secret: made.appSecret })
  const headers = {
    app_id: made.appId,
    'access-token': String(session.token),
    'content-type': 'application/json',
  }

  return {
    db,
    base,
    appId: made.appId,
    headers,
    sealer: createSealer(masterKey),
    processes,
    notify: async (body: object) => Number((await call('/push/notify', body, headers)).task_id),
    /** Resident memory of each process in MB. */
    memory: () => new Map([...processes].map(([name, { pid }]) => [name, residentMb(pid) ?? Number.NaN])),
    /** Processor seconds of each process since its start. */
    processorTime() {
      const seconds = new Map([...processes].map(([name, { pid }]) => [name, statOf(pid)?.seconds ?? 0]))
      seconds.set('postgres', familySeconds(postmaster))
      if (redis) seconds.set('redis', statOf(redis.process.pid)?.seconds ?? 0)
      return seconds
    },
    async stop() {
      await Promise.all([...processes.values()].map((process) => process.stop()))
      await db.close()
      await redis?.stop()
      await server.stop()
    },
  }
}

/** Lifts the governor: benchmarks measure Herald, not the vendors' documented rates. */
export const unlimited = { limits: { requests_per_s: 1_000_000, devices_per_s: 1_000_000 } }

export async function addApnsCertificate(stage: Stage): Promise<void> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  await saveCertificate(stage.db, stage.sealer, {
    application: stage.appId,
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

/** iOS devices with well-formed tokens, straight into the rows; the import has a benchmark of its own. */
export async function addIosDevices(db: Database, appId: string, count: number): Promise<void> {
  await db.pool.query({
    text: `INSERT INTO device (app_id, guid, push_token, platform, moved_at)
     SELECT $1, 'g' || n, 'p' || n, 'ios', now() - interval '1 hour' FROM generate_series(1, $2::int) n`,
    values: [appId, count],
  })
  await db.pool.query(
    `INSERT INTO binding (device_id, channel, app_id, token, registered_at)
     SELECT id, 'apns', app_id, md5(id::text) || md5('x' || id::text), now() - interval '1 hour' FROM device WHERE app_id = $1`,
    [appId],
  )
  // Binding an APNs token writes the row of its badge.
  await db.pool.query('INSERT INTO badge (device_id, value) SELECT id, 0 FROM device WHERE app_id = $1', [
    appId,
  ])
  await db.pool.query('VACUUM ANALYZE device, binding, badge')
}

/** Waits until the task has sent to `count` devices, sampling memory; answers the largest figure by process. */
export async function waitUntilSent(stage: Stage, task: number, count: number): Promise<Map<string, number>> {
  const largest = new Map<string, number>()
  let progress = { sent: 0, at: Date.now() }
  for (;;) {
    for (const [name, mb] of stage.memory()) largest.set(name, Math.max(mb, largest.get(name) ?? 0))
    const { rows } = await stage.db.pool.query<{ sent: number }>(
      'SELECT coalesce(sum(sent), 0)::int AS sent FROM counter WHERE task_id = $1',
      [task],
    )
    const { sent } = rows[0]!
    if (sent >= count) break
    if (sent > progress.sent) progress = { sent, at: Date.now() }
    if (Date.now() - progress.at > 60_000) throw new Error(`task ${task} stands still at ${sent} of ${count}`)
    await sleep(100)
  }
  const wrong = await findImbalances(stage.db, [task])
  if (wrong.length > 0) throw new Error(`out of balance: ${JSON.stringify(wrong[0])}`)
  return largest
}
