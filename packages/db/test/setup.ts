import { randomUUID } from 'node:crypto'
import type { VendorChannel } from '@herald/domain'
import { saveCertificate } from '../src/certificates/index.ts'
import { createSealer, type Database } from '../src/store/index.ts'
import { createApplication } from '../src/tenants/index.ts'

export { useDatabase } from '@herald/testkit/use-database'
export { settlementOf } from './settlement-of.ts'

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
