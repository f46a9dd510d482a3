import { shareReads } from '@herald/async'
import { CertificateProblem, type ChannelAdapter } from '@herald/channels'
import {
  certificateById,
  certificatesOf,
  certificatesStamp,
  type StoredCertificate,
} from '@herald/db/certificates'
import type { Database, Sealer } from '@herald/db/store'
import { type Application, findApplication } from '@herald/db/tenants'
import {
  cardOf,
  environmentOf,
  ownReasons,
  publicName,
  type Reason,
  type VendorChannel,
} from '@herald/domain'

/** A certificate with its adapter and the settings as the adapter read them. */
export type ReadCertificate = {
  stored: StoredCertificate
  adapter: ChannelAdapter
  settings: unknown
  /** URL to which the vendor sends receipts; undefined without a public URL. */
  callbackUrl?: string
}

/** A certificate that cannot be used, and the reason. */
export type Unusable = { problem: Reason; removed?: true }

export type ApplicationCertificates = {
  applicationName: string
  /**
   * Returns the certificate for a binding of this environment, or why there is none. Without a development certificate
   * production is used, unless tokens of the vendor belong to one environment.
   */
  serving(channel: VendorChannel, environment: number): ReadCertificate | Unusable
  byId(id: number): ReadCertificate | Unusable
}

export type CertificateCache = {
  of(appId: string): Promise<ApplicationCertificates>
  byId(id: number): Promise<ReadCertificate | Unusable>
  /** Makes the next read fresh, after a change made by this process. Other processes see it within a second. */
  forget(appId: string): void
}

/** How long this process may use a certificate that another process has changed. */
const MAX_AGE_MS = 1000

/**
 * Reads certificates through a short cache. Certificates whose stamp is unchanged are not opened again: unsealing and parsing
 * keys every second would cost each worker a tenth of its time.
 */
export function createCertificateCache(deps: {
  db: Database
  sealer: Sealer
  adapters: Readonly<Partial<Record<VendorChannel, ChannelAdapter>>>
  publicUrl?: string
}): CertificateCache {
  const applications = shareReads<string, ApplicationCertificates & { stamp: string }>({
    async read(appId, previous) {
      const stamp = await certificatesStamp(deps.db, appId)
      return previous?.stamp === stamp ? previous : { ...(await readApplication(appId)), stamp }
    },
    maxAgeMs: MAX_AGE_MS,
    maxKeys: 10_000,
  })
  /** Needs no expiry: a certificate never changes its application, and ids are not reused. */
  const owners = new Map<number, string>()

  function readOne(
    stored: StoredCertificate,
    application: Application | undefined,
  ): ReadCertificate | Unusable {
    const adapter = deps.adapters[stored.channel]
    if (!adapter) return { problem: ownReasons.channel_not_installed(publicName(stored.channel)) }
    try {
      return {
        stored,
        adapter,
        settings: adapter.readSettings({ ...stored, packageName: application?.packageName }),
        callbackUrl: callbackUrlOf(stored, deps.publicUrl),
      }
    } catch (error) {
      if (error instanceof CertificateProblem)
        return { problem: ownReasons.certificate_invalid(error.message) }
      throw error
    }
  }

  async function readApplication(appId: string): Promise<ApplicationCertificates> {
    const [application, certificates] = await Promise.all([
      findApplication(deps.db, appId),
      certificatesOf(deps.db, deps.sealer, appId),
    ])
    const read = new Map<string, ReadCertificate | Unusable>()
    const byId = new Map<number, ReadCertificate | Unusable>()
    for (const stored of certificates) {
      const one = readOne(stored, application)
      read.set(`${stored.channel}:${stored.environment}`, one)
      byId.set(stored.id, one)
    }
    return {
      applicationName: application?.name ?? '',
      byId: (id) => byId.get(id) ?? removed,
      serving(channel, environment) {
        const wanted = environmentOf(environment)
        const found =
          read.get(`${channel}:${wanted}`) ??
          (cardOf(channel).environmentBound ? undefined : read.get(`${channel}:production`))
        return found ?? { problem: ownReasons.no_certificate(publicName(channel), wanted) }
      },
    }
  }

  return {
    of: applications.get,
    async byId(id) {
      const owner = owners.get(id) ?? (await certificateById(deps.db, deps.sealer, id))?.application
      if (owner === undefined) return removed
      owners.set(id, owner)
      return (await applications.get(owner)).byId(id)
    },
    forget: applications.forget,
  }
}

const removed: Unusable = { problem: ownReasons.certificate_removed, removed: true }

/** Returns undefined without a public URL, and for a URL longer than the 128 bytes that vendors accept. */
export function callbackUrlOf(
  stored: Pick<StoredCertificate, 'channel' | 'application' | 'callbackKey'>,
  publicUrl: string | undefined,
): string | undefined {
  if (!publicUrl) return undefined
  const url = `${publicUrl.replace(/\/+$/, '')}/callback/${publicName(stored.channel)}/${stored.application}/${stored.callbackKey}`
  return Buffer.byteLength(url) <= 128 ? url : undefined
}
