import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A database that cannot be brought to this code's schema; the message is one sentence for an operator. */
export class MigrationError extends Error {
  override name = 'MigrationError'
}

export type Migration = { name: string; script: string; checksum: string }

/** A row of Prisma's own table, of those that were not rolled back. */
export type Recorded = { id: string; name: string; checksum: string; finished: boolean }

export function readMigrations(folder: string): Migration[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => {
      const script = readFileSync(join(folder, name, 'migration.sql'), 'utf8')
      return { name, script, checksum: createHash('sha256').update(script).digest('hex') }
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** What a database lacks, and the ids of attempts that did not finish. Throws when it is not a database of this code. */
export function compareMigrations(migrations: readonly Migration[], recorded: readonly Recorded[]) {
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
