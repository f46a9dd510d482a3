import { coalesce } from '@herald/async'
import {
  type ConnectedDevice,
  changeAway,
  connectDevices,
  dropPresence,
  type PresenceConnection,
} from '@herald/db/native'
import type { Database } from '@herald/db/store'
import { writeUntil } from './write-until.ts'

export type Presence = {
  /**
   * Looks up a device and records that it is connected to this gateway, with its app in the background if `away` is set; undefined for an
   * unknown token, and if `isOver` returns true when the record is about to be written.
   */
  connect(pushToken: string, isOver: () => boolean, away?: boolean): Promise<ConnectedDevice | undefined>
  /** Records whether the app is in the background. */
  change(connection: PresenceConnection, away: boolean): void
  /** Removes the record of a connection that ended. */
  disconnect(connection: PresenceConnection): void
  flushed(): Promise<void>
}

type Hello = { pushToken: string; isOver(): boolean; away: boolean }

/** Writes presence in groups: a storm of reconnections costs one statement per group, not per device. */
export function createPresence(deps: {
  db: Database
  node(): string
  /** The device was heard of. */
  seen(deviceId: number): void
  onPostgresError(error: unknown): void
  /** Ends the attempts to write. */
  ending: AbortSignal
}): Presence {
  const { db, node, ending, onPostgresError } = deps
  const connected = coalesce<Hello, ConnectedDevice | undefined>({
    windowMs: 15,
    maxItems: 500,
    async write(hellos) {
      // While Postgres hangs, clients give up and connect elsewhere. A number for the abandoned hello would replace that connection.
      const waiting = hellos.filter(({ isOver }) => !isOver())
      if (waiting.length === 0) return hellos.map(() => undefined)
      try {
        const devices = await connectDevices(
          db,
          node(),
          waiting.map(({ pushToken }) => pushToken),
          waiting.map(({ away }) => away),
        )
        for (const device of devices) if (device?.isSeenLongAgo) deps.seen(device.deviceId)
        const found = new Map(waiting.map((hello, i) => [hello, devices[i]]))
        return hellos.map((hello) => found.get(hello))
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
  // By device, so that an app that changes often is written once per group, with its last state. A change that is lost is repaired by
  // the reconciler.
  const changes = new Map<number, PresenceConnection & { away: boolean }>()
  const changed = coalesce<number>({
    windowMs: 50,
    maxItems: 1000,
    async write(deviceIds) {
      const last = [...new Set(deviceIds)].flatMap((deviceId) => changes.get(deviceId) ?? [])
      for (const { deviceId } of last) changes.delete(deviceId)
      await changeAway(db, last).catch(onPostgresError)
    },
  })
  return {
    connect: (pushToken, isOver, away = false) => connected.add({ pushToken, isOver, away }),
    change({ deviceId, connection }, away) {
      changes.set(deviceId, { deviceId, connection, away })
      void changed.add(deviceId)
    },
    disconnect(connection) {
      deps.seen(connection.deviceId)
      void disconnected.add(connection)
    },
    async flushed() {
      await connected.flushed()
      await changed.flushed()
      await disconnected.flushed()
    },
  }
}
