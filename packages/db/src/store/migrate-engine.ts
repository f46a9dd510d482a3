import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { PrismaPg } from '@prisma/adapter-pg'
import {
  bindMigrationAwareSqlAdapterFactory,
  type SqlDriverAdapter,
  type SqlMigrationAwareDriverAdapterFactory,
} from '@prisma/driver-adapter-utils'
import type pg from 'pg'
import { type Migration, MigrationError } from './migrations.ts'

type Work = {
  databaseUrl: string
  /** Holds schema.prisma and migrations/. */
  folder: string
  migrations: readonly Migration[]
  /** Holds the lock; scripts run on it, so that a script whose caller was killed still keeps others out. */
  client: pg.Client
}

/** Applies what is missing with Prisma's own engine as WebAssembly, the native one being a download. */
export async function applyWithPrisma({ databaseUrl, folder, migrations, client }: Work): Promise<void> {
  loaded ??= loadEngine()
  const { SchemaEngine } = await loaded
  let failure: unknown
  const prisma = new PrismaPg({ connectionString: databaseUrl, max: 2 })
  const { factory, close } = withScripts(prisma, async (script) => {
    try {
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
    throw new MigrationError(`The database could not be migrated: ${((failure ?? error) as Error).message}.`)
  } finally {
    engine.free()
    await close()
  }
}

/**
 * Runs a migration as one query, which Postgres makes one transaction, together with the note that it has finished. The
 * adapter's own way would cut the script at every semicolon, functions included, and commit each piece.
 */
async function runScript(client: pg.Client, migrations: readonly Migration[], script: string): Promise<void> {
  const migration = migrations.find((known) => known.script === script)
  if (!migration) {
    await client.query(script)
    return
  }
  await client.query(`${script}
;UPDATE _prisma_migrations SET finished_at = now()
WHERE migration_name = ${client.escapeLiteral(migration.name)} AND finished_at IS NULL AND rolled_back_at IS NULL`)
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
    /** The engine forgets its connections without closing them. */
    close: () => Promise.all(adapters.map((adapter) => adapter.dispose())),
  }
}

// Declared here because TypeScript knows it only together with the whole browser.
declare const WebAssembly: {
  instantiate(bytes: Uint8Array, imports: object): Promise<{ instance: { exports: Record<string, unknown> } }>
}

/** The module keeps one instance's memory in its own variables, so it must never get a second instance. */
let loaded: ReturnType<typeof loadEngine> | undefined

async function loadEngine() {
  // The package's entry imports the .wasm file as a module, which Node does not do; so it is put together by hand.
  const engine = await import('@prisma/schema-engine-wasm/schema_engine_bg')
  const home = dirname(createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg'))
  // The engine leaves a timer of ten seconds behind, which must not keep a program alive that has nothing else to do.
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
