import { loadSettings, SettingsError } from '@herald/settings'
import { createLogger, createRegistry, startHealthServer } from '@herald/telemetry'
import { type OpenContext, openContext } from './context.ts'
import type { Running, Service } from './service.ts'

/** Time for work in flight after SIGTERM, or after a service died. */
export const DRAIN_MS = 30_000

export type ProgramOptions = {
  /** Replaces the vendors' adapters in tests. */
  certificateAdapters?: Parameters<typeof openContext>[0]['certificateAdapters']
}

/** The `main` of an app: start, serve health, drain on a signal. A wrong setting prints one line and exits with 1. */
export async function runProgram(service: Service, options: ProgramOptions = {}): Promise<void> {
  const { settings, warnings } = loadSettings()
  const log = createLogger({ name: service.name, level: settings.logLevel })
  for (const warning of warnings) log.warn(warning)
  const registry = createRegistry(service.name)
  let context: OpenContext | undefined
  let running: Running | undefined
  let stopping = false
  let exitCode = 0

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
          rounds: () => running?.rounds?.(),
        }).catch(
          (error: NodeJS.ErrnoException) =>
            die(
              error.code === 'EADDRNOTAVAIL'
                ? `HERALD_HOST ${settings.host} is not an address of this machine.`
                : `HERALD_METRICS_PORT ${settings.metricsPort} cannot be used: ${error.message}`,
            ) as never,
        )

  const fail = (error: Error): never => {
    if (error instanceof SettingsError) {
      process.stderr.write(`${error.message}\n`)
      process.exit(1)
    }
    return die(`${service.name} cannot start: ${error.message}`) as never
  }
  /** What the service still does ends first, such as the other lane of a worker. */
  const onDead = (reason: string) => {
    if (!running) return die(reason)
    log.fatal(reason)
    exitCode = 1
    void stop(reason)
  }
  const opened = await openContext({ settings, log, registry, die: onDead, ...options }).catch(fail)
  context = opened
  running = await (async () => service.start(opened))().catch(fail)
  log.info(`${service.name} is running`)

  async function stop(why: string): Promise<void> {
    // Supervisors signal the process group and npm forwards its copy: a second signal does not mean to hurry.
    if (stopping) return
    stopping = true
    log.info(`${why}: draining`)
    setTimeout(() => die(`${service.name} did not drain within ${DRAIN_MS / 1000} s`), DRAIN_MS).unref()
    await running!.stop()
    await opened.close()
    await health?.close()
    process.exit(exitCode)
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
}
