import { SessionPool } from '@herald/postgres'
import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { PrismaClient } from '../generated/client.ts'

/**
 * A process's connections to Postgres: Prisma for rows that people edit, `pool` for the statements of the pipeline. Prisma uses
 * the same pool, so `max` limits the connections of the process.
 */
export type Database = {
  readonly pool: pg.Pool
  readonly prisma: PrismaClient
  readonly url: string
  close(): Promise<void>
}

export type DatabaseOptions = {
  /** Maximum number of connections of this process. */
  max?: number
  /** Whether statements are prepared (default true); a pooler in transaction mode may not keep them. */
  prepare?: boolean
  /** Shown in pg_stat_activity. */
  name?: string
  /** How long a statement or transaction waits for a connection (default 5 s); longer for specs on a machine that stands still for seconds. */
  waitMs?: number
  /** Called when an idle connection is lost. */
  onIdleError?: (error: Error) => void
}

/** Maximum number of connections of a process; the standalone runs all programs in one process. */
export const poolSizes = { program: 10, standalone: 30 } as const

const INT8 = 20
const INT8_ARRAY = 1016
const INT4_ARRAY = 1007

/** Ids that Herald makes are below 2^53, so int8 is read as a number. Callers' int64 ids are passed as parameters only. */
const typeParsers = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === INT8) return Number
    if (oid === INT8_ARRAY || oid === INT4_ARRAY) return parseNumbers
    return pg.types.getTypeParser(oid, format as 'text')
  },
} as pg.CustomTypesConfig

/** The driver's own parser reads an array letter by letter. All arrays of numbers here have one dimension. */
function parseNumbers(text: string): (number | null)[] {
  return text.length <= 2 ? [] : text.slice(1, -1).split(',').map(parseNumber)
}

function parseNumber(text: string): number | null {
  return text === 'NULL' ? null : Number(text)
}

export function openDatabase(url: string, options: DatabaseOptions = {}): Database {
  const { waitMs = 5_000 } = options
  const pool = new SessionPool({
    connectionString: url,
    // Postgres would plan prepared statements again for each call, which costs more than running them.
    settings: { plan_cache_mode: 'force_generic_plan' },
    prepare: options.prepare,
    max: options.max ?? poolSizes.program,
    // Without a minimum, loops that overlap now and then would open a connection each time, at 10 ms of CPU.
    min: 3,
    // A connection keeps the statements that were prepared for each day (days.ts). A new one prepares them again, which costs as much CPU time
    // as hundreds of pushes, so those of a burst are kept for the next one.
    idleTimeoutMillis: 60_000,
    maxLifetimeSeconds: 3600,
    application_name: options.name ?? 'herald',
    types: typeParsers,
    connectionTimeoutMillis: waitMs,
    // A query that takes this long is stuck (lock, dead host). Without a limit its caller would hang forever.
    query_timeout: 60_000,
  })
  // Without a listener the loss of an idle connection would crash the process.
  pool.on('error', (error) => options.onIdleError?.(error))
  const prisma = new PrismaClient({
    adapter: new PrismaPg(pool, { disposeExternalPool: false }),
    // The same limits as the pool's: by default a save fails when all connections are in use for two seconds.
    transactionOptions: { maxWait: waitMs, timeout: 60_000 },
  })
  return {
    pool,
    prisma,
    url,
    async close() {
      await prisma.$disconnect()
      await pool.end()
    },
  }
}
