import { shareReads, within } from '@herald/async'
import type { Database } from '@herald/db/store'
import type { PushQueues } from '@herald/queue'
import { gauge, type Registry } from '@herald/telemetry'

export type Dependency = 'postgres' | 'queue'

export type Dependencies = {
  /** Returns those of `needed` that do not answer, within two seconds. */
  missing(needed: readonly Dependency[]): Promise<Dependency[]>
  close(): void
}

const LIMIT_MS = 2_000
/** For metrics, which are read as rarely. Readiness is checked when it is asked for. */
const CHECK_MS = 15_000
/** Load balancers probe often; all probes within this time share one check. */
const MAX_AGE_MS = 1_000

/**
 * Checks periodically whether Postgres and the queue answer, and the clock of Postgres. Readiness and metrics use the same
 * result, and a scrape does not wait for a server that is down.
 */
export function watchDependencies(deps: {
  db: Database
  queues: PushQueues
  registry: Registry
}): Dependencies {
  const { db, queues, registry } = deps
  const up = gauge(registry, 'herald_dependency_up')
  const offset = gauge(registry, 'herald_clock_offset_seconds')
  gauge(registry, 'herald_postgres_connections', (connections) => {
    const { totalCount, idleCount, waitingCount } = db.pool
    connections.set({ state: 'busy' }, totalCount - idleCount)
    connections.set({ state: 'idle' }, idleCount)
    connections.set({ state: 'waiting' }, waitingCount)
  })

  const pings = {
    async postgres() {
      const asked = Date.now()
      const { rows } = await db.pool.query('SELECT extract(epoch FROM clock_timestamp())::float8 AS now')
      const answered = Date.now()
      // Offsets smaller than the round trip are reported as 0.
      const early = asked / 1000 - rows[0].now
      const late = answered / 1000 - rows[0].now
      offset.set(late < 0 ? late : early > 0 ? early : 0)
    },
    queue: () => queues.ping(),
  }

  /** A timeout then proves nothing about the server, and a program that reports not ready moves its load to the others. */
  function isPoolBusy(): boolean {
    const { waitingCount, idleCount, totalCount, options } = db.pool
    return waitingCount > 0 && idleCount === 0 && totalCount >= options.max
  }

  const checks = shareReads<Dependency, boolean>({
    read(dependency) {
      const answered = pings[dependency]().then(
        () => true,
        () => false,
      )
      return within(answered, LIMIT_MS, () => dependency === 'postgres' && isPoolBusy())
    },
    maxAgeMs: MAX_AGE_MS,
  })

  const check = async (dependency: Dependency) => {
    const isUp = await checks.get(dependency)
    up.set({ dependency }, isUp ? 1 : 0)
    return isUp
  }
  const checkAll = () => void Promise.all([check('postgres'), check('queue')])
  checkAll()
  const timer = setInterval(checkAll, CHECK_MS)
  timer.unref()

  return {
    async missing(needed) {
      const isUp = await Promise.all(needed.map(check))
      return needed.filter((_, i) => !isUp[i])
    },
    close: () => clearInterval(timer),
  }
}
