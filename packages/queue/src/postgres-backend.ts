import {
  assertSchemaCompatibility,
  type BackendFactory,
  createPostgresBackend,
  LATEST_SCHEMA_VERSION,
  type PgPool,
  type PgPoolClient,
  type PostgresConnectionOptions,
  type PostgresQueueBackend,
  Queue,
  runMigrations,
  SchemaMigrationRequiredError,
  Worker,
} from 'bullmq'
import pg from 'pg'
import {
  type Backend,
  type BullQueue,
  type BullWorker,
  eventsKept,
  finishedKept,
  slowDownOnError,
  workerTimes,
} from './backend.ts'
import { QueueUnavailable, reasonOf } from './errors.ts'
import { type QueueLog, seldom } from './log.ts'
import { asConnectionError, isTransient } from './postgres-errors.ts'

/** Connections for questions; each worker adds one that it holds for LISTEN. */
export const questionConnections = 4

/** NOTIFY wakes a worker; this is only how long a lost one goes unnoticed. Each round costs four queries. */
const blockSeconds = 10

/** A server that restarts is waited for. */
const openWithinMs = 10_000

/** Opens the one pool of this process and brings BullMQ's schema up to date. */
export async function openPostgres(url: string, log: QueueLog): Promise<Backend> {
  try {
    await migrate(url, performance.now() + openWithinMs)
  } catch (error) {
    throw new QueueUnavailable(`the queue in Postgres cannot be opened: ${reasonOf(error)}`, { cause: error })
  }
  const pool = openPool(url)
  const complain = seldom(log.warn.bind(log))
  pool.on('error', (error) =>
    complain({ reason: reasonOf(error) }, 'a queue connection to Postgres was lost'),
  )

  const createWorkerBackend: BackendFactory<PostgresQueueBackend, PostgresConnectionOptions> = (...args) => {
    const backend = slowDownOnError(createPostgresBackend(...args))
    // After an error BullMQ would trust in NOTIFY alone for an hour.
    return Object.defineProperty(backend, 'maximumBlockTimeout', { value: blockSeconds })
  }
  const closed = new AbortController()

  return {
    kind: 'postgres',
    openQueue: (name) => {
      const queue = new Queue(
        name,
        { connection: lend(pool, closed.signal), streams: { events: { maxLen: eventsKept } } },
        createPostgresBackend,
      )
      queue.on('error', () => {})
      return queue as unknown as BullQueue
    },
    openWorker: (name, { concurrency }, process) => {
      const over = new AbortController()
      pool.options.max += 1
      const worker = new Worker(
        name,
        process,
        {
          ...workerTimes,
          connection: lend(pool, AbortSignal.any([closed.signal, over.signal])),
          concurrency,
          drainDelay: blockSeconds,
        },
        createWorkerBackend,
      )
      const complainOfWorker = seldom(log.warn.bind(log))
      worker.on('error', (error) =>
        complainOfWorker({ queue: name, reason: reasonOf(error) }, 'a worker cannot ask Postgres'),
      )
      worker.once('closed', () => {
        over.abort()
        pool.options.max -= 1
      })
      return worker as unknown as BullWorker
    },
    ping: () => pool.query('SELECT 1'),
    close: async () => {
      closed.abort()
      await pool.end()
    },
  }
}

function openPool(url: string): pg.Pool {
  const address = new URL(url)
  // Jobs can be rebuilt from the rows they name, so their commits need not wait for the disk.
  const options = [address.searchParams.get('options'), '-c search_path=bullmq -c synchronous_commit=off']
  address.searchParams.set('options', options.filter(Boolean).join(' '))
  return new pg.Pool({
    connectionString: address.href,
    application_name: 'herald-queue',
    max: questionConnections,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: 5_000,
    // A connection that went silent shows in no other way; what was asked is asked again on the next.
    query_timeout: 5_000,
    idleTimeoutMillis: 30_000,
  })
}

async function migrate(url: string, deadline: number): Promise<void> {
  for (;;) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
    client.on('error', () => {})
    try {
      await client.connect()
      const version = await assertSchemaCompatibility(client).catch((error) => {
        if (error instanceof SchemaMigrationRequiredError) return 0
        throw error
      })
      // Processes that start together take turns behind BullMQ's advisory lock.
      if (version < LATEST_SCHEMA_VERSION) await runMigrations(client)
      return
    } catch (error) {
      if (!isTransient(error) || performance.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, 250))
    } finally {
      await client.end().catch(() => {})
    }
  }
}

/**
 * What one queue or worker of BullMQ sees of the pool. Named statements spare Postgres the parsing. Errors of the
 * connection look like those that BullMQ waits out and repeats; as they come it would take them for failures of the job.
 */
function lend(pool: pg.Pool, closed: AbortSignal): PgPool {
  let looked = false
  // BullMQ looks at the schema before anything else, and remembers a failure of that look for good.
  const look = {
    query: (text: string, values: unknown[]) => patiently(() => pool.query(text, values), closed),
    release: () => {},
  }
  const lent: PgPool & { options: { keepAlive: true } } = {
    options: { keepAlive: true },
    query: (text, values) =>
      pool.query({ name: nameOf(text), text, values: values as unknown[] }).catch((error) => {
        throw asConnectionError(error)
      }),
    connect: async () => {
      if (looked) {
        const client = await patiently(() => pool.connect(), closed)
        if (!closed.aborted) return endOnError(client)
        // A worker closed while it was connecting would keep the connection, and the pool would never end.
        client.release()
        throw new Error('the worker is closed')
      }
      looked = true
      return look as unknown as PgPoolClient
    },
    on: () => lent,
    removeAllListeners: () => lent,
    end: async () => {},
  }
  return lent
}

/** A connection on which LISTEN got no answer would be asked again and again; its end makes BullMQ open another. */
function endOnError(client: pg.PoolClient): PgPoolClient {
  const query = client.query.bind(client) as PgPoolClient['query']
  return Object.assign(client as unknown as PgPoolClient, {
    query: async (text: string, values?: readonly unknown[]) => {
      try {
        return await query(text, values)
      } catch (error) {
        client.emit('error', error)
        throw error
      }
    },
  })
}

async function patiently<T>(ask: () => Promise<T>, closed: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!isTransient(error) || closed.aborted) throw error
      await new Promise((resolve) => setTimeout(resolve, 250))
    }
  }
}

const names = new Map<string, string>()

function nameOf(text: string): string {
  let name = names.get(text)
  if (!name) {
    name = `herald_queue_${names.size}`
    names.set(text, name)
  }
  return name
}

/**
 * BullMQ's own limit on finished jobs lets workers that finish at the same time delete the same old rows, which makes
 * them wait for each other and deadlock. So they keep all, and this removes the old ones now and then.
 */
export async function removeOldFinished(queue: BullQueue): Promise<void> {
  const counts = await queue.getJobCounts('completed', 'failed')
  for (const kind of ['completed', 'failed'] as const) {
    const excess = (counts[kind] ?? 0) - finishedKept
    if (excess > 0) await queue.clean(0, excess, kind)
  }
}
