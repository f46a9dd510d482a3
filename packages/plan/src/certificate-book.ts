import { CertificateProblem, type ChannelAdapter } from '@herald/channels'
import {
  certificateById,
  certificatesOf,
  certificatesStamp,
  type StoredCertificate,
} from '@herald/db/certificates'
import { type Database, environmentOf, type Sealer } from '@herald/db/store'
import { type Application, findApplication } from '@herald/db/tenants'
import { publicName, type VendorChannel } from '@herald/domain'

/** A certificate ready for use: its adapter and its settings as the adapter read them. */
export type ReadCertificate = {
  stored: StoredCertificate
  adapter: ChannelAdapter
  settings: unknown
  /** Where the vendor sends receipts; undefined without a public URL. */
  callbackUrl?: string
}

/** One that cannot be used, and why: a clause. */
export type Unusable = { problem: string; removed?: true }

export type ApplicationCertificates = {
  applicationName: string
  /**
   * The certificate that serves a binding of this environment, or why none does. A missing development certificate falls
   * back to production, but for apns, whose tokens belong to exactly one environment.
   */
  serving(channel: VendorChannel, environment: number): ReadCertificate | Unusable
  byId(id: number): ReadCertificate | Unusable
}

export type CertificateBook = {
  of(appId: string): Promise<ApplicationCertificates>
  byId(id: number): Promise<ReadCertificate | Unusable>
  /** After a change made by this process: the next read is fresh. Other processes notice within a second. */
  forget(appId: string): void
}

/** How long a change of a certificate may go unnoticed by this process. */
const FRESH_MS = 1000

/**
 * Reads certificates through a short cache, one read at a time for each application however many ask. What has not changed is
 * not opened again: unsealing and parsing keys every second would cost each worker a tenth of its time.
 */
export function createCertificateBook(deps: {
  db: Database
  sealer: Sealer
  adapters: Readonly<Partial<Record<VendorChannel, ChannelAdapter>>>
  publicUrl?: string
}): CertificateBook {
  const applications = createCache<string, ApplicationCertificates & { stamp: string }>(
    async (appId, before) => {
      const stamp = await certificatesStamp(deps.db, appId)
      return before?.stamp === stamp ? before : { ...(await readApplication(appId)), stamp }
    },
  )
  /** A certificate never changes its application, and its id is never used again. */
  const owners = new Map<number, string>()

  function readOne(
    stored: StoredCertificate,
    application: Application | undefined,
  ): ReadCertificate | Unusable {
    const adapter = deps.adapters[stored.channel]
    if (!adapter) return { problem: `${publicName(stored.channel)} is not part of this installation` }
    try {
      return {
        stored,
        adapter,
        settings: adapter.readSettings({ ...stored, packageName: application?.packageName }),
        callbackUrl: callbackUrlOf(stored, deps.publicUrl),
      }
    } catch (error) {
      if (error instanceof CertificateProblem) return { problem: error.message }
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
          (channel === 'apns' ? undefined : read.get(`${channel}:production`))
        return found ?? { problem: `${publicName(channel)} has no ${wanted} certificate` }
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

const removed: Unusable = { problem: 'the certificate was removed', removed: true }

/** Undefined without a public URL, or when a vendor would refuse the address for its length. */
export function callbackUrlOf(
  stored: Pick<StoredCertificate, 'channel' | 'application' | 'callbackKey'>,
  publicUrl: string | undefined,
): string | undefined {
  if (!publicUrl) return undefined
  const url = `${publicUrl.replace(/\/+$/, '')}/callback/${publicName(stored.channel)}/${stored.application}/${stored.callbackKey}`
  return Buffer.byteLength(url) <= 128 ? url : undefined
}

function createCache<Key, Value>(read: (key: Key, before?: Value) => Promise<Value>) {
  const entries = new Map<Key, { value: Promise<Value>; known?: Value; until: number }>()
  return {
    get(key: Key): Promise<Value> {
      // Not by the wall clock: set back, it would hide a change for as long.
      const now = performance.now()
      const entry = entries.get(key)
      if (entry && entry.until > now) return entry.value
      const fresh: typeof entry = { value: read(key, entry?.known), until: now + FRESH_MS }
      entries.delete(key)
      entries.set(key, fresh)
      fresh.value.then(
        (value) => {
          fresh.known = value
        },
        // A failed read must not be remembered.
        () => {
          if (entries.get(key) === fresh) entries.delete(key)
        },
      )
      if (entries.size > 10_000) for (const [old, { until }] of entries) if (until <= now) entries.delete(old)
      return fresh.value
    },
    forget: (key: Key) => void entries.delete(key),
  }
}
