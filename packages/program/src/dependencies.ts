import type { Database } from '@herald/db/store'
import type { PushQueues } from '@herald/queue'
import { gauge, type Registry } from '@herald/telemetry'

export type Dependency = 'postgres' | 'queue'

export type Dependencies = {
  /** Those of `needed` that do not answer at present. Never takes longer than the limit. */
  missing(needed: readonly Dependency[]): Promise<Dependency[]>
  close(): void
}

const LIMIT_MS = 2_000
const LOOK_MS = 5_000
/** Probes of balancers and people come in crowds; a look this young is good enough for all of them. */
const FRESH_MS = 1_000

/**
 * Asks Postgres and the queue now and then whether they are there, and what time it is: readiness and metrics then say the
 * same, and a scrape never waits for a server that is away.
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

  const looks = {
    postgres: remember(async () => {
      const asked = Date.now()
      const { rows } = await db.pool.query('SELECT extract(epoch FROM clock_timestamp())::float8 AS now')
      const answered = Date.now()
      // What lies within the time of the question cannot be told from no offset at all.
      const early = asked / 1000 - rows[0].now
      const late = answered / 1000 - rows[0].now
      offset.set(late < 0 ? late : early > 0 ? early : 0)
    }, isPoolBusy),
    queue: remember(
      () => queues.ping(),
      () => false,
    ),
  }

  /** No answer then says nothing about the server, and a program that is out of service hands its load to the next. */
  function isPoolBusy(): boolean {
    const { waitingCount, idleCount, totalCount, options } = db.pool
    return waitingCount > 0 && idleCount === 0 && totalCount >= options.max
  }

  function remember(ask: () => Promise<unknown>, isBusy: () => boolean): () => Promise<boolean> {
    let seen: { at: number; answer: Promise<boolean> } | undefined
    return () => {
      if (seen && performance.now() - seen.at < FRESH_MS) return seen.answer
      const answer = inTime(ask(), isBusy)
      seen = { at: performance.now(), answer }
      return answer
    }
  }

  const look = async (dependency: Dependency) => {
    const there = await looks[dependency]()
    up.set({ dependency }, there ? 1 : 0)
    return there
  }
  const lookAtAll = () => void Promise.all([look('postgres'), look('queue')])
  lookAtAll()
  const timer = setInterval(lookAtAll, LOOK_MS)
  timer.unref()

  return {
    async missing(needed) {
      const there = await Promise.all(needed.map(look))
      return needed.filter((_, i) => !there[i])
    },
    close: () => clearInterval(timer),
  }
}

async function inTime(answer: Promise<unknown>, isBusy: () => boolean): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(isBusy()), LIMIT_MS)
  })
  const there = answer.then(
    () => true,
    () => false,
  )
  return Promise.race([there, late]).finally(() => clearTimeout(timer))
}
