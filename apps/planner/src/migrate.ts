import { ensurePartitions, MigrationError, migrate, openDatabase } from '@herald/db/store'
import { loadSettings, requireSetting, SettingsError } from '@herald/settings'

/**
 * Migrates the database and exits, for deployments that do this in a job before any program starts. Without this job the first
 * program migrates and the others wait for it.
 */
async function migrateOnce(): Promise<void> {
  const url = requireSetting(loadSettings().settings, 'databaseUrl')
  const print = (line: string) => void process.stdout.write(`${line}\n`)
  await migrate(url, { log: print })
  const db = openDatabase(url, { max: 1, name: 'herald migrate' })
  try {
    await ensurePartitions(db)
  } finally {
    await db.close()
  }
  print('The database is up to date.')
}

try {
  await migrateOnce()
} catch (error) {
  const { message } = error as Error
  const explained = error instanceof SettingsError || error instanceof MigrationError
  process.stderr.write(explained ? `${message}\n` : `The database cannot be migrated: ${message}\n`)
  process.exitCode = 1
}
