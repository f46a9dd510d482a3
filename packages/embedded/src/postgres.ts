import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, renameSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type Binaries, findBinaries } from './binaries.ts'
import { type Cluster, dataDirOf, inDataDir, openCluster, passwordOf, userName } from './cluster.ts'
import { PostgresProblem } from './postgres-problem.ts'
import { processStart, recordedPostmaster } from './processes.ts'
import { serverOptions } from './server-options.ts'
import { type ServerUser, serverUser } from './server-user.ts'
import { endSurvivors } from './survivors.ts'

export type PostgresOptions = {
  /** Holds everything of this server; created when missing. One caller at a time. */
  dir: string
  /** A free one when not given. */
  port?: number
  /** False loses data when the machine stops; for tests. */
  durable?: boolean
  /** Settings of the server that differ: more connections for many processes, more memory for many devices. */
  settings?: Record<string, string>
  log?: (sentence: string) => void
  /** Called when the server ends without having been asked to. */
  onExit?: (sentence: string) => void
}

export type Postgres = {
  url: string
  port: number
  pid: number
  /** Ends sessions and writes everything down; resolves when the process has ended. */
  stop(): Promise<void>
}

/**
 * Starts a PostgreSQL 18 on 127.0.0.1 from a folder and resolves when it accepts connections. The server is detached from
 * our process group, so a Ctrl-C does not end it before Herald has drained; after a kill -9 the next start ends it.
 */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const { dir: folder, durable = true, settings, log = () => {} } = options
  const user = serverUser(dataDirOf(folder))
  const binaries = findBinaries(user)
  const cluster = openCluster({ folder, binaries, user, durable, log })
  await endSurvivors(cluster.dataDir, log)

  for (const deadline = Date.now() + 10_000; ; await sleep(250)) {
    const port = options.port ?? (await freePort())
    const server = launch({ cluster, binaries, user, port, durable, settings })
    const failure = await server.ready()
    if (failure === undefined) {
      await createDatabase(cluster, port)
      server.onUnexpectedExit((sentence) => options.onExit?.(sentence))
      return { url: urlOf(cluster, port, userName), port, pid: server.pid, stop: server.stop }
    }
    // The last server's shared memory, its port or its pid file may outlast it by a moment.
    const passing = /pre-existing shared memory|postmaster\.pid|could not bind|could not create any TCP/.test(
      failure,
    )
    if (!passing || Date.now() > deadline)
      throw new PostgresProblem(`Postgres did not start in ${folder}: ${failure}`)
  }
}

/** Ends a server that somebody else's killed process left behind in `dir`. */
export async function stopLeftBehind(dir: string): Promise<void> {
  if (existsSync(dataDirOf(dir))) await endSurvivors(dataDirOf(dir), () => {})
}

/** The address of the server that somebody else runs in `dir`; undefined when there is none, or none that we may use. */
export function findRunning(dir: string): string | undefined {
  const dataDir = dataDirOf(dir)
  const pid = recordedPostmaster(dataDir)
  if (pid === undefined || processStart(pid) === undefined) return undefined
  try {
    // The fourth line is the port; a server that is starting up has not written it yet.
    const port = Number(readFileSync(join(dataDir, 'postmaster.pid'), 'utf8').split('\n')[3])
    return port > 0 ? urlOf({ password: passwordOf(dir) }, port, userName) : undefined
  } catch {
    return undefined
  }
}

function launch(options: {
  cluster: Cluster
  binaries: Binaries
  user: ServerUser | undefined
  port: number
  durable: boolean
  settings: Record<string, string> | undefined
}) {
  const { cluster, binaries, user, port, durable, settings } = options
  const { path, spawn: where } = inDataDir(cluster.dataDir, user)
  const logStart = prepareLog(cluster.logFile)
  const log = openSync(cluster.logFile, 'a', 0o600)
  const args = ['-D', path, ...serverOptions({ port, dataDir: cluster.dataDir, durable, settings })]
  const child = spawn(binaries.postgres, args, { ...where, detached: true, stdio: ['ignore', log, log] })
  closeSync(log)
  child.unref()
  let stopping = false
  let manner = ''
  const ended = new Promise<void>((resolve) => {
    child.once('exit', (code, signal) => {
      manner = signal ?? `exit code ${code}`
      resolve()
    })
    child.once('error', (error) => {
      manner = error.message
      resolve()
    })
  })

  return {
    pid: child.pid ?? 0,
    /** Undefined when it accepts connections, otherwise why it ended. Recovery after a crash may take minutes. */
    async ready(): Promise<string | undefined> {
      let over = false
      void ended.then(() => {
        over = true
      })
      while (!over) {
        if (await accepts(cluster, port)) return undefined
        await Promise.race([ended, sleep(25)])
      }
      return lastComplaint(readFileSync(cluster.logFile, 'utf8').slice(logStart)) || manner
    },
    onUnexpectedExit(report: (sentence: string) => void): void {
      void ended.then(() => {
        if (!stopping) report(`Postgres ended by itself (${manner})`)
      })
    },
    stop(): Promise<void> {
      stopping = true
      return stop(child, ended)
    },
  }
}

async function stop(child: ChildProcess, ended: Promise<void>): Promise<void> {
  // Politely for those who are just hanging up, then fast, then immediate, and if all else fails by force: it then
  // recovers at the next start.
  for (const [signal, patience] of [
    ['SIGTERM', 500],
    ['SIGINT', 10_000],
    ['SIGQUIT', 5_000],
    ['SIGKILL', 5_000],
  ] as const) {
    child.kill(signal)
    const late = new AbortController()
    const done = await Promise.race([
      ended.then(() => true),
      sleep(patience, false, { signal: late.signal }).catch(() => false),
    ])
    late.abort()
    if (done) return
  }
}

async function accepts(cluster: Cluster, port: number): Promise<boolean> {
  return await withClient(urlOf(cluster, port, 'postgres'), async () => true).catch(() => false)
}

async function createDatabase(cluster: Cluster, port: number): Promise<void> {
  await withClient(urlOf(cluster, port, 'postgres'), async (client) => {
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [userName])
    if (rowCount === 0) await client.query(`CREATE DATABASE ${userName}`)
  })
}

async function withClient<T>(connectionString: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 5000 })
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

/** Answers where this run's lines will begin; keeps the file from growing over the years. */
function prepareLog(file: string): number {
  if (!existsSync(file)) return 0
  const { size } = statSync(file)
  if (size < 10_000_000) return size
  renameSync(file, `${file}.old`)
  return 0
}

/** The server's own words for its end. */
function lastComplaint(lines: string): string {
  const words = lines
    .split('\n')
    .filter((line) => /FATAL|PANIC|could not/.test(line) && !/starting up/.test(line))
  return words.map((line) => line.replace(/^.*?(FATAL|PANIC|LOG|ERROR): +/, '')).join('; ')
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}
