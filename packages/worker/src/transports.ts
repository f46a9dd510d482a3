import type { ChannelAdapter, Transport, TransportDeps } from '@herald/channels'

/** A certificate with everything its transport is opened from. */
export type Credential = { id: number; version: number; adapter: ChannelAdapter; settings: unknown }

export type Transports = {
  /** The transport of this version of the certificate; an older one is closed when its last user is done. */
  use<T>(credential: Credential, work: (transport: Transport<unknown>) => Promise<T>): Promise<T>
  close(): Promise<void>
}

type Entry = { version: number; transport: Transport<unknown>; users: number; retired: boolean }

/** Keeps one open transport a certificate, so that connections and auth are reused until the certificate changes. */
export function createTransports(
  depsOf: (certificateId: number) => TransportDeps,
  onCloseError: (error: unknown) => void,
): Transports {
  const entries = new Map<number, Entry>()

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
        entry = { version: credential.version, transport, users: 0, retired: false }
        entries.set(credential.id, entry)
      }
      entry.users++
      try {
        return await work(entry.transport)
      } finally {
        entry.users--
        closeIfIdle(entry)
      }
    },
    async close() {
      const open = [...entries.values()]
      entries.clear()
      await Promise.all(open.map(({ transport }) => transport.close().catch(onCloseError)))
    },
  }
}
