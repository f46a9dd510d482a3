import { retryWithBackoff, shareReads } from '@herald/async'
import { connectSession, SessionPool } from '@herald/postgres'
import {
  assertSchemaCompatibility,
  type BackendFactory,
  createPostgresBackend,
  Job,
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
  addJob,
  type Backend,
  type BullQueue,
  type BullWorker,
  maxEvents,
  type NewJob,
  type QueueCounts,
  queryConnections,
  slowDownOnError,
  workerTimes,
} from './backend.ts'
import { asUnavailable, reasonOf } from './errors.ts'
import { fetchOncePerWake } from './fetch-once.ts'
import { createJobWriter } from './job-writer.ts'
import { type QueueLog, throttleLog } from './log.ts'
import { asConnectionError, isTransient } from './postgres-errors.ts'
import { createSharedListener } from './shared-listener.ts'

/** NOTIFY wakes a worker; this is the delay when a notification is lost. One statement looks for the workers of all queues. */
const LOOK_MS = 20_000
/** A worker that looks by itself needs two queries, for each of 17 queues. */
const blockSeconds = 600

/** BullMQ announces the jobs of all queues on it, each with the name of its queue. */
const NOTIFY_CHANNEL = 'bullmq_jobs'

/** Watchdogs judge by a minute. */
const OBSERVED_MS = 1_000

/**
 * How long the lengths of all queues are used. Each API asks for those of 16 queues ten times per second: with a statement for each queue,
 * the jobs to be added waited for these connections when Postgres was slow.
 */
const AHEAD_MS = 50

/** Time for a server that is restarting. */
const openWithinMs = 10_000
const retryMs = { firstMs: 250, maxMs: 250 }

/** Migrates BullMQ's schema and opens the pool of this process. */
export async function openPostgres(url: string, log: QueueLog, limitMs: number): Promise<Backend> {
  try {
    await retryWithBackoff(() => migrate(url), { ...retryMs, isTransient, forMs: openWithinMs })
  } catch (error) {
    throw asUnavailable(error, 'the queue in Postgres cannot be opened')
  }
  const pool = openPool(url, Math.max(QUERY_MS, limitMs))
  const warn = throttleLog(log.warn.bind(log))
  pool.on('error', (error) => warn({ reason: reasonOf(error) }, 'a queue connection to Postgres was lost'))

  const createWorkerBackend: BackendFactory<PostgresQueueBackend, PostgresConnectionOptions> = (...args) => {
    const { backend, foundNone } = fetchOncePerWake(slowDownOnError(createPostgresBackend(...args)))
    leaveOutStatements(backend, foundNone)
    const recover = backend.moveStalledJobsToWait.bind(backend)
    // Without active jobs none is stalled. Every worker would ask twice per minute.
    backend.moveStalledJobsToWait = async () => ((await observe(args[0])).active > 0 ? recover() : [])
    // After an error BullMQ would rely on NOTIFY alone for an hour.
    return Object.defineProperty(backend, 'maximumBlockTimeout', { value: blockSeconds })
  }
  const add = createJobWriter<QueuedJob>({ label: 'the queue in Postgres', limitMs, store: storeJobs })
  const closed = new AbortController()
  let workers = 0
  const counted = shareReads({ read: () => countJobs(pool), maxAgeMs: () => 0 })
  // Every worker observes its queue.
  const observed = shareReads({ read: () => countJobs(pool), maxAgeMs: OBSERVED_MS })
  const waitingHigh = shareReads({ read: () => countWaitingHigh(pool), maxAgeMs: () => AHEAD_MS })
  const observe = async (name: string) => (await observed.get('')).get(name) ?? noJobs
  const listen = createSharedListener(() => pool.connect(), {
    everyMs: LOOK_MS,
    channel: NOTIFY_CHANNEL,
    payloads: async () =>
      [...(await observed.get(''))].flatMap(([name, { waiting, paused }]) =>
        waiting > 0 && !paused ? [name] : [],
      ),
  })

  return {
    kind: 'postgres',
    add: (queue, job) => add({ queue, job }),
    openQueue: (name) => {
      const queue = new Queue(
        name,
        { connection: lend(pool, listen, closed.signal), streams: { events: { maxLen: maxEvents } } },
        createPostgresBackend,
      )
      queue.on('error', () => {})
      return queue as unknown as BullQueue
    },
    counts: async (queue, isApproximate) =>
      isApproximate ? observe(queue.name) : ((await counted.get('')).get(queue.name) ?? noJobs),
    ahead: async ({ name }) => (await waitingHigh.get('')).get(name) ?? 0,
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
      if (workers++ === 0) pool.options.max += 1
      const worker = new Worker(
        name,
        process,
        {
          ...workerTimes,
          connection: lend(pool, listen, AbortSignal.any([closed.signal, ended.signal])),
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
        if (--workers === 0) pool.options.max -= 1
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

type QueuedJob = { queue: BullQueue; job: NewJob }

/**
 * Stores jobs of any queues with one statement: eight jobs of eight queues take half of the CPU time of eight statements. BullMQ has it
 * for flows of jobs; these have no children. Its bulk add is for one queue and creates and drops two temporary tables, which takes as
 * much as twelve single adds, and 27 of which between two statements of a session make that session plan all its statements again.
 */
async function storeJobs(jobs: QueuedJob[]): Promise<void> {
  const [first] = jobs
  if (jobs.length === 1) return void (await addJob(first!.queue, first!.job))
  const entries = jobs.map(({ queue, job: { name, data, opts } }) =>
    new Job(queue, name, data, opts, opts.jobId).toFlowEntry(),
  )
  // A queue that is being closed would not answer.
  const { queue } = jobs.find((one) => !one.queue.closing) ?? first!
  for (const [error] of await queue.backend.addFlow(entries)) if (error) throw error
}

const noJobs = { waiting: 0, active: 0, completed: 0, failed: 0, paused: false }

/**
 * What BullMQ asks when it finds no job: until when the queue is limited, and when the next delayed job is due. Herald has neither. Every
 * job that is added wakes the workers of its queue in all processes, and each of them would ask twice.
 */
const answers = new Map<string, object>([
  ['next_signal', { rate_limit_ttl: 0, next_delay: null }],
  ['next_delay', { next_delay: null }],
])

/** `foundNone` is called when a wait began and no job was waiting. */
function leaveOutStatements(backend: PostgresQueueBackend, foundNone: () => void): void {
  type Run = (name: string, values: unknown[]) => Promise<{ rows: object[] }>
  const statements = backend as unknown as { run: Run }
  const run = statements.run.bind(backend)
  statements.run = async (name, values) => {
    const answer = answers.get(name)
    if (answer) return { rows: [answer] }
    const result = await run(name, values)
    const [row] = result.rows
    if (name === 'has_waiting_job' && row && 'present' in row && row.present === false) foundNone()
    return result
  }
}

/** The jobs of all queues with one statement; BullMQ has one per queue, and another that says whether it is paused. */
async function countJobs(pool: pg.Pool): Promise<Map<string, QueueCounts>> {
  const { rows } = await pool.query<Record<'waiting' | 'active' | 'completed' | 'failed', string> & Paused>({
    name: 'herald_queue_counts',
    text: `SELECT queue, count(*) FILTER (WHERE state = 'waiting') AS waiting, count(*) FILTER (WHERE state = 'active') AS active,
        count(*) FILTER (WHERE state = 'completed') AS completed, count(*) FILTER (WHERE state = 'failed') AS failed,
        bool_or(paused) AS paused
      FROM (
        SELECT queue, state, false AS paused FROM job
        UNION ALL SELECT queue, NULL, true FROM meta WHERE field = 'paused'
      ) AS j GROUP BY queue`,
  })
  return new Map(
    rows.map(({ queue, waiting, active, completed, failed, paused }) => [
      queue,
      {
        waiting: Number(waiting),
        active: Number(active),
        completed: Number(completed),
        failed: Number(failed),
        paused,
      },
    ]),
  )
}

/** The waiting jobs of the high lane of all queues, with one statement. */
async function countWaitingHigh(pool: pg.Pool): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ queue: string; waiting: string }>({
    name: 'herald_queue_waiting',
    text: `SELECT queue, count(*) AS waiting FROM job WHERE state = 'waiting' AND priority = 0 GROUP BY queue`,
  })
  return new Map(rows.map(({ queue, waiting }) => [queue, Number(waiting)]))
}

type Paused = { queue: string; paused: boolean }

/** A query that takes longer is repeated, unless its caller waits longer. */
const QUERY_MS = 5_000

function openPool(url: string, queryMs: number): pg.Pool {
  return new SessionPool({
    connectionString: url,
    settings: {
      search_path: 'bullmq',
      // Jobs can be rebuilt from their batches, so a commit does not need to wait for the disk.
      synchronous_commit: 'off',
    },
    application_name: 'herald-queue',
    max: queryConnections,
    connectionTimeoutMillis: queryMs,
    // Detects a half-open connection; the query is repeated on another.
    query_timeout: queryMs,
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
function lend(pool: pg.Pool, listen: () => Promise<PgPoolClient>, closed: AbortSignal): PgPool {
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
        const client = await retry(listen)
        if (!closed.aborted) return client
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

const names = new Map<string, string>()

function nameOf(text: string): string {
  let name = names.get(text)
  if (!name) {
    name = `herald_queue_${names.size}`
    names.set(text, name)
  }
  return name
}
