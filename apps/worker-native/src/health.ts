import { beatFrame } from './frames.ts'
import { type Event, heartbeatSeconds, helloSeconds } from './protocol.ts'
import { isFull, type Session } from './session.ts'

const TICK_MS = 1_000
/** A device that reads or acknowledges nothing for this long is disconnected; its messages stay in the inbox. */
const SLOW_MS = 10_000
/** A client that has not closed its side this long after the close frame is cut off. */
const CLOSE_MS = 5_000

/** `slow`, `silent` and `unclosed` connections are disconnected. */
type Health = 'healthy' | 'no hello' | 'ping due' | 'slow' | 'silent' | 'unclosed'

function healthOf(session: Session, now: number): Health {
  const silentMs = now - session.heardAt
  if (session.state === 'over') return silentMs > CLOSE_MS ? 'unclosed' : 'healthy'
  if (session.state === 'unidentified') {
    // Before the welcome only pongs are written.
    if (isFull(session)) return 'slow'
    return silentMs > helloSeconds * 1000 ? 'no hello' : 'healthy'
  }
  if (!isFull(session)) session.fullSince = 0
  else if (session.fullSince === 0) session.fullSince = now
  else if (now - session.fullSince > SLOW_MS) return 'slow'
  if (silentMs > heartbeatSeconds * 2500) return 'silent'
  // With beats also if the device is not silent: the client relies on one per heartbeat.
  const since = session.beats ? session.pingedAt : session.heardAt
  const isDue = now - since > heartbeatSeconds * 1000 && session.pingedAt <= session.heardAt
  return isDue ? 'ping due' : 'healthy'
}

/** Checks all connections once per second and resets their frame counts. Returns a stop function. */
export function startHealthTicks(
  sessions: ReadonlySet<Session>,
  handle: (session: Session, event: Event) => void,
): () => void {
  let tickAt = performance.now() + TICK_MS
  const timer = setInterval(() => {
    const now = performance.now()
    // After the event loop lagged, timers run before sockets are read, so a missing hello proves nothing.
    const isLate = now - tickAt > TICK_MS
    tickAt = now + TICK_MS
    for (const session of sessions) {
      session.frames = 0
      const health = healthOf(session, now)
      if (health === 'no hello') {
        if (!isLate) handle(session, { kind: 'hello timeout' })
      } else if (health === 'ping due') {
        session.pingedAt = now
        session.socket.ping()
        if (session.state === 'open' && session.beats) session.socket.send(beatFrame, { binary: false })
      } else if (health !== 'healthy') {
        if (health !== 'unclosed') handle(session, { kind: 'end', why: health })
        session.socket.terminate()
      }
    }
  }, TICK_MS)
  return () => clearInterval(timer)
}
