import type { ChannelAdapter, CheckResult, Transport, TransportDeps } from '@herald/channels'
import { askVendor } from '@herald/program'

/** A certificate with the data from which its transport is opened. */
export type Credential = { id: number; version: number; adapter: ChannelAdapter; settings: unknown }

export type Transports = {
  /** Runs `work` with the transport of this version of the certificate; an older one is closed after its last use. */
  use<T>(credential: Credential, work: (transport: Transport<unknown>) => Promise<T>): Promise<T>
  /** Asks the vendor whether it accepts the credentials, over a transport of its own. */
  check(credential: Credential): Promise<CheckResult>
  /** The next use opens a new transport: connections that the vendor refused are not used again. */
  renew(certificateId: number): void
  close(): Promise<void>
}

type Entry = {
  version: number
  transport: Transport<unknown>
  users: number
  usedAt: number
  retired: boolean
}

export type TransportLimits = {
  /** Maximum number of open transports. It is exceeded only while all of them have calls in progress. */
  max: number
  idleMs: number
}

const SWEEP_MS = 60_000

/**
 * Keeps one open transport per certificate, so that connections and access tokens are reused. With thousands of applications, the
 * ones used longest ago are closed; none that has calls in progress.
 */
export function createTransports(
  depsOf: (certificateId: number) => TransportDeps,
  onCloseError: (error: unknown) => void,
  { max, idleMs }: TransportLimits,
): Transports {
  /** In the order of their last use. */
  const entries = new Map<number, Entry>()
  const sweep = setInterval(() => {
    const oldest = performance.now() - idleMs
    for (const [id, entry] of entries) if (entry.users === 0 && entry.usedAt <= oldest) drop(id, entry)
  }, SWEEP_MS).unref()

  const closeIfIdle = (entry: Entry) => {
    if (entry.retired && entry.users === 0) entry.transport.close().catch(onCloseError)
  }
  const drop = (id: number, entry: Entry) => {
    entries.delete(id)
    entry.retired = true
    closeIfIdle(entry)
  }

  function dropExcess(): void {
    if (entries.size <= max) return
    for (const [id, entry] of entries) {
      if (entry.users > 0) continue
      drop(id, entry)
      if (entries.size <= max) return
    }
  }

  return {
    async use(credential, work) {
      const { id, version, adapter, settings } = credential
      let entry = entries.get(id)
      if (!entry || entry.version < version) {
        if (entry) drop(id, entry)
        const transport = adapter.open(settings, depsOf(id))
        entry = { version, transport, users: 0, usedAt: 0, retired: false }
      }
      entry.users++
      entry.usedAt = performance.now()
      // Deleted first, so that the map stays in the order of use.
      entries.delete(id)
      entries.set(id, entry)
      dropExcess()
      try {
        return await work(entry.transport)
      } finally {
        entry.users--
        entry.usedAt = performance.now()
        closeIfIdle(entry)
        dropExcess()
      }
    },
    check: ({ id, adapter, settings }) => askVendor(adapter, settings, depsOf(id)),
    renew(certificateId) {
      const entry = entries.get(certificateId)
      if (entry) drop(certificateId, entry)
    },
    async close() {
      clearInterval(sweep)
      const open = [...entries.values()]
      entries.clear()
      await Promise.all(open.map(({ transport }) => transport.close().catch(onCloseError)))
    },
  }
}
