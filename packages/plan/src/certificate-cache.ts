import { keepReads } from '@herald/async'
import { CertificateProblem, type ChannelAdapter } from '@herald/channels'
import {
  type Breaker,
  breakersOf,
  certificateOwner,
  certificatesOf,
  holdsOf,
  type StoredCertificate,
  type StoredHold,
} from '@herald/db/certificates'
import { type Database, SealBroken, type Sealer } from '@herald/db/store'
import { type Application, changesOf, findApplication } from '@herald/db/tenants'
import {
  cardOf,
  type Environment,
  environmentOf,
  ownReasons,
  pickRegion,
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
  /** Set while the vendor does not answer the requests of this certificate. */
  breaker?: Breaker
  /** Parts that the vendor refused or whose quota is used up; ended ones are included for a day. */
  holds: readonly StoredHold[]
}

/** A certificate that cannot be used, and the reason. */
export type Unusable = {
  problem: Reason
  removed?: true
  /** Id of a certificate that no key opens: its batches wait until the settings have the key, or it is saved again. */
  sealedId?: number
}

export type ApplicationCertificates = {
  applicationName: string
  /**
   * Returns the certificate for a binding of this environment and region, or why there is none. Without a development certificate
   * production is used, unless tokens of the vendor belong to one environment. `region` is unset if the binding has none.
   */
  serving(channel: VendorChannel, environment: number, region?: string): ReadCertificate | Unusable
  byId(id: number): ReadCertificate | Unusable
}

export type CertificateCache = {
  of(appId: string): Promise<ApplicationCertificates>
  byId(id: number): Promise<ReadCertificate | Unusable>
  /** The holds of a certificate as they were read last; reads memory only. */
  knownHolds(id: number): readonly StoredHold[]
  /** Makes the next read fresh, after a change made by this process. Other processes see it within a second. */
  forget(appId: string): void
}

/** Changes are reported (changesOf). Nothing is used for longer than this, in case a change was not, such as one made without triggers. */
const MAX_AGE_MS = 3_600_000
/** Applications whose certificates are kept, with parsed keys: some kilobytes each. */
const MAX_APPLICATIONS = 20_000
const MAX_OWNERS = 100_000

/**
 * Keeps certificates until they change: unsealing and parsing keys for each job would cost a worker a tenth of its time. What has
 * changed is asked once per second for all applications, so that a push costs no statement here, whatever their number.
 */
export function createCertificateCache(deps: {
  db: Database
  sealer: Sealer
  adapters: Readonly<Partial<Record<VendorChannel, ChannelAdapter>>>
  publicUrl?: string
}): CertificateCache {
  const changes = changesOf(deps.db)
  const applications = keepReads<string, ApplicationCertificates>({
    read: readApplication,
    maxKeys: MAX_APPLICATIONS,
    maxAgeMs: MAX_AGE_MS,
  })
  changes.onApplications(({ all, ids }) => {
    if (all) applications.forgetAll()
    else for (const appId of ids) applications.forget(appId)
  })
  /** Needs no expiry: a certificate never changes its application, and ids are not reused. */
  const owners = new Map<number, string>()
  const holdsById = new Map<number, readonly StoredHold[]>()

  function readOne(
    stored: StoredCertificate,
    application: Application | undefined,
    health: Pick<ReadCertificate, 'breaker' | 'holds'>,
  ): ReadCertificate | Unusable {
    if (stored.sealBroken)
      return { problem: ownReasons.certificate_invalid(new SealBroken().message), sealedId: stored.id }
    const adapter = deps.adapters[stored.channel]
    if (!adapter) return { problem: ownReasons.channel_not_installed(publicName(stored.channel)) }
    try {
      return {
        stored,
        adapter,
        settings: adapter.readSettings({
          ...stored,
          extra: withCap(stored.extra, application?.perDevicePerDay),
          packageName: application?.packageName,
        }),
        callbackUrl: callbackUrlOf(stored, deps.publicUrl),
        ...health,
      }
    } catch (error) {
      if (error instanceof CertificateProblem)
        return { problem: ownReasons.certificate_invalid(error.message) }
      throw error
    }
  }

  async function readApplication(appId: string): Promise<ApplicationCertificates> {
    const [application, certificates, breakers, holds] = await Promise.all([
      findApplication(deps.db, appId),
      certificatesOf(deps.db, deps.sealer, appId),
      breakersOf(deps.db, appId),
      holdsOf(deps.db, appId),
    ])
    const read = new Map<string, Map<string | undefined, ReadCertificate | Unusable>>()
    const byId = new Map<number, ReadCertificate | Unusable>()
    for (const stored of certificates) {
      const health = { breaker: breakers.get(stored.id), holds: holds.get(stored.id) ?? noHolds }
      const one = readOne(stored, application, health)
      if (health.holds.length > 0) holdsById.set(stored.id, health.holds)
      else holdsById.delete(stored.id)
      const place = `${stored.channel}:${stored.environment}`
      const regions = read.get(place) ?? new Map<string | undefined, ReadCertificate | Unusable>()
      read.set(place, regions.set(stored.region, one))
      byId.set(stored.id, one)
    }
    return {
      applicationName: application?.name ?? '',
      byId: (id) => byId.get(id) ?? removed,
      serving(channel, environment, region) {
        const wanted = environmentOf(environment)
        const ofEnvironment = (name: Environment) => {
          const regions = read.get(`${channel}:${name}`)
          return regions && pickRegion(channel, regions, region)
        }
        const found =
          ofEnvironment(wanted) ??
          (cardOf(channel).environmentBound ? undefined : ofEnvironment('production'))
        return found ?? { problem: ownReasons.no_certificate(publicName(channel), wanted, region) }
      },
    }
  }

  async function of(appId: string): Promise<ApplicationCertificates> {
    await changes.refreshed()
    return applications.get(appId)
  }

  return {
    of,
    async byId(id) {
      const owner = owners.get(id) ?? (await certificateOwner(deps.db, id))
      if (owner === undefined) return removed
      if (owners.size >= MAX_OWNERS) owners.clear()
      owners.set(id, owner)
      return (await of(owner)).byId(id)
    },
    knownHolds: (id) => holdsById.get(id) ?? noHolds,
    forget: applications.forget,
  }
}

/** The application's cap applies where the certificate has none of its own. */
function withCap(extra: Record<string, unknown>, perDevicePerDay: number | undefined) {
  const own = (extra.limits ?? {}) as Record<string, unknown>
  if (perDevicePerDay === undefined || (own.per_device_per_day ?? '') !== '') return extra
  return { ...extra, limits: { ...own, per_device_per_day: perDevicePerDay } }
}

const noHolds: readonly StoredHold[] = []
const removed: Unusable = { problem: ownReasons.certificate_removed, removed: true }

/** Returns undefined without a public URL, and for a URL longer than the 128 bytes that vendors accept. */
export function callbackUrlOf(
  stored: Pick<StoredCertificate, 'channel' | 'application' | 'callbackKey'>,
  publicUrl: string | undefined,
): string | undefined {
  if (!publicUrl) return undefined
  const url = `${publicUrl}/callback/${publicName(stored.channel)}/${stored.application}/${stored.callbackKey}`
  return Buffer.byteLength(url) <= 128 ? url : undefined
}
