import { alignPresence, type Connection } from '@herald/db/native'
import type { Database } from '@herald/db/store'
import type { InboxDrain } from './inbox-drain.ts'
import type { Session } from './session.ts'

export type Rounds = {
  /** Drains the inbox of a device at once. */
  wake(deviceId: number): void
  /** For a device that has just come: now, and once more when what was being planned meanwhile is committed. */
  welcome(deviceId: number): void
  /** Lets the round under way end. */
  stop(): Promise<void>
}

const SECOND_LOOK_MS = 1_000
/** Every device is looked after this often, whatever was missed. */
const ROUND_MS = 2_000
const AT_ONCE = 1_000
/** Devices that come within this time share one look into their inboxes. */
const TOGETHER_MS = 15

/**
 * Looks after all connected devices in turn: their presence stands as it should, and nothing waits in their inboxes. So a
 * wake-up may be lost, Postgres may forget the presence, and a device may appear at another node, with nothing to repair.
 */
export function startRounds(deps: {
  db: Database
  sessions: ReadonlyMap<number, Session>
  node(): string
  inbox: InboxDrain
  /** Its device is connected elsewhere by now. */
  onReplaced(deviceId: number, connection: number): void
  /** It ended while its presence was looked after. */
  onLeft(ended: Connection): void
  onTrouble(error: unknown): void
}): Rounds {
  const { sessions } = deps
  const woken = new Set<number>()
  // In the order of their times, since all wait equally long.
  const secondLooks = new Map<number, number>()
  let round: number[] = []
  let roundAt = performance.now()
  let stopped = false
  let wakeUp = () => {}

  const running = (async () => {
    while (!stopped) {
      let rest = 500
      try {
        await drainWoken()
        await goRound()
        rest = restMs()
      } catch (error) {
        deps.onTrouble(error)
      }
      await pause(rest)
    }
  })()

  async function drainWoken(): Promise<void> {
    const now = performance.now()
    for (const [deviceId, at] of secondLooks) {
      if (at > now) break
      secondLooks.delete(deviceId)
      woken.add(deviceId)
    }
    const ids = [...woken].slice(0, AT_ONCE)
    for (const id of ids) woken.delete(id)
    try {
      await deps.inbox.drain(ids.filter((id) => sessions.has(id)))
    } catch (error) {
      for (const id of ids) woken.add(id)
      throw error
    }
  }

  /** One step of the round, so that those who have just come never wait for all the others. */
  async function goRound(): Promise<void> {
    const now = performance.now()
    if (round.length === 0 && now - roundAt >= ROUND_MS) {
      roundAt = now
      round = [...sessions.keys()]
    }
    if (round.length > 0) await lookAfter(round.splice(-AT_ONCE))
  }

  async function lookAfter(ids: number[]): Promise<void> {
    const held = ids.flatMap((deviceId) => {
      const session = sessions.get(deviceId)
      return session ? [{ deviceId, connection: session.connection }] : []
    })
    if (held.length === 0) return
    const astray = new Set(await alignPresence(deps.db, deps.node(), held))
    for (const { deviceId, connection } of held)
      if (astray.has(deviceId)) deps.onReplaced(deviceId, connection)
      // It was taken back already, and has been written anew since.
      else if (sessions.get(deviceId)?.connection !== connection) deps.onLeft({ deviceId, connection })
    await deps.inbox.drain(held.map(({ deviceId }) => deviceId).filter((id) => sessions.has(id)))
  }

  function restMs(): number {
    if (round.length > 0 || woken.size > 0) return TOGETHER_MS
    const [secondLook] = secondLooks.values()
    return Math.min(roundAt + ROUND_MS, secondLook ?? Number.POSITIVE_INFINITY) - performance.now()
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      let soon: NodeJS.Timeout | undefined
      const end = () => {
        clearTimeout(timer)
        clearTimeout(soon)
        resolve()
      }
      const timer = setTimeout(end, Math.max(1, ms))
      wakeUp = () => {
        soon ??= setTimeout(end, TOGETHER_MS)
      }
      if (stopped) end()
    })
  }

  return {
    wake(deviceId) {
      if (!sessions.has(deviceId)) return
      woken.add(deviceId)
      wakeUp()
    },
    welcome(deviceId) {
      woken.add(deviceId)
      secondLooks.delete(deviceId)
      secondLooks.set(deviceId, performance.now() + SECOND_LOOK_MS)
      wakeUp()
    },
    stop() {
      stopped = true
      wakeUp()
      return running
    },
  }
}
