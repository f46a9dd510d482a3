import { type Database, ensurePartitions, openDatabase, retrying } from '@herald/db/store'
import { afterAll, beforeAll } from '@jest/globals'
import { type TestDatabase, testDatabase } from './database.ts'

/**
 * Opens a database of its own for this spec file; usable from `beforeAll` on. It is dropped by an `afterAll`, which jest calls in
 * the order of registration: register one that stops a program with connections to the database before this call.
 */
export function useDatabase({ max = 5, partitions = true } = {}): Database {
  const db = {} as Database
  let database: TestDatabase
  beforeAll(async () => {
    database = await testDatabase()
    Object.assign(db, openDatabase(database.url, { max, waitMs: 60_000 }))
    if (partitions) await retrying(() => ensurePartitions(db))
  })
  afterAll(async () => {
    await db.close()
    await database.drop()
  })
  return db
}
