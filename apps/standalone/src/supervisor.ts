import { setTimeout as sleep } from 'node:timers/promises'
import type { Context, Running, Service } from '@herald/program'

export type Supervised = {
  name: string
  /** Undefined when the service is up and has what it needs. */
  waiting(): Promise<string | undefined>
  stop(): Promise<void>
}

const longestPause = 30_000
const patience = 10_000

/**
 * Runs a service inside this process as a supervisor runs a program: one that fails to start or gives itself up is stopped
 * and started again, after a pause that grows while it keeps failing.
 */
export function supervise(service: Service, context: Context, { firstPause = 500 } = {}): Supervised {
  const log = context.log.child({ service: service.name })
  const stopped = new AbortController()
  let running: Running | undefined
  const life = live()

  async function live(): Promise<void> {
    for (let pause = firstPause; !stopped.signal.aborted; pause = Math.min(pause * 2, longestPause)) {
      const began = performance.now()
      const reason = await liveOnce()
      if (stopped.signal.aborted) return
      if (performance.now() - began > longestPause) pause = firstPause
      log.error({ reason }, `${service.name} failed; starting it again in ${pause} ms`)
      await sleep(pause, undefined, { signal: stopped.signal }).catch(() => {})
    }
  }

  /** Resolves when this run of the service is over, with the reason. */
  async function liveOnce(): Promise<string> {
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
    // What has given itself up may never finish, and must not keep its successor from starting.
    if (stopped.signal.aborted) await stop
    else await Promise.race([stop, sleep(patience, undefined, { ref: false })])
  }

  return {
    name: service.name,
    async waiting() {
      if (!running) return service.name
      return await running.waiting?.()
    },
    async stop() {
      stopped.abort()
      await life
    },
  }
}
