import { loadSettings, SettingsError } from '@herald/settings'
import { createLogger, createRegistry, startHealthServer } from '@herald/telemetry'
import { type OpenContext, openContext } from './context.ts'
import type { Running, Service } from './service.ts'

/** What is in flight may take this long after SIGTERM. */
export const DRAIN_MS = 30_000

export type ProgramOptions = {
  /** Stand-ins for the vendors' adapters, for drills. */
  certificateAdapters?: Parameters<typeof openContext>[0]['certificateAdapters']
}

/** The whole `main` of an app: start, answer health, drain on a signal. A wrong setting is one sentence and exit code 1. */
export async function runProgram(service: Service, options: ProgramOptions = {}): Promise<void> {
  const { settings, warnings } = loadSettings()
  const log = createLogger({ name: service.name, level: settings.logLevel })
  for (const warning of warnings) log.warn(warning)
  const registry = createRegistry(service.name)
  let context: OpenContext | undefined
  let running: Running | undefined
  let stopping = false

  const die = (reason: string) => {
    log.fatal(reason)
    process.exit(1)
  }
  const health =
    settings.metricsPort === 0
      ? undefined
      : await startHealthServer({
          host: settings.host,
          port: settings.metricsPort,
          registry,
          waiting: async () => {
            if (stopping) return ['the end of the drain']
            if (!context || !running) return [service.name]
            const missing = await context.dependencies.missing(service.needs ?? ['postgres', 'queue'])
            const waiting = missing.length > 0 ? undefined : await running.waiting?.()
            return waiting === undefined ? missing : [waiting]
          },
        }).catch(
          (error: Error) =>
            die(`HERALD_METRICS_PORT ${settings.metricsPort} cannot be used: ${error.message}`) as never,
        )

  const explain = (error: Error): never => {
    if (error instanceof SettingsError) {
      process.stderr.write(`${error.message}\n`)
      process.exit(1)
    }
    return die(`${service.name} cannot start: ${error.message}`) as never
  }
  const opened = await openContext({ settings, log, registry, die, ...options }).catch(explain)
  context = opened
  running = await (async () => service.start(opened))().catch(explain)
  log.info(`${service.name} is running`)

  const stop = async (signal: string) => {
    // Supervisors signal the whole group, and npm passes its own copy on: a second one is no order to hurry.
    if (stopping) return
    stopping = true
    log.info(`${signal}: draining`)
    setTimeout(() => die(`${service.name} did not drain within ${DRAIN_MS / 1000} s`), DRAIN_MS).unref()
    await running!.stop()
    await opened.close()
    await health?.close()
    process.exit(0)
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
}
