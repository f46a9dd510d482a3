import { createHash, randomBytes } from 'node:crypto'
import {
  type Environment,
  environmentNumber,
  environmentOf,
  pickRegion,
  publicName,
  regionOfExtra,
  usualRegion,
  type VendorChannel,
} from '@herald/domain'
import type { Certificate } from '../generated/client.ts'
import { addAudit, auditRow, type By } from '../ledger/audit-rows.ts'
import { addReopenedSql } from '../ledger/certificate-events.ts'
import type { Database } from '../store/database.ts'
import { SealBroken, type Sealer } from '../store/seal.ts'
import { fields, inPrismaTransaction, inTransaction, run } from '../store/statement.ts'
import { isClearTextNeeded } from '../store/upgrade-window.ts'
import { reopenedEntry, secondsOf } from './certificate-state.ts'

export type CertificateState = 'open' | 'closed' | 'suspect'

/** A certificate with its secrets in plain text. Never log it. */
export type StoredCertificate = NewCertificate & {
  id: number
  /** Undefined for vendors without regions. */
  region?: string
  /** Rises with every save. Transports opened for an older version must be closed. */
  version: number
  state: CertificateState
  callbackKey: string
  lastError?: string
  /** Unix ms. */
  lastErrorAt?: number
  /** When the vendor first refused it without accepting a request since, Unix ms. */
  refusedAt?: number
  /** Of a closed one: when it was closed and when it is checked next, Unix ms, and how often it was. */
  closedAt?: number
  probeAt?: number
  probes: number
  /** Why and when the last check failed that a person asked for; unset by one that succeeds and by a save. */
  checkError?: string
  checkErrorAt?: number
  /** None of the keys opens its secrets, which are empty here: a key is missing in the settings, or it must be saved again. */
  sealBroken?: true
}

/** `extra.region` determines the region. */
export type NewCertificate = Omit<CertificatePlace, 'region'> & {
  name: string
  appId: string
  appKey: string
  appSecret: string
  certificate: string
  extra: Record<string, unknown>
  /** When the credentials expire, Unix ms. */
  expiresAt?: number
}

/** One record per application, channel, environment and region. */
export type CertificatePlace = {
  application: string
  channel: VendorChannel
  environment: Environment
  /** Unset: the only record of the environment, or that of the vendor's usual region. */
  region?: string
}

/** What identifies the row. `region` is empty for the usual one. */
type RowPlace = Pick<Certificate, 'appId' | 'channel' | 'environment' | 'region'>

/** What this file reads of a row. */
type CertificateRow = Omit<
  Certificate,
  'id' | 'callbackKeyHash' | 'toldExpiry' | 'toldDays' | 'createdAt' | 'updatedAt'
> & {
  id: number | bigint
}

// Every program reads certificates. With Prisma each process would need 0.3 s of CPU time and 15 MB for its query compiler.
const certificateFields = fields<CertificateRow>({
  id: 'id',
  appId: 'app_id',
  channel: 'channel',
  environment: 'environment',
  region: 'region',
  name: 'name',
  vendorAppId: 'vendor_app_id',
  vendorAppKey: 'vendor_app_key',
  sealed: 'sealed',
  callbackKey: 'callback_key',
  callbackKeySealed: 'callback_key_sealed',
  version: 'version',
  state: 'state',
  lastError: 'last_error',
  lastErrorAt: 'last_error_at',
  refusedAt: 'refused_at',
  closedAt: 'closed_at',
  probeAt: 'probe_at',
  probes: 'probes',
  checkError: 'check_error',
  checkErrorAt: 'check_error_at',
  expiresAt: 'expires_at',
})

type Secrets = { app_secret: string; certificate: string; extra: Record<string, unknown> }

export async function certificatesOf(
  db: Database,
  sealer: Sealer,
  application: string,
): Promise<StoredCertificate[]> {
  const rows = await run(
    db.pool,
    'certificates-of',
    `SELECT ${certificateFields.sql} FROM certificate WHERE app_id = $1 ORDER BY channel, environment DESC, region`,
    [application],
  )
  return rows.map((one) => unseal(certificateFields.read(one), sealer))
}

/** Returns the application of a certificate; it never changes, and ids are not reused. */
export async function certificateOwner(db: Database, id: number): Promise<string | undefined> {
  const [row] = await run<[string]>(
    db.pool,
    'certificate-owner',
    'SELECT app_id FROM certificate WHERE id = $1',
    [id],
  )
  return row?.[0]
}

/** Returns the certificate to a person. The entry of the audit is committed before its secrets are returned. */
export async function readCertificate(
  db: Database,
  sealer: Sealer,
  place: CertificatePlace,
  by: By,
): Promise<StoredCertificate | undefined> {
  const found = await certificateAt(db, sealer, place)
  if (found)
    await addAudit(db.pool, {
      appId: place.application,
      by,
      action: 'certificate.read',
      detail: auditedPlace(found),
    })
  return found
}

export async function certificateAt(
  db: Database,
  sealer: Sealer,
  place: CertificatePlace,
): Promise<StoredCertificate | undefined> {
  const found = await recordAt(db, sealer, place)
  if (found?.sealBroken) throw new SealBroken()
  return found
}

async function recordAt(
  db: Database,
  sealer: Sealer,
  place: CertificatePlace,
): Promise<StoredCertificate | undefined> {
  const { appId, channel, environment } = rowPlaceOf(place)
  const rows = await run(
    db.pool,
    'certificates-at',
    `SELECT ${certificateFields.sql} FROM certificate WHERE app_id = $1 AND channel = $2 AND environment = $3`,
    [appId, channel, environment],
  )
  const stored = rows.map((one) => unseal(certificateFields.read(one), sealer))
  const byRegion = new Map(stored.map((one) => [one.region, one]))
  return place.region === undefined
    ? pickRegion(place.channel, byRegion, undefined)
    : byRegion.get(place.region)
}

/**
 * Inserts or replaces. A replaced certificate keeps its id and callback key, gets the next version and is open again. A callback
 * key that was sealed with a lost master key is replaced: saving again is how an operator recovers from the loss.
 */
export async function saveCertificate(
  db: Database,
  sealer: Sealer,
  certificate: NewCertificate,
  by?: By,
): Promise<StoredCertificate & { wasClosed: boolean }> {
  const secrets: Secrets = {
    app_secret: certificate.appSecret,
    certificate: certificate.certificate,
    extra: certificate.extra,
  }
  const place = rowPlaceOf({
    ...certificate,
    region: regionOfExtra(certificate.channel, certificate.extra),
  })
  await storeFormerRegion(db, sealer, place)
  // Programs of the previous release need it to save a certificate; it allows one region only.
  if (place.region !== '') await db.pool.query('DROP INDEX IF EXISTS certificate_one')
  const fields = {
    name: certificate.name,
    vendorAppId: certificate.appId,
    vendorAppKey: certificate.appKey,
    sealed: sealer.seal(JSON.stringify(secrets), boundTo(place)),
    expiresAt: certificate.expiresAt === undefined ? null : new Date(certificate.expiresAt),
  }
  const callbackKey = randomBytes(16).toString('base64url')
  const newKey = {
    ...hiddenKey(callbackKey, place, sealer),
    ...((await isClearTextNeeded(db.pool)) && { callbackKey }),
  }
  const known = await db.prisma.certificate.findUnique({
    where: { appId_channel_environment_region: place },
  })
  const wasClosed = known?.state === 'closed'
  // An access token of the former secret would hide that the new secret is wrong. Answers about tokens are forgotten too.
  const row = await inPrismaTransaction(db, async (prisma) => {
    const saved = await prisma.certificate.upsert({
      where: { appId_channel_environment_region: place },
      create: {
        ...place,
        ...fields,
        ...newKey,
      },
      update: {
        ...fields,
        ...(known && callbackKeyOf(known, sealer) === undefined && newKey),
        version: { increment: 1 },
        state: 'open',
        lastError: null,
        lastErrorAt: null,
        refusedAt: null,
        closedAt: null,
        probeAt: null,
        probes: 0,
        checkError: null,
        checkErrorAt: null,
        updatedAt: new Date(),
      },
    })
    const certificateId = saved.id
    await prisma.vendorSession.deleteMany({ where: { certificateId } })
    await prisma.tokenWindow.deleteMany({ where: { certificateId } })
    await prisma.breaker.deleteMany({ where: { certificateId } })
    await prisma.certificateHold.deleteMany({ where: { certificateId } })
    if (known && wasClosed) {
      await prisma.audit.create({ data: auditRow(reopenedEntry(known, by)) })
      await prisma.$executeRawUnsafe(addReopenedSql, certificateId, secondsOf(known.closedAt))
    }
    if (by) {
      const detail = { ...auditedPlace(storedOf(saved, secrets, '')), version: saved.version }
      await prisma.audit.create({
        data: auditRow({ appId: place.appId, by, action: 'certificate.save', detail }),
      })
    }
    return saved
  })
  return { ...unseal(row, sealer), wasClosed }
}

/** What the audit records of a certificate's place. */
function auditedPlace({ channel, environment, region }: CertificatePlace) {
  return { channel: publicName(channel), environment, ...(region !== undefined && { region }) }
}

/**
 * Stores the region of a record that was saved before records had one: its row is that of the usual region, and the record to be
 * saved there would replace it. Until then readers take the region from `extra`, so programs of the previous release can still open it.
 */
async function storeFormerRegion(db: Database, sealer: Sealer, place: RowPlace): Promise<void> {
  const row = await db.prisma.certificate.findUnique({
    where: { appId_channel_environment_region: { ...place, region: '' } },
  })
  const stored = row && unseal(row, sealer)
  if (!stored || stored.sealBroken) return
  const actual = rowPlaceOf(stored)
  if (actual.region === '') return
  await db.prisma.certificate.updateMany({
    where: { id: row.id, version: row.version, region: '' },
    data: {
      region: actual.region,
      sealed: sealer.seal(sealer.open(row.sealed, boundTo(row)), boundTo(actual)),
      ...(row.callbackKey === null && hiddenKey(stored.callbackKey, actual, sealer)),
    },
  })
}

/** Returns the region of the removed record, if there was one. */
export async function removeCertificate(
  db: Database,
  sealer: Sealer,
  place: CertificatePlace,
  by?: By,
): Promise<Pick<StoredCertificate, 'region'> | undefined> {
  const found = await recordAt(db, sealer, place)
  if (!found) return undefined
  return inTransaction(db, async (runner) => {
    const { rowCount } = await runner.query('DELETE FROM certificate WHERE id = $1', [found.id])
    if (rowCount === 0) return undefined
    const appId = place.application
    if (by) await addAudit(runner, { appId, by, action: 'certificate.remove', detail: auditedPlace(found) })
    return { region: found.region }
  })
}

/** Returns the certificates that a callback address may belong to; the caller compares the SHA-256 of the key. */
export async function callbackKeys(
  db: Database,
  appId: string,
  channel: VendorChannel,
): Promise<{ certificateId: number; keyHash: Buffer }[]> {
  const { rows } = await db.pool.query<{ certificateId: number; keyHash: Buffer }>({
    name: 'callback-keys',
    text: `SELECT id AS "certificateId", COALESCE(callback_key_hash, sha256(callback_key::bytea)) AS "keyHash"
      FROM certificate WHERE app_id = $1 AND channel = $2`,
    values: [appId, channel],
  })
  return rows
}

/** Replaces callback keys in clear text, of the previous release, by a hash and a sealed copy; returns how many. */
export async function hideCallbackKeys(db: Database, sealer: Sealer): Promise<number> {
  const rows = await run(
    db.pool,
    'clear-callback-keys',
    `SELECT ${certificateFields.sql} FROM certificate WHERE callback_key IS NOT NULL`,
    [],
  )
  for (const { id, callbackKey, ...row } of rows.map(certificateFields.read)) {
    const { callbackKeyHash, callbackKeySealed } = hiddenKey(callbackKey!, row, sealer)
    await run(
      db.pool,
      'hide-callback-key',
      `UPDATE certificate SET callback_key = NULL, callback_key_hash = $3, callback_key_sealed = $4 WHERE id = $1 AND callback_key = $2`,
      [id, callbackKey, callbackKeyHash, callbackKeySealed],
    )
  }
  return rows.length
}

function hiddenKey(callbackKey: string, place: RowPlace, sealer: Sealer) {
  return {
    callbackKeyHash: createHash('sha256').update(callbackKey).digest() as Buffer<ArrayBuffer>,
    callbackKeySealed: sealer.seal(callbackKey, `callback-key/${pathOf(place)}`),
  }
}

/** Undefined if it cannot be opened. */
function callbackKeyOf(row: CertificateRow, sealer: Sealer): string | undefined {
  return row.callbackKey ?? sealer.tryOpen(row.callbackKeySealed!, `callback-key/${pathOf(row)}`)
}

function rowPlaceOf({ application, channel, environment, region }: CertificatePlace): RowPlace {
  return {
    appId: application,
    channel: channel as string,
    environment: environmentNumber(environment),
    region: region === undefined || region === usualRegion(channel) ? '' : region,
  }
}

/** A sealed value that is copied to another application's, channel's or region's row does not open. */
function boundTo(place: RowPlace): string {
  return `certificate/${pathOf(place)}`
}

/** Without the usual region: rows of the previous release, which knew none, must still open. */
function pathOf({ appId, channel, environment, region }: RowPlace): string {
  return `${appId}/${channel}/${environmentOf(environment)}${region && `/${region}`}`
}

/** One certificate that cannot be opened must not stop the others of its application. */
function unseal(row: CertificateRow, sealer: Sealer): StoredCertificate {
  const secrets = sealer.tryOpen(row.sealed, boundTo(row))
  const callbackKey = callbackKeyOf(row, sealer)
  if (secrets === undefined || callbackKey === undefined)
    return { ...storedOf(row, { app_secret: '', certificate: '', extra: {} }, ''), sealBroken: true }
  return storedOf(row, JSON.parse(secrets) as Secrets, callbackKey)
}

function storedOf(row: CertificateRow, secrets: Secrets, callbackKey: string): StoredCertificate {
  const channel = row.channel as VendorChannel
  return {
    application: row.appId,
    channel,
    environment: environmentOf(row.environment),
    region: row.region || regionOfExtra(channel, secrets.extra),
    id: Number(row.id),
    name: row.name,
    appId: row.vendorAppId,
    appKey: row.vendorAppKey,
    appSecret: secrets.app_secret,
    certificate: secrets.certificate,
    extra: secrets.extra,
    version: row.version,
    state: row.state as CertificateState,
    callbackKey,
    lastError: row.lastError ?? undefined,
    lastErrorAt: row.lastErrorAt?.getTime(),
    refusedAt: row.refusedAt?.getTime(),
    closedAt: row.state === 'closed' ? row.closedAt?.getTime() : undefined,
    probeAt: row.state === 'closed' ? row.probeAt?.getTime() : undefined,
    probes: row.probes,
    checkError: row.checkError ?? undefined,
    checkErrorAt: row.checkErrorAt?.getTime(),
    expiresAt: row.expiresAt?.getTime(),
  }
}
