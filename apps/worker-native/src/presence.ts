import { coalesce } from '@herald/async'
import {
  type ConnectedDevice,
  connectDevices,
  dropPresence,
  type PresenceConnection,
} from '@herald/db/native'
import type { Database } from '@herald/db/store'
import { writeUntil } from './write-until.ts'

export type Presence = {
  /** Looks up a device and records that it is connected to this gateway; undefined for an unknown token. */
  connect(pushToken: string): Promise<ConnectedDevice | undefined>
  /** Removes the record of a connection that ended. */
  disconnect(connection: PresenceConnection): void
  flushed(): Promise<void>
}

/** Writes presence in groups: a storm of reconnections costs one statement per group, not per device. */
export function createPresence(deps: {
  db: Database
  node(): string
  onPostgresError(error: unknown): void
  /** Ends the attempts to write. */
  ending: AbortSignal
}): Presence {
  const { db, node, ending, onPostgresError } = deps
  const connected = coalesce<string, ConnectedDevice | undefined>({
    windowMs: 15,
    maxItems: 500,
    async write(pushTokens) {
      try {
        return await connectDevices(db, node(), pushTokens)
      } catch (error) {
        onPostgresError(error)
        throw error
      }
    },
  })
  const disconnected = coalesce<PresenceConnection>({
    windowMs: 50,
    maxItems: 1000,
    // A row that stays would make the device look online for as long as this node runs.
    write: (ended) => writeUntil(ending, () => dropPresence(db, ended), onPostgresError),
  })
  return {
    connect: connected.add,
    disconnect: (connection) => void disconnected.add(connection),
    async flushed() {
      await connected.flushed()
      await disconnected.flushed()
    },
  }
}
