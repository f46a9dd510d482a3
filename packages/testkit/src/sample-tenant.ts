import { randomUUID } from 'node:crypto'
import { type NewCertificate, saveCertificate } from '@herald/db/certificates'
import { createSealer, type Database, type Sealer } from '@herald/db/store'
import { createApplication } from '@herald/db/tenants'
import type { VendorChannel } from '@herald/domain'

export async function addApplication(
  db: Database,
  name: string = randomUUID(),
  packageName = '',
): Promise<string> {
  const made = await createApplication(db, { name, packageName })
  if (made === 'taken') throw new Error('taken')
  return made.appId
}

/** A certificate for production whose other fields are empty by default, sealed with a key of zeros unless there is a `sealer`. */
export async function addCertificate(
  db: Database,
  application: string,
  channel: VendorChannel,
  { sealer = createSealer(Buffer.alloc(32)), ...over }: Partial<NewCertificate> & { sealer?: Sealer } = {},
): Promise<number> {
  const fields = { name: '', appId: '', appKey: '', appSecret: '', certificate: '', extra: {} }
  const place = { application, channel, environment: 'production' as const }
  return (await saveCertificate(db, sealer, { ...place, ...fields, ...over })).id
}
