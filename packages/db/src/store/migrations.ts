import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The database cannot be migrated to this code's schema. The message is one sentence for an operator. */
export class MigrationError extends Error {
  override name = 'MigrationError'
}

export type Migration = { name: string; script: string; checksum: string }

/** A row of `_prisma_migrations` that was not rolled back. */
export type RecordedMigration = { id: string; name: string; checksum: string; finished: boolean }

export function readMigrations(folder: string): Migration[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => {
      const script = readFileSync(join(folder, name, 'migration.sql'), 'utf8')
      return { name, script, checksum: createHash('sha256').update(script).digest('hex') }
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Returns the migrations that a database lacks, and the ids of attempts that did not finish. Throws MigrationError. */
export function compareMigrations(migrations: readonly Migration[], recorded: readonly RecordedMigration[]) {
  const known = new Map(migrations.map((migration) => [migration.name, migration]))
  const finished = recorded.filter((row) => row.finished)
  const newer = finished.find((row) => !known.has(row.name))
  if (newer) {
    throw new MigrationError(
      `The database was written by a newer Herald: it has the migration ${newer.name}, which this one does not know.`,
    )
  }
  const changed = finished.find((row) => known.get(row.name)?.checksum !== row.checksum)
  if (changed) {
    throw new MigrationError(
      `The database was written by another build of Herald: its migration ${changed.name} differs from the one here.`,
    )
  }
  const names = new Set(finished.map((row) => row.name))
  return {
    missing: migrations.filter((migration) => !names.has(migration.name)),
    unfinished: recorded.filter((row) => !row.finished).map((row) => row.id),
  }
}
