import { join } from 'node:path'
import { sleep } from '@herald/async'
import { connectSession } from '@herald/postgres'
import pg from 'pg'
import { applyWithPrisma } from './migrate-engine.ts'
import { compareMigrations, type Migration, MigrationError, readMigrations } from './migrations.ts'

export type MigrateOptions = {
  log?: (sentence: string) => void
  /** Folder with the schema and the migrations (default: the project's own). */
  folder?: string
  /** Ends the call before the next migration. */
  signal?: AbortSignal
}

const prismaFolder = join(import.meta.dirname, '../../../../prisma')

/** Must differ from the advisory locks of other programs in the same database. */
const lockKey = 7_164_120_901
const LOCK_WAIT_MS = 300_000
const LOCK_PAUSE_MS = 200

/**
 * Migrates a database to the schema of this code. Several processes may call it at once. If one is killed half-way, the next
 * call repairs what it left. Costs three queries when there is nothing to do. Throws MigrationError.
 */
export async function migrate(databaseUrl: string, options: MigrateOptions = {}): Promise<void> {
  const folder = options.folder ?? prismaFolder
  const migrations = readMigrations(join(folder, 'migrations'))
  const client = await connect(databaseUrl)
  try {
    await requireVersion(client)
    const before = await compare(client, migrations)
    if (before.missing.length === 0) return
    await requireOwnSession(client, before.missing.length)
    await lock(client, options.signal)
    const { missing, unfinished } = await compare(client, migrations)
    if (missing.length === 0) return
    options.log?.(`applying ${missing.length} migration${missing.length === 1 ? '' : 's'}`)
    // A script and its `finished_at` are committed together, so an unfinished migration has changed nothing; those that run
    // outside a transaction are safe to repeat.
    if (unfinished.length > 0) {
      await client.query('UPDATE _prisma_migrations SET rolled_back_at = now() WHERE id = ANY($1)', [
        unfinished,
      ])
    }
    await applyWithPrisma({ databaseUrl, folder, migrations, client, signal: options.signal })
  } finally {
    await client.end().catch(() => {})
  }
}

export type MigrationState = {
  applied: string[]
  /** Migrations that the next start of a program will apply. */
  pending: string[]
}

/** Returns what `migrate` would do, without doing it. Throws MigrationError as it would. */
export async function migrationState(databaseUrl: string, folder = prismaFolder): Promise<MigrationState> {
  const migrations = readMigrations(join(folder, 'migrations'))
  const client = await connect(databaseUrl)
  try {
    const { missing } = await compare(client, migrations)
    const pending = missing.map(({ name }) => name)
    return {
      applied: migrations.map(({ name }) => name).filter((name) => !pending.includes(name)),
      pending,
    }
  } finally {
    await client.end().catch(() => {})
  }
}

/** Set with the startup message, which a pooler does not pass on. */
const ownSession = 'herald.migrate'

async function connect(connectionString: string): Promise<pg.Client> {
  try {
    return await connectSession({
      connectionString,
      settings: {
        // A script may take hours.
        statement_timeout: '0',
        // If this process is killed during a script, Postgres cancels the script within a second and so releases the lock.
        client_connection_check_interval: '1s',
        [ownSession]: 'on',
      },
      application_name: 'herald migrate',
      connectionTimeoutMillis: 10_000,
    })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const { host, port, database } = new pg.Client(connectionString)
    throw new MigrationError(
      `The database ${database} at ${host}:${port} cannot be opened: ${message || code}.`,
    )
  }
}

/** The lock belongs to a session. Behind a pooler statements run in any session, so two processes could migrate at once. */
async function requireOwnSession(client: pg.Client, missing: number): Promise<void> {
  const { rows } = await client.query('SELECT current_setting($1, true) AS value', [ownSession])
  if (rows[0].value === 'on') return
  throw new MigrationError(
    `The database lacks ${missing} migration${missing === 1 ? '' : 's'}, which cannot be applied through a pooler: run apps/planner/src/migrate.ts once with the server’s own address as DATABASE_URL.`,
  )
}

/** The oldest PostgreSQL that has what the statements need. */
export const MIN_POSTGRES = 14

async function requireVersion(client: pg.Client): Promise<void> {
  const { rows } = await client.query(`SELECT current_setting('server_version_num')::int AS version`)
  const major = Math.floor(rows[0].version / 10_000)
  if (major < MIN_POSTGRES)
    throw new MigrationError(
      `Herald needs PostgreSQL ${MIN_POSTGRES} or newer, and this server is version ${major}.`,
    )
}

/**
 * Asks again and again instead of waiting in one statement, which would keep its snapshot: CREATE INDEX CONCURRENTLY of the process
 * that has the lock waits for all older snapshots, so the two would deadlock.
 */
async function lock(client: pg.Client, signal: AbortSignal | undefined): Promise<void> {
  for (const end = performance.now() + LOCK_WAIT_MS; performance.now() < end; await sleep(LOCK_PAUSE_MS)) {
    signal?.throwIfAborted()
    const { rows } = await client.query('SELECT pg_try_advisory_lock($1) AS locked', [lockKey])
    if (rows[0].locked) return
  }
  throw new MigrationError('Another process has been migrating this database for more than five minutes.')
}

async function compare(client: pg.Client, migrations: readonly Migration[]) {
  const { rows: tables } = await client.query(
    `SELECT to_regclass('_prisma_migrations') IS NOT NULL AS recorded, to_regclass('compatible_since') IS NOT NULL AS since`,
  )
  if (!tables[0].recorded) return compareMigrations(migrations, [])
  const { rows: recorded } = await client.query(
    `SELECT id, migration_name AS name, checksum, finished_at IS NOT NULL AS finished
     FROM _prisma_migrations WHERE rolled_back_at IS NULL`,
  )
  const { rows: since } = tables[0].since
    ? await client.query('SELECT migration FROM compatible_since')
    : { rows: [] }
  return compareMigrations(migrations, recorded, since[0]?.migration)
}
