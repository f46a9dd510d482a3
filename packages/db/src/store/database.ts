import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { PrismaClient } from '../generated/client.ts'

/**
 * One process's way to Postgres: Prisma for the rows people edit, the pool for the statements the pipeline repeats. Both
 * share the pool, so `max` bounds the connections of the process.
 */
export type Database = {
  readonly pool: pg.Pool
  readonly prisma: PrismaClient
  readonly url: string
  close(): Promise<void>
}

export type DatabaseOptions = {
  /** Most connections of this process. */
  max?: number
  /** Shown in pg_stat_activity. */
  name?: string
  /** Told about connections that Postgres or the network ended while idle. */
  onIdleError?: (error: Error) => void
}

/** Most connections of a process; the standalone is all programs in one. */
export const poolSizes = { program: 10, standalone: 30 } as const

const INT8 = 20
const INT8_ARRAY = 1016

/** Every id Herald makes is below 2^53, so int8 comes back as a number; int64 given by callers is only ever a parameter. */
const typeParsers = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === INT8) return Number
    if (oid === INT8_ARRAY) return parseInt8Array
    return pg.types.getTypeParser(oid, format as 'text')
  },
} as pg.CustomTypesConfig

function parseInt8Array(text: string): number[] {
  return text.length <= 2 ? [] : text.slice(1, -1).split(',').map(Number)
}

export function openDatabase(url: string, options: DatabaseOptions = {}): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: options.max ?? poolSizes.program,
    // Loops that meet now and then would otherwise open and lose a connection every time, at 10 ms of CPU each.
    min: 3,
    application_name: options.name ?? 'herald',
    types: typeParsers,
    connectionTimeoutMillis: 5_000,
    // A query that waits this long is broken (lock, dead host); without it a verb could hang its caller for ever.
    query_timeout: 60_000,
    keepAlive: true,
    // The statements are prepared and few: planning them anew for each call costs more than running them, because batch has a
    // partition a day.
    onConnect: async (client) => {
      await client.query('SET plan_cache_mode = force_generic_plan')
    },
  })
  // Without a listener the loss of an idle connection would end the process.
  pool.on('error', (error) => options.onIdleError?.(error))
  // Nor does the pool listen to a connection that is lent out; its borrower learns of the loss with the next statement.
  pool.on('connect', (client) => client.on('error', () => {}))
  const prisma = new PrismaClient({
    adapter: new PrismaPg(pool, { disposeExternalPool: false }),
    // As long as the pool's own limits above: by default a save fails when all connections are busy for two seconds.
    transactionOptions: { maxWait: 5_000, timeout: 60_000 },
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
