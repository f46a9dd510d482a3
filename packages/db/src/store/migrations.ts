import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The database cannot be migrated to this code's schema. The message is one sentence for an operator. */
export class MigrationError extends Error {
  override name = 'MigrationError'
}

export type Migration = { name: string; script: string; checksum: string }

/**
 * First line of a script whose statements run one by one outside a transaction, as CREATE INDEX CONCURRENTLY needs. Each ends with
 * a semicolon at the end of a line. If one fails or its process is killed, the whole script runs again, so it must be safe to
 * repeat: it drops an index, which may be invalid, before it creates it. It must not contain statements that lock a table against
 * writes, because they wait for their locks without a limit.
 */
const outsideTransaction = '-- herald: outside a transaction'

/** The statements of a script that runs outside a transaction; undefined for others, which run as a whole. */
export function statementsOf(script: string): string[] | undefined {
  const [first = '', ...lines] = script.split(/\r?\n/)
  if (first.trim() !== outsideTransaction) return undefined
  return lines
    .filter((line) => !/^\s*--/.test(line))
    .join('\n')
    .split(/;\s*(?:\n|$)/)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')
}

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

/**
 * Returns the migrations that a database lacks, and the ids of attempts that did not finish. A database of a newer Herald may be
 * used if this code knows `compatibleSince`, the oldest migration that its programs must know. Throws MigrationError.
 */
export function compareMigrations(
  migrations: readonly Migration[],
  recorded: readonly RecordedMigration[],
  compatibleSince?: string,
) {
  const known = new Map(migrations.map((migration) => [migration.name, migration]))
  const finished = recorded.filter((row) => row.finished)
  const names = new Set(finished.map((row) => row.name))
  const missing = migrations.filter((migration) => !names.has(migration.name))
  const newer = finished.find((row) => !known.has(row.name))
  // A database that also lacks migrations comes from another line of development.
  const compatible = compatibleSince !== undefined && known.has(compatibleSince) && missing.length === 0
  if (newer && !compatible) {
    throw new MigrationError(
      `The database was written by a newer Herald: it has the migration ${newer.name}, which this one does not know.`,
    )
  }
  const changed = finished.find(
    (row) => known.has(row.name) && known.get(row.name)!.checksum !== row.checksum,
  )
  if (changed) {
    throw new MigrationError(
      `The database was written by another build of Herald: its migration ${changed.name} differs from the one here.`,
    )
  }
  return {
    missing,
    unfinished: recorded.filter((row) => !row.finished).map((row) => row.id),
  }
}
