import { resolve } from 'node:path'
import { sleep } from '@herald/async'
import { MigrationError, poolSizes, SealBroken } from '@herald/db/store'
import { PostgresProblem, type ProcessLock } from '@herald/embedded'
import { createActivity, openContext } from '@herald/program'
import { type PushQueues, QueueUnavailable, QueueUrlError } from '@herald/queue'
import { loadSettings, type Settings, SettingsError } from '@herald/settings'
import { createLogger, createRegistry } from '@herald/telemetry'
import { banner } from './banner.ts'
import { StartProblem, takeDataDirectory } from './data-directory.ts'
import { keepDemoCredentials } from './demo/credentials.ts'
import { publicUrlOf, startSimulators } from './demo/simulators.ts'
import { openDemoFile } from './demo-file.ts'
import { openListener } from './listener.ts'
import { keepPostgres, type OwnPostgres } from './own-postgres.ts'
import { parts } from './parts.ts'
import { withKeptSecrets } from './secrets.ts'
import { createShutdown } from './shutdown.ts'
import { type Supervised, supervise } from './supervisor.ts'

const say = (sentence: string) => void process.stdout.write(`herald: ${sentence}\n`)

/** Runs everything in one process, with its own Postgres unless DATABASE_URL is set. */
export async function runStandalone(): Promise<void> {
  const { settings, warnings } = loadSettings()
  for (const warning of warnings) say(warning)
  // The reader of our output may end before we do.
  process.stdout.on('error', () => {})
  process.stderr.on('error', () => {})

  const stopping = new AbortController()
  const opened: Opened = { closings: [], ending: new Set() }
  const started = start(settings, opened, stopping.signal)
  const shutdown = createShutdown({
    say,
    exit: process.exit,
    async drain() {
      stopping.abort()
      opened.directory?.markStopping()
      // A start in progress would open things that closeAll does not see.
      await started.catch(() => {})
      await closeAll(opened)
    },
    force: async () => opened.postgres?.stop(),
    late: () => [...opened.ending],
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, shutdown)

  try {
    await started
  } catch (error) {
    // The drain closes everything and ends the process.
    if (stopping.signal.aborted) return
    await closeAll(opened)
    if (!isExplained(error)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(1)
  }
}

/** Everything that is opened adds a function that closes it. They run in reverse order, also after a failed start. */
type Opened = {
  directory?: ProcessLock
  closings: (() => Promise<void> | void)[]
  /** Services that are stopping. */
  ending: Set<string>
  postgres?: OwnPostgres
  queue?: PushQueues
}

async function closeAll({ closings }: Opened): Promise<void> {
  for (let close = closings.pop(); close; close = closings.pop()) await close()
}

async function start(given: Settings, opened: Opened, stopping: AbortSignal): Promise<void> {
  const dataDir = resolve(given.dataDir)
  const directory = await takeDataDirectory(dataDir, say)
  opened.closings.push(directory.release)
  opened.directory = directory

  const log = createLogger({ name: 'herald', level: given.logLevel })
  const registry = createRegistry('standalone')
  const services: Supervised[] = []
  let open = false
  let announced = false
  const missing = async () => {
    if (!open) return ['start']
    if (opened.postgres && !opened.postgres.isUp()) return ['postgres']
    const queue = opened.queue?.ping().then(
      () => undefined,
      () => 'queue',
    )
    const names = await Promise.all([queue, ...services.map((service) => service.waiting())])
    return names.filter((name) => name !== undefined)
  }
  /** Not ready before demo.json is written: clients read it as soon as /readyz responds with 200. */
  const waiting = async () => {
    const names = await missing()
    return names.length === 0 && !announced ? ['demo.json'] : names
  }
  const listener = await openListener(given, { waiting, registry })
  opened.closings.push(listener.close)

  const secured = withKeptSecrets({ ...given, publicUrl: publicUrlOf(given, listener.baseUrl) }, dataDir)
  const demo = openDemoFile(dataDir, { base_url: listener.baseUrl, operator_key: secured.operatorKey ?? '' })
  const credentials = await keepDemoCredentials(dataDir)
  const simulation = await startSimulators(secured, credentials, { acceptUnknownCredentials: true })
  opened.closings.push(simulation.close)
  let { settings } = simulation
  if (!settings.databaseUrl) {
    say('starting Postgres')
    const postgres = await keepPostgres(dataDir, log, say, stopping)
    opened.postgres = postgres
    opened.closings.push(postgres.stop)
    settings = { ...settings, databaseUrl: postgres.url }
  }
  const context = {
    ...(await openContext({ settings, log, registry, connections: poolSizes.standalone, signal: stopping })),
    activity: createActivity({ isAlone: opened.postgres !== undefined }),
  }
  opened.queue = context.queues
  opened.closings.push(context.close)

  // All at once: accepted work is stored in the database, so no service needs another one to stop.
  opened.closings.push(async () => void (await Promise.all(services.map(stopService))))
  const stopService = async (service: Supervised) => {
    opened.ending.add(service.name)
    await service.stop()
    opened.ending.delete(service.name)
  }
  const hasDemo = given.simulators && !given.databaseUrl
  const { first, others } = parts({ listener, hasDemo, demo, credentials, simulation })
  const api = supervise(first, context)
  services.push(api)
  // The queue may contain work of an earlier run, which a simulator rejects until its receipt URL is registered.
  while (!stopping.aborted && (await api.waiting())) await sleep(20)
  stopping.throwIfAborted()
  services.push(...others.map((part) => supervise(part, context)))
  open = true
  while (!stopping.aborted && (await missing()).length > 0) await sleep(20)
  stopping.throwIfAborted()
  demo.write()
  announced = true
  process.stdout.write(banner(demo.content(), dataDir))
}

const explained = [
  StartProblem,
  PostgresProblem,
  SettingsError,
  MigrationError,
  SealBroken,
  QueueUrlError,
  QueueUnavailable,
]
const isExplained = (error: unknown): error is Error => explained.some((kind) => error instanceof kind)
