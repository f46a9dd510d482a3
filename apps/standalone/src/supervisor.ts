import { sleep, within } from '@herald/async'
import type { Context, Running, Service } from '@herald/program'

export type Supervised = {
  name: string
  /** Undefined when the service is running and ready; otherwise what it waits for. */
  waiting(): Promise<string | undefined>
  stop(): Promise<void>
}

const MAX_PAUSE_MS = 30_000
const STOP_MS = 10_000

/**
 * Runs a service in this process as a supervisor runs a program: if it fails, it is stopped and restarted after a pause that
 * doubles with every failure in a row.
 */
export function supervise(service: Service, context: Context, { firstPause = 500 } = {}): Supervised {
  const log = context.log.child({ service: service.name })
  const stopped = new AbortController()
  let running: Running | undefined
  const ended = run()

  async function run(): Promise<void> {
    for (let pause = firstPause; !stopped.signal.aborted; pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
      const began = performance.now()
      const reason = await runOnce()
      if (stopped.signal.aborted) return
      if (performance.now() - began > MAX_PAUSE_MS) pause = firstPause
      log.error({ reason }, `${service.name} failed; restarting it in ${pause} ms`)
      await sleep(pause, stopped.signal)
    }
  }

  /** Resolves with the reason when this run of the service has ended. */
  async function runOnce(): Promise<string> {
    const over = Promise.withResolvers<string>()
    stopped.signal.addEventListener('abort', () => over.resolve('stopped'), { once: true })
    let started: Running | undefined
    try {
      started = await service.start({ ...context, log, die: over.resolve })
      running = started
      return await over.promise
    } catch (error) {
      return (error as Error).message
    } finally {
      running = undefined
      if (started) await end(started)
    }
  }

  async function end(started: Running): Promise<void> {
    const stop = started
      .stop()
      .catch((error) => log.error({ err: error }, `${service.name} did not stop cleanly`))
    // A failed service may never finish stopping, and must not block its restart.
    if (stopped.signal.aborted) await stop
    else await within(stop, STOP_MS, () => {})
  }

  return {
    name: service.name,
    async waiting() {
      if (!running) return service.name
      return await running.waiting?.()
    },
    async stop() {
      stopped.abort()
      await ended
    },
  }
}
