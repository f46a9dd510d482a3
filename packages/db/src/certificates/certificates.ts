import { createHash, randomBytes } from 'node:crypto'
import { type Environment, environmentNumber, environmentOf, type VendorChannel } from '@herald/domain'
import type { Certificate } from '../generated/client.ts'
import type { Database } from '../store/database.ts'
import { SealBroken, type Sealer } from '../store/seal.ts'
import { run } from '../store/statement.ts'
import { isClearTextNeeded } from '../store/upgrade-window.ts'

export type CertificateState = 'open' | 'closed' | 'suspect'

/** A certificate with its secrets in plain text. Never log it. */
export type StoredCertificate = NewCertificate & {
  id: number
  /** Rises with every save. Transports opened for an older version must be closed. */
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
  /** When the credentials expire, Unix ms. */
  expiresAt?: number
}

/** One record per application, channel and environment. */
export type CertificatePlace = { application: string; channel: VendorChannel; environment: Environment }

type Secrets = { app_secret: string; certificate: string; extra: Record<string, unknown> }

/** A text that changes with every change of the application or its certificates. Costs a hundredth of reading them. */
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

/** Without a check of the application: for the pipeline, whose batches have the id of their certificate. */
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

/**
 * Inserts or replaces. A replaced certificate keeps its id and callback key, gets the next version and is open again. A callback
 * key that was sealed with a lost master key is replaced: saving again is how an operator recovers from the loss.
 */
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
  const callbackKey = randomBytes(16).toString('base64url')
  const newKey = {
    ...hiddenKey(callbackKey, certificate, sealer),
    ...((await isClearTextNeeded(db.pool)) && { callbackKey }),
  }
  const known = await db.prisma.certificate.findUnique({
    where: { appId_channel_environment: keyOf(certificate) },
  })
  const upsert = db.prisma.certificate.upsert({
    where: { appId_channel_environment: keyOf(certificate) },
    create: {
      ...keyOf(certificate),
      ...fields,
      ...newKey,
    },
    update: {
      ...fields,
      ...(known && !canOpenKey(known, sealer) && newKey),
      version: { increment: 1 },
      state: 'open',
      lastError: null,
      lastErrorAt: null,
      updatedAt: new Date(),
    },
  })
  // An access token of the former secret would hide that the new secret is wrong. Answers about tokens are forgotten too.
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
 * Stops sending with this certificate, with the vendor's reason. With `version`, a certificate that was saved since stays open,
 * because the reason concerned the old credentials. Returns whether it was open.
 */
export async function closeCertificate(
  db: Database,
  id: number,
  reason: string,
  version?: number,
): Promise<boolean> {
  const { rowCount } = await db.pool.query(
    // A closed one keeps its last_error_at: by it the feeder knows which batches were released since it was closed.
    `UPDATE certificate SET state = 'closed', last_error = $2, last_error_at = now()
     WHERE id = $1 AND state <> 'closed' AND ($3::int IS NULL OR version = $3)`,
    [id, reason, version ?? null],
  )
  return rowCount === 1
}

/** Raises the version too, so that transports which remember the refusal are opened again. */
export async function reopenCertificate(db: Database, id: number): Promise<boolean> {
  const { rowCount } = await db.pool.query(
    // Answers about tokens before the fix must not make the certificate suspect.
    `WITH forgotten AS (DELETE FROM token_window WHERE certificate_id = $1)
     UPDATE certificate SET state = 'open', last_error = NULL, last_error_at = NULL, version = version + 1
     WHERE id = $1 AND state <> 'open'`,
    [id],
  )
  return rowCount === 1
}

/** Stores a vendor's error without closing the certificate. */
export async function recordCertificateError(db: Database, id: number, reason: string): Promise<void> {
  await db.pool.query('UPDATE certificate SET last_error = $2, last_error_at = now() WHERE id = $1', [
    id,
    reason,
  ])
}

/** Replaces callback keys in clear text, of the release before, by a hash and a sealed copy; returns how many. */
export async function hideCallbackKeys(db: Database, sealer: Sealer): Promise<number> {
  const rows = await db.prisma.certificate.findMany({ where: { callbackKey: { not: null } } })
  for (const { id, callbackKey, ...row } of rows)
    await db.prisma.certificate.updateMany({
      where: { id, callbackKey },
      data: { ...hiddenKey(callbackKey!, placeOf(row), sealer), callbackKey: null },
    })
  return rows.length
}

function hiddenKey(callbackKey: string, place: CertificatePlace, sealer: Sealer) {
  return {
    callbackKeyHash: createHash('sha256').update(callbackKey).digest() as Buffer<ArrayBuffer>,
    callbackKeySealed: sealer.seal(callbackKey, `callback-key/${pathOf(place)}`),
  }
}

function callbackKeyOf(row: Certificate, sealer: Sealer): string {
  return row.callbackKey ?? sealer.open(row.callbackKeySealed!, `callback-key/${pathOf(placeOf(row))}`)
}

function canOpenKey(row: Certificate, sealer: Sealer): boolean {
  try {
    callbackKeyOf(row, sealer)
    return true
  } catch (error) {
    if (error instanceof SealBroken) return false
    throw error
  }
}

function keyOf(place: CertificatePlace) {
  return {
    appId: place.application,
    channel: place.channel as string,
    environment: environmentNumber(place.environment),
  }
}

/** A sealed value that is copied to another application's or channel's row does not open. */
function boundTo(place: CertificatePlace): string {
  return `certificate/${pathOf(place)}`
}

function pathOf(place: CertificatePlace): string {
  return `${place.application}/${place.channel}/${place.environment}`
}

function placeOf(row: Pick<Certificate, 'appId' | 'channel' | 'environment'>): CertificatePlace {
  return {
    application: row.appId,
    channel: row.channel as VendorChannel,
    environment: environmentOf(row.environment),
  }
}

function unseal(row: Certificate, sealer: Sealer): StoredCertificate {
  const place = placeOf(row)
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
    callbackKey: callbackKeyOf(row, sealer),
    lastError: row.lastError ?? undefined,
    lastErrorAt: row.lastErrorAt?.getTime(),
    expiresAt: row.expiresAt?.getTime(),
  }
}
