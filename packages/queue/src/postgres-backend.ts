import { retryWithBackoff } from '@herald/async'
import { connectSession, SessionPool } from '@herald/postgres'
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
import type pg from 'pg'
import {
  type Backend,
  type BullQueue,
  type BullWorker,
  maxEvents,
  maxFinished,
  slowDownOnError,
  workerTimes,
} from './backend.ts'
import { asUnavailable, reasonOf } from './errors.ts'
import { type QueueLog, throttleLog } from './log.ts'
import { asConnectionError, isTransient } from './postgres-errors.ts'

/** Connections for queries; each worker adds one for LISTEN. */
export const queryConnections = 4

/** NOTIFY wakes a worker; this is the delay when a notification is lost. Each round costs four queries. */
const blockSeconds = 10

/** Time for a server that is restarting. */
const openWithinMs = 10_000
const retryMs = { firstMs: 250, maxMs: 250 }

/** Migrates BullMQ's schema and opens the pool of this process. */
export async function openPostgres(url: string, log: QueueLog): Promise<Backend> {
  try {
    await retryWithBackoff(() => migrate(url), { ...retryMs, isTransient, forMs: openWithinMs })
  } catch (error) {
    throw asUnavailable(error, 'the queue in Postgres cannot be opened')
  }
  const pool = openPool(url)
  const warn = throttleLog(log.warn.bind(log))
  pool.on('error', (error) => warn({ reason: reasonOf(error) }, 'a queue connection to Postgres was lost'))

  const createWorkerBackend: BackendFactory<PostgresQueueBackend, PostgresConnectionOptions> = (...args) => {
    const backend = slowDownOnError(createPostgresBackend(...args))
    // After an error BullMQ would rely on NOTIFY alone for an hour.
    return Object.defineProperty(backend, 'maximumBlockTimeout', { value: blockSeconds })
  }
  const closed = new AbortController()

  return {
    kind: 'postgres',
    openQueue: (name) => {
      const queue = new Queue(
        name,
        { connection: lend(pool, closed.signal), streams: { events: { maxLen: maxEvents } } },
        createPostgresBackend,
      )
      queue.on('error', () => {})
      return queue as unknown as BullQueue
    },
    oldestWaiting: async ({ name }) => {
      // BullMQ reads ranges from the newest job.
      const { rows } = await pool.query<{ oldest: string | null }>(
        `SELECT min(added_at_ms) AS oldest FROM job WHERE queue = $1 AND state = 'waiting'`,
        [name],
      )
      return rows[0]?.oldest == null ? undefined : Number(rows[0].oldest)
    },
    openWorker: (name, { concurrency }, process) => {
      const ended = new AbortController()
      pool.options.max += 1
      const worker = new Worker(
        name,
        process,
        {
          ...workerTimes,
          connection: lend(pool, AbortSignal.any([closed.signal, ended.signal])),
          concurrency,
          drainDelay: blockSeconds,
        },
        createWorkerBackend,
      )
      const warnOfWorker = throttleLog(log.warn.bind(log))
      worker.on('error', (error) =>
        warnOfWorker({ queue: name, reason: reasonOf(error) }, 'a worker cannot query Postgres'),
      )
      worker.once('closed', () => {
        ended.abort()
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
  return new SessionPool({
    connectionString: url,
    settings: {
      search_path: 'bullmq',
      // Jobs can be rebuilt from their batches, so a commit does not need to wait for the disk.
      synchronous_commit: 'off',
    },
    application_name: 'herald-queue',
    max: queryConnections,
    connectionTimeoutMillis: 5_000,
    // Detects a half-open connection; the query is repeated on another.
    query_timeout: 5_000,
    idleTimeoutMillis: 30_000,
  })
}

async function migrate(url: string): Promise<void> {
  const client = await connectSession({
    connectionString: url,
    // A process that waits for another one's migration must not be ended.
    settings: { statement_timeout: '0' },
    connectionTimeoutMillis: 5_000,
  })
  try {
    const version = await assertSchemaCompatibility(client).catch((error) => {
      if (error instanceof SchemaMigrationRequiredError) return 0
      throw error
    })
    // BullMQ's advisory lock serializes processes that start together.
    if (version < LATEST_SCHEMA_VERSION) await runMigrations(client)
  } finally {
    await client.end().catch(() => {})
  }
}

/**
 * The pool as one queue or worker of BullMQ uses it. Named statements save Postgres the parsing. Transient errors get the
 * code that BullMQ retries; it would count any other against the job.
 */
function lend(pool: pg.Pool, closed: AbortSignal): PgPool {
  const retry = <T>(ask: () => Promise<T>) =>
    retryWithBackoff(ask, { ...retryMs, isTransient, signal: closed })
  let schemaChecked = false
  // BullMQ checks the schema on its first connection and never repeats a check that failed.
  const schemaClient = {
    query: (text: string, values: unknown[]) => retry(() => pool.query(text, values)),
    release: () => {},
  }
  const lent: PgPool & { options: { keepAlive: true } } = {
    options: { keepAlive: true },
    query: (text, values) =>
      pool.query({ name: nameOf(text), text, values: values as unknown[] }).catch((error) => {
        throw asConnectionError(error)
      }),
    connect: async () => {
      if (schemaChecked) {
        const client = await retry(() => pool.connect())
        if (!closed.aborted) return endOnError(client)
        // The worker was closed while it was connecting: it would keep the connection, and the pool would never end.
        client.release()
        throw new Error('the worker is closed')
      }
      schemaChecked = true
      return schemaClient as unknown as PgPoolClient
    },
    on: () => lent,
    removeAllListeners: () => lent,
    end: async () => {},
  }
  return lent
}

/** BullMQ would repeat a LISTEN that got no answer on the same connection for ever; an error event makes it open another. */
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
 * BullMQ's own limit on finished jobs makes workers that finish at the same time delete the same rows, and deadlock. So
 * workers keep all finished jobs, and this function removes the oldest.
 */
export async function removeOldFinished(queue: BullQueue): Promise<void> {
  const counts = await queue.getJobCounts('completed', 'failed')
  for (const kind of ['completed', 'failed'] as const) {
    const excess = (counts[kind] ?? 0) - maxFinished
    if (excess > 0) await queue.clean(0, excess, kind)
  }
}
