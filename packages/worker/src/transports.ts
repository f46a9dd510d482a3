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
  /** Whether it was used since the last sweep. */
  wasUsed: boolean
  retired: boolean
}

/** A transport that is not used between two sweeps is closed: its certificate was removed, or its tenant is idle. */
const IDLE_MS = 3_600_000

/** Keeps one open transport per certificate, so that connections and access tokens are reused. */
export function createTransports(
  depsOf: (certificateId: number) => TransportDeps,
  onCloseError: (error: unknown) => void,
): Transports {
  const entries = new Map<number, Entry>()
  const sweep = setInterval(() => {
    for (const [id, entry] of entries) {
      if (entry.users === 0 && !entry.wasUsed) {
        entries.delete(id)
        retire(entry)
      }
      entry.wasUsed = false
    }
  }, IDLE_MS).unref()

  const closeIfIdle = (entry: Entry) => {
    if (entry.retired && entry.users === 0) entry.transport.close().catch(onCloseError)
  }
  const retire = (entry: Entry) => {
    entry.retired = true
    closeIfIdle(entry)
  }

  return {
    async use(credential, work) {
      let entry = entries.get(credential.id)
      if (!entry || entry.version < credential.version) {
        if (entry) retire(entry)
        const transport = credential.adapter.open(credential.settings, depsOf(credential.id))
        entry = { version: credential.version, transport, users: 0, wasUsed: true, retired: false }
        entries.set(credential.id, entry)
      }
      entry.users++
      entry.wasUsed = true
      try {
        return await work(entry.transport)
      } finally {
        entry.users--
        closeIfIdle(entry)
      }
    },
    check: ({ id, adapter, settings }) => askVendor(adapter, settings, depsOf(id)),
    renew(certificateId) {
      const entry = entries.get(certificateId)
      if (!entry) return
      entries.delete(certificateId)
      retire(entry)
    },
    async close() {
      clearInterval(sweep)
      const open = [...entries.values()]
      entries.clear()
      await Promise.all(open.map(({ transport }) => transport.close().catch(onCloseError)))
    },
  }
}
