import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { retryWithBackoff } from '@herald/async'
import { codeOf, SessionPool } from '@herald/postgres'
import { PrismaPg } from '@prisma/adapter-pg'
import {
  bindMigrationAwareSqlAdapterFactory,
  type SqlDriverAdapter,
  type SqlMigrationAwareDriverAdapterFactory,
} from '@prisma/driver-adapter-utils'
import type pg from 'pg'
import { type Migration, MigrationError, statementsOf } from './migrations.ts'

type Work = {
  databaseUrl: string
  /** Contains schema.prisma and migrations/. */
  folder: string
  migrations: readonly Migration[]
  /** Owns the advisory lock. Scripts run on it, so that the lock outlives a killed caller until its script has ended. */
  client: pg.Client
  /** Ends the work before the next script. */
  signal: AbortSignal | undefined
}

/**
 * Applies the missing migrations with Prisma's own engine, so that Prisma stays in charge of `_prisma_migrations`: the table's
 * format, its checksums and the order are what `prisma migrate deploy` and later versions of Prisma expect, and both tools can be
 * used on the same database. The engine is the WebAssembly build, because the native one would have to be downloaded.
 */
export async function applyWithPrisma(work: Work): Promise<void> {
  const { databaseUrl, folder, migrations, client, signal } = work
  loaded ??= loadEngine()
  const { SchemaEngine } = await loaded
  let failure: unknown
  const pool = new SessionPool({ connectionString: databaseUrl, max: 2 })
  pool.on('error', () => {})
  const prisma = new PrismaPg(pool, { disposeExternalPool: false })
  const { factory, close } = withScripts(prisma, async (script) => {
    try {
      signal?.throwIfAborted()
      await runScript(client, migrations, script)
    } catch (error) {
      failure = error
      throw error
    }
  })
  const datamodel = readFileSync(join(folder, 'schema.prisma'), 'utf8')
  const engine = await SchemaEngine.new(
    { datamodels: [['schema.prisma', datamodel]] },
    () => {},
    bindMigrationAwareSqlAdapterFactory(factory),
  )
  try {
    await engine.applyMigrations({
      migrationsList: {
        baseDir: join(folder, 'migrations'),
        lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
        shadowDbInitScript: '',
        migrationDirectories: migrations.map(({ name, script }) => ({
          path: name,
          migrationFile: { path: 'migration.sql', content: { tag: 'ok', value: script } },
        })),
      },
      filters: { externalTables: [], externalEnums: [] },
    })
  } catch (error) {
    signal?.throwIfAborted()
    throw new MigrationError(`The database could not be migrated: ${((failure ?? error) as Error).message}.`)
  } finally {
    engine.free()
    await close()
    await pool.end()
  }
}

/** While a script waits for a lock, all later statements on that table wait behind it. */
const LOCK_LIMIT = '2s'
/** After that a reader, such as a dump, has kept its lock for so long that an operator must look. */
const LOCKED_MS = 600_000

/**
 * Runs a migration and sets its `finished_at` in one query, which Postgres runs as one transaction. The adapter's own
 * `executeScript` splits scripts at every semicolon, even inside functions, and commits each piece. A script that cannot lock a
 * table gives way to the statements that wait behind it, and is repeated.
 */
async function runScript(client: pg.Client, migrations: readonly Migration[], script: string): Promise<void> {
  const migration = migrations.find((known) => known.script === script)
  if (!migration) {
    await client.query(script)
    return
  }
  const finish = `UPDATE _prisma_migrations SET finished_at = now()
WHERE migration_name = ${client.escapeLiteral(migration.name)} AND finished_at IS NULL AND rolled_back_at IS NULL`
  const statements = statementsOf(script)
  if (statements) {
    for (const statement of [...statements, finish]) await client.query(statement)
    return
  }
  await client.query(`SET lock_timeout = '${LOCK_LIMIT}'`)
  await retryWithBackoff(() => client.query(`${script}\n;${finish}`), {
    isTransient: (error) => codeOf(error) === '55P03' || codeOf(error) === '40P01',
    forMs: LOCKED_MS,
    firstMs: 500,
    maxMs: 5_000,
  })
  await client.query('SET lock_timeout = 0')
}

function withScripts(
  factory: SqlMigrationAwareDriverAdapterFactory,
  executeScript: (script: string) => Promise<void>,
) {
  const adapters: SqlDriverAdapter[] = []
  const connect = async () => {
    const adapter = await factory.connect()
    adapter.executeScript = executeScript
    adapters.push(adapter)
    return adapter
  }
  return {
    factory: {
      provider: factory.provider,
      adapterName: factory.adapterName,
      connect,
      connectToShadowDb: connect,
    },
    /** The engine does not close its connections. */
    close: () => Promise.all(adapters.map((adapter) => adapter.dispose())),
  }
}

// TypeScript declares it only in the DOM library.
declare const WebAssembly: {
  instantiate(bytes: Uint8Array, imports: object): Promise<{ instance: { exports: Record<string, unknown> } }>
}

/** The module keeps the instance in its own variables, so there must be only one. */
let loaded: ReturnType<typeof loadEngine> | undefined

async function loadEngine() {
  // The package's entry imports the .wasm file as a module, which Node does not support, so it is instantiated here.
  const engine = await import('@prisma/schema-engine-wasm/schema_engine_bg')
  const home = dirname(createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg'))
  // The engine leaves a timer of ten seconds running, which must not keep the program alive.
  const timeout = (callback: () => void, milliseconds: number) => setTimeout(callback, milliseconds).unref()
  const imports = Object.entries(engine).map(([name, value]) => [
    name,
    /^__wbg_setTimeout/.test(name) ? timeout : value,
  ])
  const { instance } = await WebAssembly.instantiate(readFileSync(join(home, 'schema_engine_bg.wasm')), {
    './schema_engine_bg.js': Object.fromEntries(imports),
  })
  engine.__wbg_set_wasm(instance.exports)
  ;(instance.exports.__wbindgen_start as () => void)()
  return engine
}
