import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { retryWithBackoff } from '@herald/async'
import pg from 'pg'
import { findBinaries } from './binaries.ts'
import { type Cluster, dataDirOf, openCluster, passwordOf, userName } from './cluster.ts'
import { stopOrphans } from './orphans.ts'
import { processStart } from './process-lock.mjs'
import { recordedPostmaster } from './processes.ts'
import { launchServer } from './server-process.ts'
import { PostgresProblem, serverUser } from './server-user.ts'
import { removeUnfinished } from './unfinished.ts'

export type PostgresOptions = {
  /** All files of this server; created when missing. One caller at a time. */
  dir: string
  /** Default: a free port. */
  port?: number
  /** False loses data when the machine crashes; for tests. */
  durable?: boolean
  /** Server settings that replace the defaults of server-options.ts. */
  settings?: Record<string, string>
  log?: (sentence: string) => void
  /** Called when the server ends without `stop()`. */
  onExit?: (sentence: string) => void
  /** Ends a start in progress: the server is stopped, and the start rejects with the reason of the signal. */
  signal?: AbortSignal
}

export type Postgres = {
  url: string
  port: number
  pid: number
  /** Ends sessions and writes everything to disk; resolves when the process has ended. */
  stop(): Promise<void>
}

/**
 * Starts a PostgreSQL 18 on 127.0.0.1 and resolves when it accepts connections. The server is detached from our process
 * group, so Ctrl-C does not stop it before Herald has drained; after a kill -9 the next start stops it.
 */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const { dir: folder, durable = true, settings, log = () => {}, signal } = options
  const user = serverUser(dataDirOf(folder))
  const binaries = findBinaries(user)
  await removeUnfinished(folder)
  const cluster = openCluster({ folder, binaries, user, durable, log })
  await stopOrphans(cluster.dataDir, log)

  const launch = async (): Promise<Postgres> => {
    signal?.throwIfAborted()
    const port = options.port ?? (await freePort())
    const server = launchServer({ cluster, binaries, user, port, durable, settings })
    const failure = await server.ready(() => accepts(cluster, port), signal)
    if (failure !== undefined) throw new PostgresProblem(`Postgres did not start in ${folder}: ${failure}`)
    try {
      signal?.throwIfAborted()
      await createDatabase(cluster, port)
    } catch (error) {
      await server.stop()
      throw error
    }
    server.onUnexpectedExit((sentence) => options.onExit?.(sentence))
    return { url: urlOf(cluster, port, userName), port, pid: server.pid, stop: server.stop }
  }
  return await retryWithBackoff(launch, { isTransient: isInUse, forMs: 10_000, firstMs: 250, maxMs: 250 })
}

/** The previous server's shared memory, port or pid file may exist for a moment after it has ended. */
const isInUse = (error: unknown) =>
  error instanceof PostgresProblem &&
  /pre-existing shared memory|postmaster\.pid|could not bind|could not create any TCP/.test(error.message)

/** Stops a server, or its creation, that a killed process left running in `dir`. */
export async function stopLeftBehind(dir: string): Promise<void> {
  await removeUnfinished(dir)
  if (existsSync(dataDirOf(dir))) await stopOrphans(dataDirOf(dir), () => {})
}

/** The URL of the server that another process runs in `dir`; undefined when there is none that we may use. */
export function findRunning(dir: string): string | undefined {
  const dataDir = dataDirOf(dir)
  const pid = recordedPostmaster(dataDir)
  if (pid === undefined || processStart(pid) === undefined) return undefined
  try {
    // The fourth line is the port; a server that is starting has not written it yet.
    const port = Number(readFileSync(join(dataDir, 'postmaster.pid'), 'utf8').split('\n')[3])
    return port > 0 ? urlOf({ password: passwordOf(dir) }, port, userName) : undefined
  } catch {
    return undefined
  }
}

async function accepts(cluster: Cluster, port: number): Promise<boolean> {
  return await withClient(urlOf(cluster, port, 'postgres'), 5_000, async () => true).catch(() => false)
}

async function createDatabase(cluster: Cluster, port: number): Promise<void> {
  // The server has accepted a connection before. A machine without free CPU time may need long for the next one.
  await withClient(urlOf(cluster, port, 'postgres'), 60_000, async (client) => {
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [userName])
    if (rowCount === 0) await client.query(`CREATE DATABASE ${userName}`)
  })
}

async function withClient<T>(
  connectionString: string,
  connectionTimeoutMillis: number,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis })
  client.on('error', () => {})
  try {
    await client.connect()
    return await work(client)
  } finally {
    await client.end().catch(() => {})
  }
}

const urlOf = (cluster: Pick<Cluster, 'password'>, port: number, database: string) =>
  `postgresql://${userName}:${cluster.password}@127.0.0.1:${port}/${database}`

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}
