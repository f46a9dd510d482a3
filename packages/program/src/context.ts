import { adapters } from '@herald/channels/all'
import { checkMasterKey, createSealer, ensurePartitions, migrate, openDatabase } from '@herald/db/store'
import { createCertificateCache } from '@herald/plan'
import { openQueues } from '@herald/queue'
import { requireSetting, type Settings } from '@herald/settings'
import type { Logger, Registry } from '@herald/telemetry'
import { watchDependencies } from './dependencies.ts'
import type { Context } from './service.ts'

export type OpenContext = Context & { close(): Promise<void> }

/** Migrates, opens Postgres and the queue, and returns the context that services share. */
export async function openContext(options: {
  settings: Settings
  log: Logger
  registry: Registry
  /** Called when a service cannot continue; not needed if each service gets its own. */
  die?(reason: string): void
  /** Maximum number of Postgres connections, without those of the queue, if it is not set; by default that of a program. */
  connections?: number
  /** How long a statement waits for a Postgres connection, if not as long as in a program. */
  waitMs?: number
  certificateAdapters?: typeof adapters
  /** Ends migrations in progress. */
  signal?: AbortSignal
}): Promise<OpenContext> {
  const { settings, log, registry, die = fail } = options
  const databaseUrl = requireSetting(settings, 'databaseUrl')
  const sealer = createSealer(requireSetting(settings, 'masterKey'), settings.otherMasterKeys)
  await migrate(databaseUrl, { log: (sentence) => log.info(sentence), signal: options.signal })
  const db = openDatabase(databaseUrl, {
    max: settings.databaseConnections ?? options.connections,
    prepare: settings.databasePrepare,
    waitMs: options.waitMs,
    name: `herald ${settings.nodeId}`,
    onIdleError: (error) => log.warn({ err: error }, 'a Postgres connection was lost'),
  })
  try {
    await checkMasterKey(db, sealer)
    await ensurePartitions(db)
    const queues = await openQueues({ url: settings.queueUrl ?? databaseUrl, log })
    const certificates = createCertificateCache({
      db,
      sealer,
      adapters: options.certificateAdapters ?? adapters,
      publicUrl: settings.publicUrl,
    })
    const dependencies = watchDependencies({ db, queues, registry })
    return {
      settings,
      log,
      registry,
      db,
      queues,
      sealer,
      certificates,
      dependencies,
      die,
      async close() {
        dependencies.close()
        await queues.close()
        await db.close()
      },
    }
  } catch (error) {
    await db.close()
    throw error
  }
}

function fail(reason: string): never {
  throw new Error(reason)
}
