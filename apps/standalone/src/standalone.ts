import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { MigrationError, poolSizes } from '@herald/db/store'
import { PostgresProblem } from '@herald/embedded'
import { openContext } from '@herald/program'
import { type PushQueues, QueueUnavailable, QueueUrlError } from '@herald/queue'
import { loadSettings, type Settings, SettingsError } from '@herald/settings'
import { createLogger, createRegistry } from '@herald/telemetry'
import { banner } from './banner.ts'
import { type DataDirectory, takeDataDirectory } from './data-directory.ts'
import { keepDemoCredentials } from './demo/credentials.ts'
import { startSimulators } from './demo/simulators.ts'
import { openDemoFile } from './demo-file.ts'
import { openFrontDoor } from './front-door.ts'
import { keepPostgres, type OwnPostgres } from './own-postgres.ts'
import { parts } from './parts.ts'
import { withKeptSecrets } from './secrets.ts'
import { createShutdown } from './shutdown.ts'
import { StartProblem } from './start-problem.ts'
import { type Supervised, supervise } from './supervisor.ts'

const say = (sentence: string) => void process.stdout.write(`herald: ${sentence}\n`)

/** The whole program: everything in one process, with a Postgres of its own unless DATABASE_URL names another. */
export async function runStandalone(): Promise<void> {
  const { settings, warnings } = loadSettings()
  for (const warning of warnings) say(warning)
  // Whoever reads our output may go away before we do.
  process.stdout.on('error', () => {})
  process.stderr.on('error', () => {})

  const opened: Opened = { closings: [], ending: new Set() }
  const started = start(settings, opened)
  const shutdown = createShutdown({
    say,
    exit: process.exit,
    async drain() {
      opened.stopping = true
      opened.directory?.markStopping()
      // A start that is under way would open things behind our back.
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
    await closeAll(opened)
    if (!isExplained(error)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(1)
  }
}

/** What is opened puts its closing here, so that stopping is one list walked backwards, also out of a failed start. */
type Opened = {
  stopping?: true
  directory?: DataDirectory
  closings: (() => Promise<void> | void)[]
  /** Services that were told to stop and have not yet. */
  ending: Set<string>
  postgres?: OwnPostgres
  queue?: PushQueues
}

async function closeAll({ closings }: Opened): Promise<void> {
  for (let close = closings.pop(); close; close = closings.pop()) await close()
}

async function start(given: Settings, opened: Opened): Promise<void> {
  const dataDir = resolve(given.dataDir)
  const directory = await takeDataDirectory(dataDir, say)
  process.on('exit', directory.release)
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
  /** Who sees it ready finds demo.json complete. */
  const waiting = async () => {
    const names = await missing()
    return names.length === 0 && !announced ? ['demo.json'] : names
  }
  const door = await openFrontDoor(given, { waiting, registry })
  opened.closings.push(door.close)

  const secured = withKeptSecrets({ ...given, publicUrl: given.publicUrl ?? door.baseUrl }, dataDir)
  const demo = openDemoFile(dataDir, { base_url: door.baseUrl, operator_key: secured.operatorKey ?? '' })
  const credentials = await keepDemoCredentials(dataDir)
  const simulation = await startSimulators(secured, credentials)
  opened.closings.push(simulation.close)
  let { settings } = simulation
  if (!settings.databaseUrl) {
    say('starting Postgres')
    const postgres = await keepPostgres(dataDir, log, say)
    opened.postgres = postgres
    opened.closings.push(postgres.stop)
    settings = { ...settings, databaseUrl: postgres.url }
  }
  const context = await openContext({ settings, log, registry, connections: poolSizes.standalone })
  opened.queue = context.queues
  opened.closings.push(context.close)

  // Together, because none needs another to stop: what is accepted is in the rows.
  opened.closings.push(async () => void (await Promise.all(services.map(stopService))))
  const stopService = async (service: Supervised) => {
    opened.ending.add(service.name)
    await service.stop()
    opened.ending.delete(service.name)
  }
  const { first, rest } = parts({ door, demo, credentials, simulation })
  const api = supervise(first, context)
  services.push(api)
  // Work of an earlier run waits in the queue, and a vendor that does not know our address for receipts yet refuses it.
  while (!opened.stopping && (await api.waiting())) await sleep(20)
  if (opened.stopping) return
  services.push(...rest.map((part) => supervise(part, context)))
  open = true
  while (!opened.stopping && (await missing()).length > 0) await sleep(20)
  if (opened.stopping) return
  demo.write()
  announced = true
  process.stdout.write(banner(demo.content(), dataDir))
}

const explained = [
  StartProblem,
  PostgresProblem,
  SettingsError,
  MigrationError,
  QueueUrlError,
  QueueUnavailable,
]
const isExplained = (error: unknown): error is Error => explained.some((kind) => error instanceof kind)
