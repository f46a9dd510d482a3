import { randomBytes } from 'node:crypto'
import type { VendorChannel } from '@herald/domain'
import type { Certificate } from '../generated/client.ts'
import type { Database } from '../store/database.ts'
import { type Environment, environmentNumber, environmentOf } from '../store/environments.ts'
import type { Sealer } from '../store/seal.ts'
import { run } from '../store/statement.ts'

export type CertificateState = 'open' | 'closed' | 'suspect'

/** A certificate with its secrets in the clear. Never log one. */
export type StoredCertificate = NewCertificate & {
  id: number
  /** Raised by every save: a transport opened for an older one is stale. */
  version: number
  state: CertificateState
  callbackKey: string
  lastError?: string
  /** Unix ms. */
  lastErrorAt?: number
}

export type NewCertificate = CertificatePlace & {
  name: string
  appId: string
  appKey: string
  appSecret: string
  certificate: string
  extra: Record<string, unknown>
  /** When the credential itself ends, Unix ms. */
  expiresAt?: number
}

/** One record per application, channel and environment. */
export type CertificatePlace = { application: string; channel: VendorChannel; environment: Environment }

type Secrets = { app_secret: string; certificate: string; extra: Record<string, unknown> }

/** Changes with any change of the application or its certificates, at a hundredth of the cost of reading them. */
export async function certificatesStamp(db: Database, application: string): Promise<string> {
  const [row] = await run<[stamp: string]>(
    db.pool,
    'certificates-stamp',
    `SELECT concat_ws(',', (SELECT xmin FROM application WHERE id = $1),
       (SELECT string_agg(id || ':' || xmin, ',' ORDER BY id) FROM certificate WHERE app_id = $1))`,
    [application],
  )
  return row![0]
}

export async function certificatesOf(
  db: Database,
  sealer: Sealer,
  application: string,
): Promise<StoredCertificate[]> {
  const rows = await db.prisma.certificate.findMany({
    where: { appId: application },
    orderBy: [{ channel: 'asc' }, { environment: 'desc' }],
  })
  return rows.map((row) => unseal(row, sealer))
}

/** Not bound to a tenant: for the pipeline, whose batches name certificates by id. */
export async function certificateById(
  db: Database,
  sealer: Sealer,
  id: number,
): Promise<StoredCertificate | undefined> {
  const row = await db.prisma.certificate.findUnique({ where: { id: BigInt(id) } })
  return row ? unseal(row, sealer) : undefined
}

export async function certificateAt(
  db: Database,
  sealer: Sealer,
  place: CertificatePlace,
): Promise<StoredCertificate | undefined> {
  const row = await db.prisma.certificate.findUnique({ where: { appId_channel_environment: keyOf(place) } })
  return row ? unseal(row, sealer) : undefined
}

/** Inserts or replaces. A replaced record keeps its id and callback key, rises in version and is open again. */
export async function saveCertificate(
  db: Database,
  sealer: Sealer,
  certificate: NewCertificate,
): Promise<StoredCertificate> {
  const secrets: Secrets = {
    app_secret: certificate.appSecret,
    certificate: certificate.certificate,
    extra: certificate.extra,
  }
  const fields = {
    name: certificate.name,
    vendorAppId: certificate.appId,
    vendorAppKey: certificate.appKey,
    sealed: sealer.seal(JSON.stringify(secrets), boundTo(certificate)),
    expiresAt: certificate.expiresAt === undefined ? null : new Date(certificate.expiresAt),
  }
  const upsert = db.prisma.certificate.upsert({
    where: { appId_channel_environment: keyOf(certificate) },
    create: { ...keyOf(certificate), ...fields, callbackKey: randomBytes(16).toString('base64url') },
    update: {
      ...fields,
      version: { increment: 1 },
      state: 'open',
      lastError: null,
      lastErrorAt: null,
      updatedAt: new Date(),
    },
  })
  // A pass minted with the former secret would hide that the new one is wrong; nor do answers about tokens count for it.
  const [row] = await db.prisma.$transaction([
    upsert,
    db.prisma.vendorSession.deleteMany({ where: { certificate: keyOf(certificate) } }),
    db.prisma.tokenWindow.deleteMany({ where: { certificate: keyOf(certificate) } }),
  ])
  return unseal(row, sealer)
}

export async function removeCertificate(db: Database, place: CertificatePlace): Promise<boolean> {
  const { count } = await db.prisma.certificate.deleteMany({ where: keyOf(place) })
  return count > 0
}

/**
 * Takes the channel out of service with the vendor's reason. With `version`, a certificate saved since then stays open: the
 * trouble was the old credential's. Answers whether it was open until now.
 */
export async function closeCertificate(
  db: Database,
  id: number,
  reason: string,
  version?: number,
): Promise<boolean> {
  const { rowCount } = await db.pool.query(
    // One that is closed keeps its time: the feeder tells by it which batches have been offered another channel.
    `UPDATE certificate SET state = 'closed', last_error = $2, last_error_at = now()
     WHERE id = $1 AND state <> 'closed' AND ($3::int IS NULL OR version = $3)`,
    [id, reason, version ?? null],
  )
  return rowCount === 1
}

/** The version rises too: transports that remember the refusal are opened afresh. */
export async function reopenCertificate(db: Database, id: number): Promise<boolean> {
  const { rowCount } = await db.pool.query(
    // What vendors said of tokens under the old credential is no ground to suspect the new one.
    `WITH forgotten AS (DELETE FROM token_window WHERE certificate_id = $1)
     UPDATE certificate SET state = 'open', last_error = NULL, last_error_at = NULL, version = version + 1
     WHERE id = $1 AND state <> 'open'`,
    [id],
  )
  return rowCount === 1
}

/** Remembers a vendor's complaint without closing the channel. */
export async function noteCertificateError(db: Database, id: number, reason: string): Promise<void> {
  await db.pool.query('UPDATE certificate SET last_error = $2, last_error_at = now() WHERE id = $1', [
    id,
    reason,
  ])
}

function keyOf(place: CertificatePlace) {
  return {
    appId: place.application,
    channel: place.channel as string,
    environment: environmentNumber(place.environment),
  }
}

/** A sealed value copied into another tenant's or channel's row does not open. */
function boundTo(place: CertificatePlace): string {
  return `certificate/${place.application}/${place.channel}/${place.environment}`
}

function unseal(row: Certificate, sealer: Sealer): StoredCertificate {
  const place: CertificatePlace = {
    application: row.appId,
    channel: row.channel as VendorChannel,
    environment: environmentOf(row.environment),
  }
  const secrets = JSON.parse(sealer.open(row.sealed, boundTo(place))) as Secrets
  return {
    ...place,
    id: Number(row.id),
    name: row.name,
    appId: row.vendorAppId,
    appKey: row.vendorAppKey,
    appSecret: secrets.app_secret,
    certificate: secrets.certificate,
    extra: secrets.extra,
    version: row.version,
    state: row.state as CertificateState,
    callbackKey: row.callbackKey,
    lastError: row.lastError ?? undefined,
    lastErrorAt: row.lastErrorAt?.getTime(),
    expiresAt: row.expiresAt?.getTime(),
  }
}
