import { ensurePartitions, MigrationError, migrate, openDatabase } from '@herald/db/store'
import { loadSettings, requireSetting, SettingsError } from '@herald/settings'

/**
 * Brings the database up to date and ends: for deployments that let one job do it before any program starts. Programs that
 * find nothing left to do start at once; without this job the first of them does it, and the others wait for it.
 */
async function migrateOnce(): Promise<void> {
  const url = requireSetting(loadSettings().settings, 'databaseUrl')
  const say = (sentence: string) => void process.stdout.write(`${sentence}\n`)
  await migrate(url, { log: say })
  const db = openDatabase(url, { max: 1, name: 'herald migrate' })
  try {
    await ensurePartitions(db)
  } finally {
    await db.close()
  }
  say('The database is up to date.')
}

try {
  await migrateOnce()
} catch (error) {
  const { message } = error as Error
  const explained = error instanceof SettingsError || error instanceof MigrationError
  process.stderr.write(explained ? `${message}\n` : `The database cannot be migrated: ${message}\n`)
  process.exitCode = 1
}
