import { sleep } from '@herald/async'
import {
  markGateway,
  type PresenceConnection,
  reconcilePresence,
  takeNews,
  waitingDevices,
} from '@herald/db/native'
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
/** How often the gateway asks what it has to look at. */
const NEWS_MS = 1_000
/** While no device is connected there is nothing to look at. */
const EMPTY_NEWS_MS = 30_000
/** How often all connected devices are looked at without news. */
const SWEEP_MS = 30_000
/** Between two steps of a sweep: with many connections a sweep takes longer, and costs no more statements per second. */
const SWEEP_STEP_MS = 1_000
const MAX_DEVICES = 2_000
/** Devices that are woken within this time share one read of their inboxes. */
const WINDOW_MS = 15

/**
 * Corrects the presence of connected devices and delivers from their inboxes. Once per second one statement tells which devices to
 * look at, whatever the number of connections. After an error, and after a crash of Postgres, which empties presence and news, all
 * are looked at. A slow sweep finds what nobody was told: a device that connected while its message was being stored, or its token
 * replaced.
 */
export function startReconciler(deps: {
  db: Database
  sessions: ReadonlyMap<number, Session>
  node(): string
  /** False while the lease of this gateway is in doubt. */
  mayWrite(): boolean
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
  /** Devices to look at now, and those of the sweep in progress. */
  const told = new Set<number>()
  let sweep: number[] = []
  let newsAt = 0
  let sweepAt = performance.now() + SWEEP_MS
  let stepAt = 0
  /** News may have been lost. */
  let isBlind = false
  let stopped = false
  let wakeUp = () => {}

  /** Connected, with the app in the foreground. */
  const isHere = (deviceId: number) => sessions.get(deviceId)?.away === false

  const running = (async () => {
    while (!stopped) {
      let pauseMs = 500
      try {
        await drainWoken()
        await askNews()
        await lookAtTold()
        await sweepNext()
        pauseMs = untilNextMs()
      } catch (error) {
        deps.onPostgresError(error)
      }
      await pause(pauseMs)
    }
  })()

  async function drain(ids: readonly number[]): Promise<void> {
    const due = await deps.inbox.drain(ids.filter(isHere))
    for (const id of due) deliverAgain(id)
  }

  function deliverAgain(deviceId: number): void {
    secondDeliveries.delete(deviceId)
    secondDeliveries.set(deviceId, performance.now() + SECOND_DELIVERY_MS)
  }

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
      await drain(ids)
    } catch (error) {
      for (const id of ids) woken.add(id)
      throw error
    }
  }

  async function askNews(): Promise<void> {
    const now = performance.now()
    if (now < newsAt) return
    newsAt = now + (sessions.size > 0 ? NEWS_MS : EMPTY_NEWS_MS)
    const wasBlind = isBlind
    // Until the answer is here: rows that were taken and whose answer is lost are lost.
    isBlind = true
    // Without the lease nothing can be delivered: the news wait, and devices looked at until then must be looked at again.
    if (!deps.mayWrite()) return
    const node = deps.node()
    const news = await takeNews(deps.db, node)
    if (news.taskIds.length > 0)
      for (const id of await waitingDevices(deps.db, node, news.taskIds)) if (sessions.has(id)) woken.add(id)
    for (const id of news.deviceIds) if (sessions.has(id)) told.add(id)
    if (news.all || wasBlind) {
      // Before the connections are listed: if Postgres crashes again, the mark is missing again.
      await markGateway(deps.db, node)
      for (const id of sessions.keys()) told.add(id)
    }
    isBlind = false
  }

  /** In steps, so that devices that have just connected do not wait for all others. */
  async function lookAtTold(): Promise<void> {
    const ids = [...told].slice(0, MAX_DEVICES)
    for (const id of ids) told.delete(id)
    try {
      await reconcile(ids)
    } catch (error) {
      for (const id of ids) told.add(id)
      throw error
    }
  }

  async function sweepNext(): Promise<void> {
    const now = performance.now()
    if (sweep.length === 0 && now >= sweepAt) {
      sweepAt = now + SWEEP_MS
      sweep = [...sessions.keys()]
    }
    if (sweep.length === 0 || now < stepAt) return
    stepAt = now + SWEEP_STEP_MS
    await reconcile(sweep.splice(-MAX_DEVICES))
  }

  async function reconcile(ids: readonly number[]): Promise<void> {
    const connected = ids.flatMap((deviceId) => {
      const session = sessions.get(deviceId)
      if (!session) return []
      const { connection, generation, away } = session
      return [{ deviceId, connection, generation, away }]
    })
    if (connected.length === 0) return
    const wrong = await reconcilePresence(deps.db, deps.node(), connected)
    const [replaced, revoked] = [new Set(wrong.replaced), new Set(wrong.revoked)]
    for (const { deviceId, connection } of connected)
      if (replaced.has(deviceId)) deps.onReplaced(deviceId, connection)
      else if (revoked.has(deviceId)) deps.onRevoked(deviceId, connection)
      // The connection ended, and its presence was written again after it was removed.
      else if (sessions.get(deviceId)?.connection !== connection)
        deps.onDisconnected({ deviceId, connection })
    await drain(connected.map(({ deviceId }) => deviceId))
  }

  function untilNextMs(): number {
    if (told.size > 0 || woken.size > 0) return WINDOW_MS
    const [secondDelivery = Number.POSITIVE_INFINITY] = secondDeliveries.values()
    const nextSweep = sweep.length > 0 ? stepAt : sweepAt
    return Math.min(newsAt, nextSweep, secondDelivery) - performance.now()
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
      newsAt = Math.min(newsAt, performance.now() + NEWS_MS)
      woken.add(deviceId)
      deliverAgain(deviceId)
      wakeUp()
    },
    stop() {
      stopped = true
      wakeUp()
      return running
    },
  }
}
