import { randomUUID } from 'node:crypto'
import type { VendorChannel } from '@herald/domain'
import { type TestDatabase, testDatabase } from '@herald/testkit'
import { afterAll, beforeAll } from '@jest/globals'
import { saveCertificate } from '../src/certificates/index.ts'
import { createSealer, type Database, ensurePartitions, openDatabase, retrying } from '../src/store/index.ts'
import { createApplication } from '../src/tenants/index.ts'

export { settlementOf } from './settlement-of.ts'

/** Opens a database of its own for this spec file; usable from `beforeAll` on. */
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

export async function addApplication(db: Database): Promise<string> {
  const created = await createApplication(db, { name: randomUUID(), packageName: '' })
  if (created === 'taken') throw new Error('taken')
  return created.appId
}

export async function addCertificate(
  db: Database,
  application: string,
  channel: VendorChannel,
  sealer = createSealer(Buffer.alloc(32)),
): Promise<number> {
  const fields = { name: '', appId: '', appKey: '', appSecret: '', certificate: '', extra: {} }
  const place = { application, channel, environment: 'production' as const }
  return (await saveCertificate(db, sealer, { ...place, ...fields })).id
}
