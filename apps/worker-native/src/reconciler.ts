import { sleep } from '@herald/async'
import { type PresenceConnection, reconcilePresence } from '@herald/db/native'
import type { Database } from '@herald/db/store'
import type { InboxDrain } from './inbox-drain.ts'
import type { Session } from './session.ts'

export type Reconciler = {
  /** Delivers from the inbox of a device at once. */
  wake(deviceId: number): void
  /** For a device that has just connected: delivers now, and again when plans in progress are committed. */
  welcome(deviceId: number): void
  /** Resolves when the step in progress has ended. */
  stop(): Promise<void>
}

const SECOND_DELIVERY_MS = 1_000
/** How often all connected devices are reconciled. */
const ROUND_MS = 2_000
const MAX_DEVICES = 1_000
/** Devices that are woken within this time share one read of their inboxes. */
const WINDOW_MS = 15

/**
 * Visits all connected devices in turn, corrects their presence and delivers from their inboxes. This covers lost wake-ups,
 * presence lost in Postgres, and devices that connected to another node.
 */
export function startReconciler(deps: {
  db: Database
  sessions: ReadonlyMap<number, Session>
  node(): string
  inbox: InboxDrain
  /** The device is connected to another node. */
  onReplaced(deviceId: number, connection: number): void
  /** The push token of the connection was replaced, or the device was removed. */
  onRevoked(deviceId: number, connection: number): void
  /** The connection ended while its presence was written. */
  onDisconnected(ended: PresenceConnection): void
  onPostgresError(error: unknown): void
}): Reconciler {
  const { sessions } = deps
  const woken = new Set<number>()
  // In order of time, because all wait equally long.
  const secondDeliveries = new Map<number, number>()
  let round: number[] = []
  let rounds = 0
  let roundAt = performance.now()
  let stopped = false
  let wakeUp = () => {}

  /** Connected, with the app in the foreground. */
  const isHere = (deviceId: number) => sessions.get(deviceId)?.away === false

  const running = (async () => {
    while (!stopped) {
      let pauseMs = 500
      try {
        await drainWoken()
        await reconcileNext()
        pauseMs = untilNextMs()
      } catch (error) {
        deps.onPostgresError(error)
      }
      await pause(pauseMs)
    }
  })()

  async function drainWoken(): Promise<void> {
    const now = performance.now()
    for (const [deviceId, at] of secondDeliveries) {
      if (at > now) break
      secondDeliveries.delete(deviceId)
      woken.add(deviceId)
    }
    const ids = [...woken].slice(0, MAX_DEVICES)
    for (const id of ids) woken.delete(id)
    try {
      await deps.inbox.drain(ids.filter(isHere))
    } catch (error) {
      for (const id of ids) woken.add(id)
      throw error
    }
  }

  /** One step of the round, so that devices that have just connected do not wait for all others. */
  async function reconcileNext(): Promise<void> {
    const now = performance.now()
    if (round.length === 0 && now - roundAt >= ROUND_MS) {
      roundAt = now
      round = [...sessions.keys()]
      rounds++
    }
    if (round.length > 0) await reconcile(round.splice(-MAX_DEVICES))
  }

  async function reconcile(ids: number[]): Promise<void> {
    const connected = ids.flatMap((deviceId) => {
      const session = sessions.get(deviceId)
      if (!session) return []
      const { connection, generation, away } = session
      return [{ deviceId, connection, generation, away }]
    })
    if (connected.length === 0) return
    const wrong = await reconcilePresence(deps.db, deps.node(), connected, rounds)
    const [replaced, revoked] = [new Set(wrong.replaced), new Set(wrong.revoked)]
    for (const { deviceId, connection } of connected)
      if (replaced.has(deviceId)) deps.onReplaced(deviceId, connection)
      else if (revoked.has(deviceId)) deps.onRevoked(deviceId, connection)
      // The connection ended, and its presence was written again after it was removed.
      else if (sessions.get(deviceId)?.connection !== connection)
        deps.onDisconnected({ deviceId, connection })
    await deps.inbox.drain(connected.map(({ deviceId }) => deviceId).filter(isHere))
  }

  function untilNextMs(): number {
    if (round.length > 0 || woken.size > 0) return WINDOW_MS
    const [secondDelivery] = secondDeliveries.values()
    return Math.min(roundAt + ROUND_MS, secondDelivery ?? Number.POSITIVE_INFINITY) - performance.now()
  }

  async function pause(ms: number): Promise<void> {
    const woken = new AbortController()
    let timer: NodeJS.Timeout | undefined
    wakeUp = () => {
      timer ??= setTimeout(() => woken.abort(), WINDOW_MS)
    }
    if (!stopped) await sleep(Math.max(1, ms), woken.signal)
    clearTimeout(timer)
  }

  return {
    wake(deviceId) {
      if (!isHere(deviceId)) return
      woken.add(deviceId)
      wakeUp()
    },
    welcome(deviceId) {
      woken.add(deviceId)
      secondDeliveries.delete(deviceId)
      secondDeliveries.set(deviceId, performance.now() + SECOND_DELIVERY_MS)
      wakeUp()
    },
    stop() {
      stopped = true
      wakeUp()
      return running
    },
  }
}
